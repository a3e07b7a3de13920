#include "core/appraisal.h"

#include <algorithm>

#include "base/check.h"
#include "core/admission_checks.h"
#include "core/pods_ready.h"
#include "core/preemption.h"
#include "core/quota_holders.h"

namespace phalanx::core {
namespace {

class Appraiser : public quota::FlavorMarket {
 public:
  Appraiser(State& state, ClusterView& view, const WorkloadState& workload,
            const api::ClusterQueue& queue, const placement::Workload& request,
            const Question& question)
      : state_(state),
        view_(view),
        workload_(workload),
        queue_(queue),
        request_(request),
        question_(question),
        placement_(state, request_, options(), delayed_flavors(state, queue)) {
    preemptor_.queue = state_.ledger.tree().queue(queue.meta.name);
    preemptor_.priority = workload.priority;
    preemptor_.created = waits_since(state, workload);
    preemptor_.policy = queue.preemption;
    if (const auto restraint = restraint_of(workload, state.now)) {
      preemptor_.spares_since = restraint->since;
    }
  }

  Appraisal run() {
    const topology::Attempt attempt(state_.account.cluster());
    Appraisal appraisal;
    for (const placement::PodSet& pod_set : request_.pod_sets) {
      appraisal.counts.push_back(pod_set.count);
    }
    quota::FlavorAssigner assigner(queue_, state_.ledger.tree(), *this);
    auto assigned = assigner.assign(
        {&request_, &workload_.quota_requests, state_.configuration.resources.ignore_undeclared});
    if (!assigned) {
      appraisal.refused = std::move(assigned.error());
    } else if (assigned->fit == quota::Fit::kFits) {
      appraisal.assigned = std::move(*assigned);
    } else if (const Found* found = search(assigned->choices)) {
      assigned->choices = found->choices;
      assigned->borrows = found->borrows;
      appraisal.victims = found->victims;
      appraisal.candidates = found->candidates;
      appraisal.exact = found->exact;
      appraisal.free_at = found->free_at;
      appraisal.awaited = found->awaited;
      appraisal.awaited.merge(leaving_from(found->choices));
      for (const auto& [victim, reason] : found->victims) appraisal.awaited.insert(victim);
      appraisal.assigned = std::move(*assigned);
    } else {
      appraisal.refused = std::move(assigned->why);
    }
    appraisal.explanations = std::move(explanations_);
    appraisal.steps = steps_;
    return appraisal;
  }

  [[nodiscard]] const api::ResourceFlavor* flavor(const std::string& name) const override {
    return state_.flavor(name);
  }
  std::expected<std::vector<api::TopologyAssignment>, std::string> place(
      const std::vector<const api::ResourceFlavor*>& flavors,
      const std::vector<size_t>& unit) override {
    return placement_.place(flavors, unit, &explanations_);
  }
  void unplace() override { placement_.unplace(); }

  Prospect if_others_went(const std::vector<quota::FlavorChoice>& choices) override {
    const Found* found = search(choices);
    if (found == nullptr) return {};
    const bool own = std::ranges::any_of(found->victims, [](const auto& victim) {
      return victim.second == quota::VictimReason::kInClusterQueue;
    });
    return {own ? quota::Fit::kPreempts : quota::Fit::kReclaims, found->borrows};
  }

 private:
  struct Found {
    std::map<std::string, quota::VictimReason> victims;
    std::vector<quota::FlavorChoice> choices;  // with places
    bool borrows = false;                      // the queue, once they are gone
    std::set<std::string> awaited = {};        // of a reservation: whose end it waits for
    std::optional<Time> free_at = {};          // likewise: when that is, if it is known
    size_t candidates = 0;
    bool exact = true;
  };

  [[nodiscard]] placement::Options options() const {
    placement::Options options = state_.configuration.placement;
    options.explain = question_.explain;
    return options;
  }

