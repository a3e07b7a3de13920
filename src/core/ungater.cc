#include "core/ungater.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/names.h"

namespace phalanx::core {
namespace {

// One place of an assignment with those who have it.
struct Domain {
  std::vector<std::string> values;
  int64_t slots = 0;
  int64_t held = 0;  // of these: not done for good
  int64_t taken = 0;
};

std::optional<int64_t> rank_of(const Pod& pod, const std::string& label) {
  const auto found = std::ranges::find(pod.ranks, label, &std::pair<std::string, int64_t>::first);
  if (found == pod.ranks.end()) return std::nullopt;
  return found->second;
}

class PodSetUngater {
 public:
  PodSetUngater(const State& state, const Outbox& outbox, const Expected& expected,
                const WorkloadState& workload, size_t index)
      : state_(state),
        outbox_(outbox),
        expected_(expected),
        workload_(workload),
        pod_set_(workload.object.pod_sets[index]),
        assignment_(*workload.assignments[index]) {}

  void run(const std::vector<std::pair<std::string, const Pod*>>& pods, Ungating& result) {
    read_domains();
    for (const auto& [name, pod] : pods) sort_in(name, *pod);
    if (waiting_.empty()) return;
    const std::string problem = rank_problem();
    if (problem.empty()) {
      by_rank(result);
    } else {
      if (has_ranks_) result.rank_problems.emplace_back(pod_set_.name, problem);
      greedily(result);
    }
  }

 private:
  struct Waiting {
    std::string name;
    const Pod* pod = nullptr;
    std::optional<int64_t> rank;
  };

  void read_domains() {
    const bool by_host = assignment_.levels.back() == api::kHostnameLabel;
    for (const api::DomainAssignment& domain : assignment_.domains) {
      // Where ranks are done for good nobody comes back; only pods without a rank look there.
      const int64_t held = by_host ? state_.account.slots(workload_.request.name, pod_set_.name,
                                                          domain.values.back())
                                   : domain.count;
      index_.emplace(domain.values, domains_.size());
      domains_.push_back({domain.values, domain.count, std::min<int64_t>(held, domain.count), 0});
      for (int32_t i = 0; i < domain.count; ++i) domain_of_rank_.push_back(domains_.size() - 1);
    }
  }

  // The domain whose values the pod's node selector holds; nullopt if none.
  [[nodiscard]] std::optional<size_t> selected_domain(const Pod& pod) const {
    std::vector<std::string> values;
    for (const std::string& level : assignment_.levels) {
      const auto found = pod.node_selector.find(level);
      if (found == pod.node_selector.end()) return std::nullopt;
      values.push_back(found->second);
    }
    return find_domain(values);
  }

  [[nodiscard]] std::optional<size_t> find_domain(const std::vector<std::string>& values) const {
    const auto found = index_.find(values);
    if (found == index_.end()) return std::nullopt;
    return found->second;
  }

  void sort_in(const std::string& name, const Pod& pod) {
    if (pod.terminal()) return;
    const std::string label(pod_set_.index_label.empty() ? names::kJobIndexLabel
                                                         : pod_set_.index_label);
    const auto rank = rank_of(pod, label);
    has_ranks_ |= rank.has_value();
    if (!pod.terminating) live_ranks_.push_back(rank);
    const auto on_its_way = expected_.find(name);
    if (!pod.gated || on_its_way != expected_.end()) {
      const auto domain = pod.gated ? find_domain(on_its_way->second) : selected_domain(pod);
      if (domain) ++domains_[*domain].taken;
      if (domain && rank && !pod.terminating) placed_.emplace_back(*rank, *domain);
      return;
    }
    const api::ObjectKey key = key_of(api::Kind::kPod, name);
    if (!pod.terminating && !outbox_.busy(key)) waiting_.push_back({name, &pod, rank});
  }

  // Why ranks cannot be used; empty if they can.
  [[nodiscard]] std::string rank_problem() const {
    std::set<int64_t> seen;
    for (const auto& rank : live_ranks_) {
      if (!rank) return "a pod has no rank";
      if (*rank >= static_cast<int64_t>(domain_of_rank_.size())) {
        return fmt::format("rank {} is beyond the {} pods of the assignment", *rank,
                           domain_of_rank_.size());
      }
      if (!seen.insert(*rank).second) return fmt::format("two pods have the rank {}", *rank);
    }
    for (const auto& [rank, domain] : placed_) {
      if (domain_of_rank_[static_cast<size_t>(rank)] != domain) {
        return fmt::format("the pod of rank {} is in another domain than its rank says", rank);
      }
    }
    return "";
  }

