// batch/v1 Job: how many equal pods it runs at once, and what each of them needs.
// KEP-2724, "Integration support", Job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

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
  PodTemplate pod_template;
  std::optional<TopologyRequest> topology;  // what the template's annotations ask for

  // Pods that run at the same time: no more than there are completions to reach.
  [[nodiscard]] int32_t pod_count() const {
    return completions && *completions < parallelism ? *completions : parallelism;
  }
};

Job read_job(const JsonReader& object);

}  // namespace phalanx::api
