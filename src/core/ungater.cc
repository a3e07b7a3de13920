#include "core/ungater.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/names.h"
#include "core/node_health.h"
#include "core/slices.h"

namespace phalanx::core {
namespace {

// One place of an assignment with those who have it.
struct Domain {
  std::vector<std::string> values;
  int64_t held = 0;  // places, without those of ranks that are done for good
  int64_t taken = 0;
  bool lost = false;  // its node is: nobody is sent there

  [[nodiscard]] bool free() const { return !lost && taken < held; }
};

class PodSetUngater {
 public:
  PodSetUngater(const State& state, const Outbox& outbox, const Expected& expected,
                const WorkloadState& workload, size_t index)
      : state_(state),
        outbox_(outbox),
        expected_(expected),
        workload_(workload),
        index_of_pod_set_(index),
        pod_set_(workload.object.pod_sets[index]),
        assignment_(*workload.assignments[index]) {}

  void run(const std::vector<std::pair<std::string, const Pod*>>& pods, Ungating& result) {
    read_domains();
    for (const auto& [name, pod] : pods) sort_in(name, *pod);
    if (waiting_.empty()) return;
    const std::string problem = rank_problem();
    if (problem.empty() && in_order()) {
      by_rank(result);
    } else if (problem.empty()) {
      by_slice(result);
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
    const LostNodes lost = by_host ? lost_nodes(state_, workload_) : LostNodes();
    for (const api::DomainAssignment& domain : assignment_.domains) {
      // A host may have ranks that are no neighbours: it stands there once for each run of them.
      const auto [known, added] = index_.emplace(domain.values, domains_.size());
      if (added) domains_.push_back({domain.values, 0, 0, lost.why.contains(domain.values.back())});
      Domain& place = domains_[known->second];
      place.held = by_host ? state_.account.slots(workload_.request.name, pod_set_.name,
                                                  domain.values.back())
                           : place.held + domain.count;
      ranks_ += domain.count;
      last_ranks_.emplace_back(ranks_, known->second);
    }
  }

  [[nodiscard]] size_t domain_of_rank(int64_t rank) const {
    return std::ranges::upper_bound(last_ranks_, rank, {}, &std::pair<int64_t, size_t>::first)
        ->second;
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
    const auto rank = rank_of(pod, pod_set_);
    has_ranks_ |= rank.has_value();
    if (!pod.terminating) live_ranks_.push_back(rank);
    const auto on_its_way = expected_.find(name);
    if (!pod.gated || on_its_way != expected_.end()) {
      const auto domain = pod.gated ? find_domain(on_its_way->second) : selected_domain(pod);
      if (domain) ++domains_[*domain].taken;
      if (domain && rank && !pod.terminating) placed_.emplace(*rank, *domain);
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
      if (*rank >= ranks_) {
        return fmt::format("rank {} is beyond the {} pods of the assignment", *rank, ranks_);
      }
      if (!seen.insert(*rank).second) return fmt::format("two pods have the rank {}", *rank);
    }
    return "";
  }

  // Whether everybody is where its rank says. Not so where somebody else has replaced a node, and
  // put the new one elsewhere into the list.
  [[nodiscard]] bool in_order() const {
    return std::ranges::all_of(
        placed_, [&](const auto& placed) { return domain_of_rank(placed.first) == placed.second; });
  }

  // Those that are missing fill the places that are free, each where the rest of its slice is.
  void by_slice(Ungating& result) {
    const std::vector<std::string> levels = slice_levels(state_, workload_, index_of_pod_set_);
    RankedPlaces places(slice_sizes(pod_set_));
    for (const Domain& domain : domains_) {
      places.add(domains_of_layers(state_, pod_set_, levels, domain.values.back()),
                 domain.free() ? domain.held - domain.taken : 0);
    }
    for (const auto& [rank, domain] : placed_) places.put(rank, domain);
    std::ranges::sort(waiting_, {}, &Waiting::rank);
    for (const Waiting& waiting : waiting_) {
      const auto domain = places.take(*waiting.rank);
      if (!domain) return;
      place(waiting, domains_[*domain], result);
    }
  }

  void by_rank(Ungating& result) {
    for (const Waiting& waiting : waiting_) {
      Domain& domain = domains_[domain_of_rank(*waiting.rank)];
      if (domain.free()) place(waiting, domain, result);
    }
  }

  void greedily(Ungating& result) {
    std::ranges::sort(waiting_, {}, [](const Waiting& w) {
      return std::tuple(w.rank.value_or(INT64_MAX), w.pod->created, w.name);
    });
    size_t next = 0;
    for (const Waiting& waiting : waiting_) {
      while (next < domains_.size() && !domains_[next].free()) ++next;
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
  size_t index_of_pod_set_;
  const api::WorkloadPodSet& pod_set_;
  const api::TopologyAssignment& assignment_;
  std::vector<Domain> domains_;
  std::map<std::vector<std::string>, size_t> index_;  // of domains, by their values
  // Runs of ranks in one domain each: the first rank behind the run, and the domain. An assignment
  // may say any numbers, so there is no entry for each rank.
  std::vector<std::pair<int64_t, size_t>> last_ranks_;
  int64_t ranks_ = 0;
  std::vector<Waiting> waiting_;
  std::vector<std::optional<int64_t>> live_ranks_;
  std::map<int64_t, size_t> placed_;  // domain by rank
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
  const std::string controller = state.pod_controller_of(*workload);
  for (size_t i = 0; i < workload->object.pod_sets.size(); ++i) {
    if (!workload->assignments[i]) continue;
    std::vector<std::pair<std::string, const Pod*>> own;
    for (const std::string& pod_name : state.pods_of_workload.at(name)) {
      const Pod& pod = state.pods.at(pod_name);
      if (pod.pod_set == workload->object.pod_sets[i].name && pod.is_of(controller)) {
        own.emplace_back(pod_name, &pod);
      }
    }
    PodSetUngater(state, outbox, expected, *workload, i).run(own, result);
  }
  return result;
}

}  // namespace phalanx::core
