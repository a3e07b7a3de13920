// Everything the embedded cluster is at one moment. From here on the same events give the same
// cluster, whether it was saved and loaded in between or not.
#pragma once

#include <cstdint>
#include <map>

#include "api/kind.h"
#include "base/time.h"
#include "sim/store.h"

namespace phalanx::sim {

struct ClusterState {
  Time now;
  uint64_t resource_version = 0;
  uint64_t random_state = 0;
  std::map<api::ObjectKey, Stored> objects;
};

}  // namespace phalanx::sim