  // The victims for these choices; nullptr if nobody can be asked, or nobody's going helps.
  const Found* search(const std::vector<quota::FlavorChoice>& choices) {
    if (!question_.reserve && !(question_.may_preempt && may_preempt(queue_))) return nullptr;
    std::vector<std::map<std::string, std::string>> key;
    for (const quota::FlavorChoice& choice : choices) key.push_back(choice.flavors);
    const auto known = found_.find(key);
    if (known != found_.end()) return known->second ? &*known->second : nullptr;
    auto& entry = found_[std::move(key)];
    entry = question_.reserve ? find_earliest(choices) : find_victims(choices);
    return entry ? &*entry : nullptr;
  }

  std::optional<Found> find_victims(const std::vector<quota::FlavorChoice>& choices) {
    const topology::Attempt attempt(state_.account.cluster());
    placement_.lift_all();
    view_.look_ahead();
    WorkloadRoom room(placement_, choices);
    quota::QuotaTree& tree = state_.ledger.tree();
    want(choices, room);
    if (holders_.empty()) {
      holders_ = quota_holders(state_, view_, preemptor_.queue, question_.reserve);
    }
    quota::VictimSearch search(tree, state_.account.cluster(), room, preemptor_, holders_, {});
    const auto victims = best_victims(search);
    if (!victims) return std::nullopt;
    Found found{{}, choices};
    found.candidates = search.candidates();
    found.exact = victims->exact;
    const Gone gone(*this);
    for (size_t i = 0; i < victims->holders.size(); ++i) {
      const quota::Holder& holder = holders_[victims->holders[i]];
      found.victims[holder.workload] = victims->reasons[i];
      take_out(holder);
    }
    found.borrows = borrows();
    // Whoever is found to fit into a domain can be placed there.
    CHECK(room.place(found.choices));
    return found;
  }

  // The place that is free first if everybody ends when it must: the shortest beginning of those
  // in the order of their ends that makes it fit. What it would have to borrow is not held: others
  // may have a right to it, and nobody is there whom they could ask to go.
  std::optional<Found> find_earliest(const std::vector<quota::FlavorChoice>& choices) {
    const topology::Attempt attempt(state_.account.cluster());
    placement_.lift_all();
    view_.look_ahead();
    WorkloadRoom room(placement_, choices);
    want(choices, room);
    if (holders_.empty()) {
      holders_ = quota_holders(state_, view_, preemptor_.queue, question_.reserve);
    }
    std::ranges::sort(holders_, {}, [&](const quota::Holder& holder) {
      return std::tuple(end_of(holder).value_or(Time::max()), holder.reserved, holder.workload);
    });
    const auto fits_without = [&](size_t count) {
      const topology::Attempt inner(state_.account.cluster());
      const Gone gone(*this);
      for (size_t i = 0; i < count; ++i) take_out(holders_[i]);
      return quota_suffices() && !borrows() && room.fits();
    };
    size_t low = 0;
    size_t high = holders_.size();
    if (!fits_without(high)) return std::nullopt;
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      fits_without(middle) ? high = middle : low = middle + 1;
    }
    Found found{{}, choices};
    const Gone gone(*this);
    for (size_t i = 0; i < low; ++i) {
      take_out(holders_[i]);
      found.awaited.insert(holders_[i].workload);
      found.free_at = end_of(holders_[i]);
    }
    CHECK(room.place(found.choices));
    return found;
  }

  [[nodiscard]] std::optional<Time> end_of(const quota::Holder& holder) const {
    const auto left = state_.workloads.at(holder.workload).object.execution_left();
    if (!left) return std::nullopt;
    return holder.reserved + *left;
  }

  void take_out(const quota::Holder& holder) {
    view_.lift(holder.workload);
    state_.ledger.tree().add(holder.queue, holder.usage, -1, quota::Book::kPromised);
    taken_out_.push_back(&holder);
  }

  // Puts back in the quota tree whom it saw go. The nodes are put back by an Attempt.
  class Gone {
   public:
    explicit Gone(Appraiser& appraiser)
        : appraiser_(appraiser), start_(appraiser.taken_out_.size()) {}
    ~Gone() {
      auto& gone = appraiser_.taken_out_;
      for (; gone.size() > start_; gone.pop_back()) {
        appraiser_.state_.ledger.tree().add(gone.back()->queue, gone.back()->usage, +1,
                                            quota::Book::kPromised);
      }
    }
    Gone(const Gone&) = delete;
    Gone& operator=(const Gone&) = delete;

