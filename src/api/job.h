// batch/v1 Job: how many equal pods it runs at once, and what each of them needs.
// KEP-2724, "Integration support", Job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "api/condition.h"
#include "api/object_meta.h"
#include "api/pod_template.h"
#include "api/topology_request.h"

namespace phalanx::api {

struct Job {
  std::string name;  // metadata.name, or generateName for a Job that the API server is to name
  bool name_is_prefix = false;
  std::string namespace_;
  std::map<std::string, std::string> labels;
  int32_t parallelism = 1;
  std::optional<int32_t> completions;
  bool finished = false;  // condition Complete or Failed
  bool indexed = false;   // completionMode Indexed: its pods are ranked
  bool suspended = false;
  std::string managed_by;          // empty: Kubernetes' own controller
  std::optional<Time> start_time;  // of status
  int32_t active = 0;              // pods, by status
  int32_t ready = 0;
  int32_t succeeded = 0;
  int32_t uncounted_succeeded = 0;         // have ended, and are not among these yet
  std::vector<int32_t> completed_indexes;  // of an Indexed Job, in order
  Conditions conditions;
  ObjectMeta meta;  // empty where only the name is known
  PodTemplate pod_template;
  std::optional<TopologyRequest> topology;  // what the template's annotations ask for

  // Of its pods, those that are done for good and will not be replaced.
  [[nodiscard]] int32_t reclaimable() const {
    if (parallelism == 1 || succeeded == 0) return 0;
    const int32_t remaining = completions.value_or(parallelism) - succeeded;
    return remaining >= parallelism ? 0 : pod_count() - (remaining > 0 ? remaining : 0);
  }
  // Pods that run at the same time: no more than there are completions to reach.
  [[nodiscard]] int32_t pod_count() const {
    return completions && *completions < parallelism ? *completions : parallelism;
  }
};

Job read_job(const JsonReader& object);
// The same, with the problems of its topology annotations kept apart from those of the rest.
Job read_job(const JsonReader& object, DecodeStatus& of_annotations);

}  // namespace phalanx::api
