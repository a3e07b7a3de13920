// How what is made for an autoscaler is called. Names are Kueue's, so that one can go on with what
// the other began: a request is <workload>-<check>-<attempt>, a PodTemplate ppt-<request>-<pod
// set>. An object's name has at most 253 characters; what would be longer ends with a hash of the
// whole.
//
// Two Workloads can come to one name that way: "a" with the check "b-1" and "a-b" with the check
// "1". Who finds its name taken appends a hash of what it is for. Which of both it is, is read from
// the objects that are there, so that it is the same after a crash.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/state.h"

namespace phalanx::core {

std::string provisioning_request_name(const std::string& workload, const std::string& check,
                                      int64_t attempt);
std::string provisioning_template_name(const std::string& request, const std::string& pod_set);
// `name` with a hash of what it is for: nothing else has this name.
std::string told_apart(const std::string& name, const std::string& purpose);

// The names of one attempt of a check: those of objects that it has, else those that are free.
class ProvisioningNames {
 public:
  ProvisioningNames(const State& state, const WorkloadState& workload, const std::string& check,
                    int64_t attempt);

  [[nodiscard]] const std::string& request() const { return request_; }
  // `taken`: PodTemplates that other checks of the Workload are about to have.
  [[nodiscard]] std::string pod_template(const std::string& pod_set,
                                         const std::set<std::string>& taken) const;

 private:
  [[nodiscard]] bool is_of_another_request(const std::string& pod_template) const;

  const State& state_;
  const WorkloadState& workload_;
  std::string purpose_;
  std::string request_;
};

}  // namespace phalanx::core