   private:
    Appraiser& appraiser_;
    size_t start_;
  };

  [[nodiscard]] bool quota_suffices() const {
    const quota::QuotaTree& tree = state_.ledger.tree();
    return std::ranges::all_of(preemptor_.wanted, [&](const auto& wanted) {
      return tree.available(preemptor_.queue, wanted.first, quota::Book::kPromised) >=
             wanted.second;
    });
  }

  [[nodiscard]] bool borrows() const {
    return std::ranges::any_of(preemptor_.wanted, [&](const auto& wanted) {
      return state_.ledger.tree().borrows(preemptor_.queue, wanted.first, wanted.second);
    });
  }

  std::optional<quota::Victims> best_victims(quota::VictimSearch& search) {
    if (state_.configuration.fair_sharing) {
      std::vector<quota::FairStrategy> strategies;
      for (const FairPreemptionStrategy strategy : state_.configuration.fair_sharing->strategies) {
        strategies.push_back(strategy == FairPreemptionStrategy::kLessThanOrEqualToFinalShare
                                 ? quota::FairStrategy::kFinalShare
                                 : quota::FairStrategy::kInitialShare);
      }
      auto victims = search.find(quota::Judgement::kFairSharing, strategies);
      steps_ += search.steps();
      return victims;
    }
    auto best = search.find(quota::Judgement::kReclaim, {});
    steps_ += search.steps();
    if (!queue_.preemption.borrow_within_cohort) return best;
    auto borrowing = search.find(quota::Judgement::kBorrow, {});
    steps_ += search.steps();
    const auto rank = [&](const quota::Victims& victims) {
      return std::pair(victims.holders.empty() ? 0 : 1,
                       std::pair(victims.highest_priority, victims.holders.size()));
    };
    if (!best || (borrowing && rank(*borrowing) < rank(*best))) return borrowing;
    return best;
  }

  // Those that are leaving, as far as they still have something of that place, or of quota that
  // is lacking until they are gone.
  std::set<std::string> leaving_from(const std::vector<quota::FlavorChoice>& choices) {
    topology::Cluster& cluster = state_.account.cluster();
    quota::QuotaTree& tree = state_.ledger.tree();
    std::set<quota::FlavorResourceId> lacking;
    std::vector<TreeId> trees;
    std::set<std::pair<TreeId, uint32_t>> leaves;
    for (const quota::FlavorChoice& choice : choices) {
      for (const auto& [resource, amount] : choice.usage) {
        const auto what = tree.id({choice.flavors.at(resource), resource});
        if (tree.available(preemptor_.queue, what, quota::Book::kHeld) < amount) {
          lacking.insert(what);
        }
      }
      if (!choice.topology) continue;
      const auto place = state_.account.tree_of(choice.topology_flavor);
      if (!place) continue;
      if (std::ranges::find(trees, *place) == trees.end()) trees.push_back(*place);
      for (const api::DomainAssignment& domain : choice.topology->domains) {
        if (const auto leaf = cluster.find_leaf(*place, domain.values)) {
          leaves.emplace(*place, *leaf);
        }
      }
    }
    std::set<std::string> leaving;
    for (const std::string& name : state_.ledger.leaving()) {
      if (!view_.leaves(name)) continue;
      const quota::Ledger::Booking& booking = state_.ledger.bookings().at(name);
      const bool same_tree =
          tree.root(tree.queue(booking.reservation.cluster_queue)) == tree.root(preemptor_.queue);
      const bool holds_quota =
          same_tree && std::ranges::any_of(booking.amounts, [&](const auto& amount) {
            return lacking.contains(amount.first);
          });
      const auto on_leaves = cluster.usage_in(trees, name);
      const bool holds_room = std::ranges::any_of(
          on_leaves, [&](const auto& usage) { return leaves.contains({usage.tree, usage.leaf}); });
      if (holds_quota || holds_room) leaving.insert(name);
    }
    return leaving;
  }