  void by_rank(Ungating& result) {
    for (const Waiting& waiting : waiting_) {
      Domain& domain = domains_[domain_of_rank_[static_cast<size_t>(*waiting.rank)]];
      if (domain.taken < domain.slots) place(waiting, domain, result);
    }
  }

  void greedily(Ungating& result) {
    std::ranges::sort(waiting_, {}, [](const Waiting& w) {
      return std::tuple(w.rank.value_or(INT64_MAX), w.pod->created, w.name);
    });
    size_t next = 0;
    for (const Waiting& waiting : waiting_) {
      while (next < domains_.size() && domains_[next].taken >= domains_[next].held) ++next;
      if (next == domains_.size()) return;
      place(waiting, domains_[next], result);
    }
  }

  void place(const Waiting& waiting, Domain& domain, Ungating& result) {
    ++domain.taken;
    json::array gates;
    for (const json::value& gate : waiting.pod->scheduling_gates) {
      const json::value* name = gate.is_object() ? gate.get_object().if_contains("name") : nullptr;
      if (name != nullptr && name->is_string() && name->get_string() == names::kTopologyGate) {
        continue;
      }
      gates.push_back(gate);
    }
    json::object selector;
    for (size_t level = 0; level < assignment_.levels.size(); ++level) {
      selector[assignment_.levels[level]] = domain.values[level];
    }
    const api::ObjectKey key = key_of(api::Kind::kPod, waiting.name);
    api::ObjectMeta meta;
    meta.uid = state_.known.uid(key);
    meta.resource_version = state_.known.version(key);
    Verdict verdict;
    verdict.write = merge_patch(key, meta,
                                {{"spec", json::object{{"nodeSelector", std::move(selector)},
                                                       {"schedulingGates", std::move(gates)}}}});
    verdict.decision =
        Decision{"ungate",
                 key,
                 {{key.text(), meta.resource_version},
                  {workload_key(workload_.object).text(), workload_.object.meta.resource_version}},
                 waiting.rank ? fmt::format("rank {}", *waiting.rank) : "next in line",
                 {{"domain", fmt::format("{}", fmt::join(domain.values, "/"))}}};
    result.pods.push_back(std::move(verdict));
  }

  const State& state_;
  const Outbox& outbox_;
  const Expected& expected_;
  const WorkloadState& workload_;
  const api::WorkloadPodSet& pod_set_;
  const api::TopologyAssignment& assignment_;
  std::vector<Domain> domains_;
  std::map<std::vector<std::string>, size_t> index_;  // of domains, by their values
  std::vector<size_t> domain_of_rank_;
  std::vector<Waiting> waiting_;
  std::vector<std::optional<int64_t>> live_ranks_;
  std::vector<std::pair<int64_t, size_t>> placed_;  // rank and domain
  bool has_ranks_ = false;
};

}  // namespace

Ungating ungate(const State& state, const Outbox& outbox, const Expected& expected,
                const std::string& name) {
  Ungating result;
  // Most events of pods are of those that run.
  const auto gated = state.gated_pods_of_workload.find(name);
  if (gated == state.gated_pods_of_workload.end() ||
      std::ranges::all_of(gated->second, [&](const auto& pod) { return expected.contains(pod); })) {
    return result;
  }
  const WorkloadState* workload = state.workload(name);
  if (workload == nullptr || !workload->admitted() || workload->evicted() ||
      workload->object.finished || workload->object.meta.deleted) {
    return result;
  }
  for (size_t i = 0; i < workload->object.pod_sets.size(); ++i) {
    if (!workload->assignments[i]) continue;
    std::vector<std::pair<std::string, const Pod*>> own;
    for (const std::string& pod_name : state.pods_of_workload.at(name)) {
      const Pod& pod = state.pods.at(pod_name);
      if (pod.pod_set == workload->object.pod_sets[i].name) own.emplace_back(pod_name, &pod);
    }
    PodSetUngater(state, outbox, expected, *workload, i).run(own, result);
  }
  return result;
}

}  // namespace phalanx::core
