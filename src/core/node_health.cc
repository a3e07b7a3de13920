#include "core/node_health.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/admitted_pods.h"
#include "core/names.h"
#include "core/state.h"
#include "placement/assignment.h"

namespace phalanx::core {
namespace {

constexpr Duration kNotReadyFor = std::chrono::seconds(30);

// Taints by which Kubernetes says what the Ready condition and spec.unschedulable say. Pods
// tolerate the first two for a while that their templates know nothing of.
bool follows_condition(const api::Taint& taint) {
  return taint.key == "node.kubernetes.io/not-ready" ||
         taint.key == "node.kubernetes.io/unreachable" ||
         taint.key == "node.kubernetes.io/unschedulable";
}

const api::Taint& cordon() {
  static const api::Taint kCordon{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  return kCordon;
}

// One workload's view of its nodes.
class Examination {
 public:
  Examination(const State& state, const WorkloadState& workload,
              const std::set<std::string>& troubled)
      : state_(state),
        workload_(workload),
        troubled_(troubled),
        replacement_(state.configuration.node_replacement) {
    count_pods();
  }

  LostNodes run() {
    for (size_t i = 0; i < workload_.assignments.size(); ++i) {
      const auto& assignment = workload_.assignments[i];
      if (!assignment || assignment->levels.back() != api::kHostnameLabel) continue;
      pod_set_ = i;
      examine(*assignment);
    }
    return std::move(lost_);
  }

 private:
  // Pods on a troubled host, or sent there.
  struct Presence {
    bool runs = false;       // somebody does, or is about to
    bool succeeded = false;  // somebody has
    int64_t waiting = 0;     // sent there and not bound, or leaving: others come in their place
  };
  using Candidate = std::pair<int64_t, std::string>;  // by how many wait for it, most first

  void count_pods() {
    const auto pods = state_.pods_of_workload.find(workload_.request.name);
    if (pods == state_.pods_of_workload.end()) return;
    const std::string controller = state_.pod_controller_of(workload_);
    for (const std::string& name : pods->second) {
      const Pod& pod = state_.pods.at(name);
      if (!pod.is_of(controller)) continue;
      live_ += !pod.terminal();
      succeeded_[pod.pod_set] += pod.phase == PodPhase::kSucceeded;
      const bool bound = !pod.node_name.empty();
      const auto selected = pod.node_selector.find(std::string(api::kHostnameLabel));
      if (!bound && selected == pod.node_selector.end()) continue;
      const std::string host = bound ? state_.account.host_of(pod.node_name) : selected->second;
      if (!troubled_.contains(host)) continue;
      Presence& there = presence_[host];
      there.succeeded |= pod.phase == PodPhase::kSucceeded;
      if (pod.terminal()) continue;
      const bool runs = bound && !pod.terminating;
      there.runs |= runs;
      there.waiting += !runs;
    }
  }

  void examine(const api::TopologyAssignment& assignment) {
    int64_t shortage = needed_places();
    std::vector<Candidate> lost;
    std::set<std::string> hosts;  // one may have several ranks that are no neighbours
    for (const api::DomainAssignment& domain : assignment.domains)
      hosts.insert(domain.values.back());
    for (const std::string& host : hosts) {
      const int64_t places = places_on(host);
      const bool is_lost = troubled_.contains(host) && examine(host);
      if (!is_lost) shortage -= places;
      if (is_lost && places > 0) lost.emplace_back(-presence_[host].waiting, host);
    }
    std::ranges::sort(lost);
    for (const auto& [order, host] : lost) {
      if (shortage <= 0) return;
      const int64_t places = std::min(shortage, places_on(host));
      shortage -= places;
      lost_.needed.insert(host);
      lost_.places[pod_set_][host] = places;
    }
  }

  bool examine(const std::string& host) {
    if (lost_.why.contains(host)) return true;
    auto why = reason(host);
    if (why) lost_.why[host] = std::move(*why);
    return why.has_value();
  }

  [[nodiscard]] int64_t places_on(const std::string& host) const {
    return state_.account.slots(workload_.request.name, workload_.object.pod_sets[pod_set_].name,
                                host);
  }

  // Of the pod set: for pods that run, or are to come.
  [[nodiscard]] int64_t needed_places() const {
    const api::WorkloadPodSet& pod_set = workload_.object.pod_sets[pod_set_];
    const int64_t count = placement::pods_in(*workload_.assignments[pod_set_]);
    const auto reported = workload_.object.reclaimable.find(pod_set.name);
    int64_t done = reported == workload_.object.reclaimable.end() ? 0 : reported->second;
    const Job* job = state_.job_of(workload_);
    if (job == nullptr) {
      const auto succeeded = succeeded_.find(pod_set.name);
      done = std::max(done, succeeded == succeeded_.end() ? 0 : succeeded->second);
    } else if (pod_set_ < job->pod_sets.size()) {
      const JobPodSet& own = job->pod_sets[pod_set_];
      done = std::max<int64_t>(done, own.reclaimable - std::max<int64_t>(0, own.count - count));
    }
    return count - done;
  }

  // Why the node is lost, in words; nullopt: it is not.
  std::optional<std::string> reason(const std::string& host) {
    if (!state_.account.has_host(host)) return "it is gone";
    const NodeTrouble* trouble = state_.health.find(host);
    if (trouble == nullptr) return std::nullopt;
    if (trouble->silent) return "it has no Ready condition";
    if (trouble->not_ready) {
      if (auto why = not_ready(host, *trouble->not_ready)) return why;
    }
    if (!replacement_.on_taints || !pods_are_gone(host)) return std::nullopt;
    if (trouble->unschedulable && !tolerated_until(cordon())) return "it is cordoned";
    for (const api::Taint& taint : trouble->taints) {
      const auto until = tolerated_until(taint);
      if (!until || *until <= state_.now) {
        return fmt::format("it has the taint {}", taint.text());
      }
      look_again(*until);
    }
    return std::nullopt;
  }

  std::optional<std::string> not_ready(const std::string& host, Time since) {
    if (!replacement_.on_pod_termination || replacement_.after_fixed_time) {
      if (since + kNotReadyFor <= state_.now) return "it has not been ready for 30 s";
      look_again(since + kNotReadyFor);
    }
    if (replacement_.on_pod_termination && pods_are_gone(host)) {
      return "it is not ready, and no pod runs there";
    }
    return std::nullopt;
  }

  // Whether no pod of the workload runs there, or is about to: those that wait to be bound wait for
  // nothing. While a job has not counted yet who has succeeded, nobody knows whether another comes.
  [[nodiscard]] bool pods_are_gone(const std::string& host) const {
    const auto there = presence_.find(host);
    if (there == presence_.end()) return true;
    if (there->second.runs) return false;
    const Job* job = there->second.succeeded ? state_.job_of(workload_) : nullptr;
    return job == nullptr || job->active_pods <= live_;
  }

  // Until when the pods tolerate a taint; nullopt: not at all.
  [[nodiscard]] std::optional<Time> tolerated_until(const api::Taint& taint) const {
    const auto until = [&](const std::vector<api::Toleration>& tolerations) -> std::optional<Time> {
      for (const api::Toleration& toleration : tolerations) {
        if (!toleration.tolerates(taint)) continue;
        if (!toleration.seconds || taint.effect != "NoExecute") return Time::max();
        constexpr int64_t kLongest = 1'000'000'000;  // 30 years
        // Without a time it was there when the pods went, so they had what they had.
        return taint.added.value_or(Time{}) +
               std::chrono::seconds(std::clamp<int64_t>(*toleration.seconds, 0, kLongest));
      }
      return std::nullopt;
    };
    if (const auto own = until(workload_.request.pod_sets[pod_set_].tolerations)) return own;
    const std::string& name = workload_.object.pod_sets[pod_set_].name;
    if (const api::PodSetAssignment* assignment = assignment_of(workload_.object, name)) {
      for (const auto& [resource, flavor_name] : assignment->flavors) {
        const api::ResourceFlavor* flavor = state_.flavor(flavor_name);
        if (flavor == nullptr) continue;
        if (const auto by_flavor = until(flavor->tolerations)) return by_flavor;
      }
    }
    for (const api::PodSetUpdate* update : updates_of(workload_.object, name)) {
      if (const auto by_check = until(update->tolerations)) return by_check;
    }
    return std::nullopt;
  }

  void look_again(Time at) {
    if (at == Time::max()) return;
    lost_.look_again = lost_.look_again ? std::min(*lost_.look_again, at) : at;
  }

  const State& state_;
  const WorkloadState& workload_;
  const std::set<std::string>& troubled_;
  const NodeReplacement& replacement_;
  std::map<std::string, Presence> presence_;  // by host
  std::map<std::string, int64_t> succeeded_;  // by pod set
  int64_t live_ = 0;
  size_t pod_set_ = 0;
  LostNodes lost_;
};

}  // namespace

bool NodeTrouble::operator==(const NodeTrouble& other) const {
  const auto age = [](const api::Taint& taint) { return taint.added; };
  return silent == other.silent && not_ready == other.not_ready &&
         unschedulable == other.unschedulable && taints == other.taints &&
         std::ranges::equal(taints, other.taints, {}, age, age);
}

NodeTrouble trouble_of(const api::Node& node) {
  NodeTrouble trouble;
  trouble.silent = !node.reports;
  if (!node.ready && node.reports) trouble.not_ready = node.ready_changed.value_or(Time{});
  trouble.unschedulable = node.unschedulable;
  for (const api::Taint& taint : node.taints) {
    if (taint.repels() && !follows_condition(taint)) trouble.taints.push_back(taint);
  }
  return trouble;
}

bool NodeHealth::put(const std::string& host, NodeTrouble trouble) {
  if (!trouble.any()) return remove(host);
  NodeTrouble& known = troubles_[host];
  if (known == trouble) return false;
  known = std::move(trouble);
  return true;
}

const NodeTrouble* NodeHealth::find(const std::string& host) const {
  const auto found = troubles_.find(host);
  return found == troubles_.end() ? nullptr : &found->second;
}

LostNodes lost_nodes(const State& state, const WorkloadState& workload) {
  const api::OwnerReference* owner = workload.object.meta.controller();
  const bool of_one_pod = owner != nullptr && owner->kind == "Pod" &&
                          state.configuration.placement.keep_single_pod_owner_assignment;
  if (!state.configuration.node_replacement.enabled || of_one_pod || !workload.admitted() ||
      state.gives_back(workload) || !workload.problem.empty()) {
    return {};
  }
  const auto troubled = state.troubled_hosts.find(workload.request.name);
  if (troubled == state.troubled_hosts.end()) return {};
  return Examination(state, workload, troubled->second).run();
}

}  // namespace phalanx::core