  // What is wanted, and what of it decides who is asked.
  void want(const std::vector<quota::FlavorChoice>& choices, WorkloadRoom& room) {
    quota::QuotaTree& tree = state_.ledger.tree();
    quota::Usage usage;
    quota::Usage placed;
    for (const quota::FlavorChoice& choice : choices) {
      for (const auto& [resource, amount] : choice.usage) {
        const quota::FlavorResource what{choice.flavors.at(resource), resource};
        usage[what] += amount;
        if (!choice.topology_flavor.empty()) placed[what] += amount;
      }
    }
    preemptor_.wanted = tree.amounts(usage);
    preemptor_.contested.clear();
    const bool lacks_room = !room.fits();
    for (const auto& [what, amount] : preemptor_.wanted) {
      const bool lacks = tree.available(preemptor_.queue, what, quota::Book::kPromised) < amount;
      if (lacks || (lacks_room && placed.contains(tree.what(what)))) {
        preemptor_.contested.push_back(what);
      }
    }
  }

  State& state_;
  ClusterView& view_;
  const WorkloadState& workload_;
  const api::ClusterQueue& queue_;
  const placement::Workload& request_;
  const Question& question_;
  UnitPlacement placement_;
  quota::Preemptor preemptor_;
  std::vector<quota::Holder> holders_;
  std::vector<const quota::Holder*> taken_out_;
  std::map<std::vector<std::map<std::string, std::string>>, std::optional<Found>> found_;
  Explanations explanations_;
  size_t steps_ = 0;
};

// How many pods each pod set gives up at a step, of so many, towards its smallest size.
placement::Workload shrunk(const WorkloadState& workload, int32_t step, int32_t steps) {
  placement::Workload request = workload.request;
  for (size_t i = 0; i < request.pod_sets.size(); ++i) {
    const api::WorkloadPodSet& pod_set = workload.object.pod_sets[i];
    const int32_t smallest = pod_set.min_count.value_or(pod_set.count);
    const int64_t spare = pod_set.count - smallest;
    int32_t& count = request.pod_sets[i].count;
    count -= static_cast<int32_t>(spare * step / steps);
    // Slices stay whole.
    const auto& topology = request.pod_sets[i].topology;
    const auto constraints =
        topology ? topology->constraints() : std::vector<api::SliceConstraint>();
    if (constraints.empty() || constraints.front().size <= 1) continue;
    const int32_t size = constraints.front().size;
    count -= count % size;
    if (count < smallest) count += size;
  }
  return request;
}

}  // namespace

Appraisal appraise(State& state, const Nominations& nominations, const WorkloadState& workload,
                   const api::ClusterQueue& queue, const Question& question) {
  ClusterView view(state, nominations, queue, workload.request.name, question.standing);
  const auto ask = [&](const placement::Workload& request) {
    return Appraiser(state, view, workload, queue, request, question).run();
  };
  Appraisal whole = ask(workload.request);
  int32_t steps = 0;
  for (const api::WorkloadPodSet& pod_set : workload.object.pod_sets) {
    steps = std::max(steps, pod_set.count - pod_set.min_count.value_or(pod_set.count));
  }
  if (whole.assigned || steps == 0) return whole;
  // The smallest step at which it fits; the last is the smallest size.
  Appraisal best = ask(shrunk(workload, steps, steps));
  if (!best.assigned) {
    // What lets the smallest size fit is worth another look, too.
    const quota::Refused& smallest = *best.refused;
    for (const auto* refusals : {&smallest.refusals, &smallest.earlier}) {
      whole.refused->earlier.insert(whole.refused->earlier.end(), refusals->begin(),
                                    refusals->end());
    }
    return whole;
  }
  int32_t low = 1;
  int32_t high = steps;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    Appraisal appraisal = ask(shrunk(workload, middle, steps));
    if (appraisal.assigned) {
      best = std::move(appraisal);
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return best;
}

}  // namespace phalanx::core
