// Why a Job or Workload is where it is: everything the core knows about it, as data, as text and as
// JSON (docs/reference/explain.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "base/time.h"
#include "cli/quota_figures.h"
#include "core/core.h"

namespace phalanx::cli {

enum class Standing : uint8_t {
  kFinished,
  kFailed,
  kAdmitted,
  kWaiting,
  kSetAside,    // in no queue, and will not be until somebody repairs something
  kNotManaged,  // none of our business
};
std::string_view standing_name(Standing standing);

struct FlavorAttempt {
  std::string flavor;  // empty: of the queue as a whole
  std::string text;
  std::vector<QuotaFigures> quota;
  std::shared_ptr<const placement::Explanation> explanation;  // of a topology's "no"
  std::string remedy;                                         // of what has no explanation
};

struct AskedPodSet {
  std::string name;
  int32_t count = 0;
  std::optional<int32_t> least;  // it is content with so few
  api::ResourceAmounts per_pod;
  std::string topology;  // "required rack", ...; empty: nothing
};

struct WorkloadAnswer {
  std::string object;    // "Job ml/train"
  std::string workload;  // "ml/job-train-1a2b3"; empty: it has none
  Standing standing = Standing::kWaiting;
  std::string message;
  std::string local_queue;
  std::string cluster_queue;
  size_t position = 0;  // in the ClusterQueue, 1 for the first; 0: in no queue
  size_t queue_length = 0;
  int32_t priority = 0;
  std::vector<AskedPodSet> pod_sets;
  std::string placement;  // of an admitted one
  std::string pod_set;    // the one that found no place
  std::vector<FlavorAttempt> attempts;
  std::vector<std::string> notes;  // what else there is to know
};

// Of a Job that has no Workload, with the reason.
std::pair<Standing, std::string> standing_without_workload(const core::State& state,
                                                           const api::ObjectKey& key,
                                                           const core::Job& job);

// Of an object that the core knows: a Job or a Workload.
WorkloadAnswer explain_job(core::Core& core, const api::ObjectKey& job);
WorkloadAnswer explain_workload(core::Core& core, const std::string& full_name);

std::string answer_text(const WorkloadAnswer& answer);
json::object answer_json(const WorkloadAnswer& answer);

}  // namespace phalanx::cli
