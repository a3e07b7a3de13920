// Who holds the name of a ProvisioningRequest or a PodTemplate, as one Workload sees it. Answered
// from the owners of the object, so that it is the same after a crash.
#pragma once

#include <cstdint>

#include "core/state.h"

namespace phalanx::core {

enum class Holder : uint8_t {
  kNobody,
  kOwn,
  kEarlier,     // a Workload or a request that is gone: the object goes, too, without our doing
  kUnreadable,  // it may be anybody's, also our own
  kOther,
};
Holder holder_of(const State& state, const WorkloadState& workload, const api::ObjectKey& key);

// The Workload among the owners of an object; nullptr if there is none.
const api::OwnerReference* owning_workload(const api::ObjectMeta& meta);

}  // namespace phalanx::core
