// What the core needs to know of a kind of workload; src/jobs, src/gang and src/grove have one
// adapter for each kind, and the host hands them to the core. All are pure functions.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "core/object.h"

namespace phalanx::core {

// What a start puts into the pod template of one pod set.
struct Injection {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::map<std::string, std::string> node_selector;
  json::array tolerations;            // added behind those of the template
  json::array scheduling_gates;       // likewise
  std::optional<int32_t> count = {};  // to run with, where that is another number than now
};

// What a stop brings back of one pod set.
struct Original {
  const api::PodTemplate* pod_template = nullptr;
  std::optional<int32_t> count = {};  // nullopt: it has as many pods as its user wrote
};

class JobAdapter {
 public:
  virtual ~JobAdapter() = default;

  [[nodiscard]] virtual api::Kind kind() const = 0;
  [[nodiscard]] virtual Job read(const JsonReader& object) const = 0;

  // Merge patches of the object. Stopping takes up to three steps, because an API server lets pod
  // templates change only while a job is suspended and has not started.
  [[nodiscard]] virtual json::object start_patch(const Job& job,
                                                 std::span<const Injection> injections) const = 0;
  [[nodiscard]] virtual json::object suspend_patch() const = 0;
  // Of the status: forgets that it has started.
  [[nodiscard]] virtual json::object reset_patch() const = 0;
  // Brings the pod templates and numbers of pods back to what they were; nullopt if they are.
  [[nodiscard]] virtual std::optional<json::object> restore_patch(
      const Job& job, std::span<const Original> originals) const = 0;

  // Whether the Workload of such an object stands also for the pods of the jobs that it owns. If
  // not, these jobs need quota of their own: everybody may write any owner into a job.
  [[nodiscard]] virtual bool counts_jobs_of_its_own() const { return false; }
};

class Adapters {
 public:
  void add(std::unique_ptr<JobAdapter> adapter) {
    const api::Kind kind = adapter->kind();
    adapters_[kind] = std::move(adapter);
  }
  // nullptr if the kind is none of a workload.
  [[nodiscard]] const JobAdapter* find(api::Kind kind) const {
    const auto found = adapters_.find(kind);
    return found == adapters_.end() ? nullptr : found->second.get();
  }
  [[nodiscard]] std::vector<api::Kind> kinds() const {
    std::vector<api::Kind> kinds;
    for (const auto& [kind, adapter] : adapters_) kinds.push_back(kind);
    return kinds;
  }

 private:
  std::map<api::Kind, std::unique_ptr<JobAdapter>> adapters_;
};

// Merge patches of one pod template object: with the injection added to what it has, and back to
// the original. The second is nullopt if nothing differs.
json::object inject(const api::PodTemplate& pod_template, const Injection& injection);
std::optional<json::object> restore(const api::PodTemplate& current,
                                    const api::PodTemplate& original);

// Labels of a pod template without those by which the Job controller finds its pods: API servers
// put them there and do not let them go, and Kueue leaves them out of the Workloads it makes.
std::map<std::string, std::string> users_labels(const std::map<std::string, std::string>& labels);

// How many pods a pod set was admitted with; nullopt if there is no admission that says so.
std::optional<int32_t> admitted_count(const api::Workload& workload, const std::string& pod_set);

// Whether a pod set has fewer pods than its user wrote, because it was started so.
bool is_reduced(const JobPodSet& of_job, const api::WorkloadPodSet& of_workload,
                const api::Workload& workload);

// What a stop has to bring back, pod set by pod set. Only the Workload knows what the user wrote;
// it must have the pod sets of the job.
std::vector<Original> originals_of(const Job& job, const api::Workload& workload);

// Whether the job still has what a start put into it.
bool needs_restoring(const Job& job, const api::Workload& workload);

}  // namespace phalanx::core
