#include "quota/victim_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <ranges>

#include "base/check.h"
#include "base/saturating.h"

namespace phalanx::quota {
namespace {

// How many of the largest it takes to reach an amount; more than there are if all do not.
size_t fewest_to_reach(int64_t amount, const std::vector<int64_t>& each) {
  if (amount <= 0) return 0;
  if (each.empty()) return 1;
  // Mostly all are alike.
  if (const auto [least, most] = std::ranges::minmax(each); least == most) {
    if (most <= 0) return each.size() + 1;
    const auto count = static_cast<uint64_t>((amount - 1) / most + 1);
    return std::min<uint64_t>(count, each.size() + 1);
  }
  std::vector<int64_t> freed = each;
  std::ranges::sort(freed, std::greater());
  size_t count = 0;
  while (amount > 0 && count < freed.size()) {
    amount = saturating_subtract(amount, freed[count]);
    ++count;
  }
  return amount > 0 ? freed.size() + 1 : count;
}

constexpr uint32_t kNoSite = std::numeric_limits<uint32_t>::max();

}  // namespace

VictimSearch::VictimSearch(QuotaTree& tree, topology::Cluster& cluster, Room& room,
                           const Preemptor& preemptor, std::span<const Holder> holders,
                           SearchLimits limits)
    : tree_(tree),
      cluster_(cluster),
      room_(room),
      preemptor_(preemptor),
      holders_(holders),
      limits_(limits),
      leaves_(cluster) {}

std::optional<Victims> VictimSearch::find(Judgement judgement,
                                          const std::vector<FairStrategy>& strategies) {
  rules_.emplace(tree_, preemptor_, judgement, strategies);
  steps_ = 0;
  exhausted_ = false;
  lacks_quota_ = !quota_suffices();
  if (!lacks_quota_ && room_.fits()) return Victims{};
  collect();
  std::vector<uint32_t> by_priority(entries_.size());
  std::iota(by_priority.begin(), by_priority.end(), 0U);
  std::ranges::sort(by_priority, {}, [&](uint32_t rank) {
    return std::pair(entries_[rank].holder->priority, rank);
  });
  pool_.clear();
  for (size_t i = 0; i < by_priority.size();) {
    const int32_t priority = entries_[by_priority[i]].holder->priority;
    for (; i < by_priority.size() && entries_[by_priority[i]].holder->priority == priority; ++i) {
      pool_.push_back(by_priority[i]);
    }
    take_out_all(pool_);
    if (!quota_suffices() || !room_.fits()) continue;
    std::ranges::sort(pool_);
    auto set = best_of_pool();
    if (!set) continue;
    Victims victims;
    for (const uint32_t rank : *set) take_out(rank);
    std::ranges::reverse(*set);
    for (const uint32_t rank : *set) {
      const Holder& holder = *entries_[rank].holder;
      victims.holders.push_back(entries_[rank].index);
      victims.reasons.push_back(rules_->reason(holder));
    }
    // If the steps ran out in a pool of lower ones, those may be enough after all.
    victims.highest_priority = std::ranges::max(*set | std::views::transform([&](uint32_t rank) {
      return entries_[rank].holder->priority;
    }));
    victims.exact = !exhausted_;
    put_back_all();
    return victims;
  }
  put_back_all();
  return std::nullopt;
}

void VictimSearch::collect() {
  entries_.clear();
  leaves_.clear();
  for (size_t i = 0; i < holders_.size(); ++i) {
    if (!rules_->eligible(holders_[i])) continue;
    const size_t distance = tree_.below_shared(preemptor_.queue, holders_[i].queue).size();
    entries_.push_back({&holders_[i], i, distance, rules_->eases_judgement(holders_[i])});
  }
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) {
    if (a.holder->reserved != b.holder->reserved) return a.holder->reserved > b.holder->reserved;
    return a.holder->workload < b.holder->workload;
  });
}

void VictimSearch::mark_out(Entry& entry, uint32_t rank) {
  if (!entry.known) {
    entry.known = true;
    entry.leaves = entry.moved = leaves_.look_up(room_.trees(), entry.holder->workload);
  }
  entry.out = true;
  entry.place = out_.size();
  out_.push_back(rank);
  if (entry.holder->queue != preemptor_.queue) ++others_out_;
  tree_.add(entry.holder->queue, entry.holder->usage, -1, Book::kPromised);
}

void VictimSearch::mark_back(Entry& entry) {
  entry.out = false;
  out_[entry.place] = out_.back();
  entries_[out_.back()].place = entry.place;
  out_.pop_back();
  if (entry.holder->queue != preemptor_.queue) --others_out_;
  tree_.add(entry.holder->queue, entry.holder->usage, +1, Book::kPromised);
}

void VictimSearch::take_out(uint32_t rank) {
  Entry& entry = entries_[rank];
  if (entry.out) return;
  mark_out(entry, rank);
  leaves_.move(entry.moved, -1);
}

void VictimSearch::put_back(uint32_t rank) {
  Entry& entry = entries_[rank];
  if (!entry.out) return;
  mark_back(entry);
  leaves_.move(entry.moved, +1);
}

void VictimSearch::take_out_all(std::span<const uint32_t> ranks) {
  std::vector<VictimLeaves::Range> moved;
  for (const uint32_t rank : ranks) {
    if (entries_[rank].out) continue;
    mark_out(entries_[rank], rank);
    moved.push_back(entries_[rank].moved);
  }
  leaves_.move_all(moved, -1);
}

void VictimSearch::put_back_all() {
  std::vector<VictimLeaves::Range> moved;
  while (!out_.empty()) {
    Entry& entry = entries_[out_.back()];
    mark_back(entry);
    moved.push_back(entry.moved);
  }
  leaves_.move_all(moved, +1);
}

void VictimSearch::enter(const Site& site) {
  if (!site.domain) return;
  const topology::DomainRange range =
      cluster_.tree(one_domain_->tree).leaves(one_domain_->level, *site.domain);
  for (const uint32_t rank : site.entries) {
    entries_[rank].moved = leaves_.within(entries_[rank].leaves, range);
  }
}

void VictimSearch::leave(const Site& site) {
  CHECK(out_.empty());
  for (const uint32_t rank : site.entries) entries_[rank].moved = entries_[rank].leaves;
}

bool VictimSearch::quota_suffices() const {
  return std::ranges::all_of(preemptor_.wanted, [&](const auto& entry) {
    // Nothing is never lacking, also where less than nothing is available.
    return entry.second == 0 ||
           tree_.available(preemptor_.queue, entry.first, Book::kPromised) >= entry.second;
  });
}

bool VictimSearch::will_do(const Site& site) {
  if (++steps_ > limits_.steps) exhausted_ = true;
  if (!quota_suffices()) return false;
  return site.domain ? room_.fits_in(*site.domain) : room_.fits();
}

bool VictimSearch::allowed() const {
  // Of its own queue whoever may go at all may go with anybody.
  if (others_out_ == 0) return true;
  std::vector<const Holder*> gone;
  gone.reserve(out_.size());
  for (const uint32_t rank : out_) gone.push_back(entries_[rank].holder);
  return rules_->allowed(gone);
}

VictimSearch::Set VictimSearch::out_set() const {
  Set set = out_;
  std::ranges::sort(set, std::greater());
  return set;
}

std::optional<VictimSearch::Set> VictimSearch::best_of_pool() {
  std::vector<Site> sites = sites_of_pool();
  std::vector<size_t> order;
  for (size_t i = 0; i < sites.size(); ++i) {
    if (!bound(sites[i]).empty()) order.push_back(i);
  }
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const auto of_a = bound(sites[a]);
    const auto of_b = bound(sites[b]);
    if (of_a.size() != of_b.size()) return of_a.size() < of_b.size();
    const auto compared = std::lexicographical_compare_three_way(of_a.rbegin(), of_a.rend(),
                                                                 of_b.rbegin(), of_b.rend());
    return compared != 0 ? compared < 0 : a < b;
  });
  std::optional<Set> best;
  for (const bool exhaustively : {false, true}) {
    for (const size_t index : order) {
      if (best && (exhausted_ || !may_be_better(sites[index], *best))) break;
      complete(sites[index]);
      enter(sites[index]);
      if (exhaustively) {
        search_exhaustively(sites[index], best);
      } else {
        search_greedily(sites[index], best);
      }
      leave(sites[index]);
    }
  }
  if (best && exhausted_) {
    // Nobody could stay if it is to sit in that domain; in another one somebody may.
    for (const uint32_t rank : *best) take_out(rank);
    best = made_minimal({});
  }
  return best;
}

std::vector<VictimSearch::Site> VictimSearch::sites_of_pool() {
  one_domain_ = room_.one_domain();
  std::vector<Site> sites;
  if (!one_domain_) {
    put_back_all();
    sites.push_back({std::nullopt, pool_, quota_lacks(pool_), 1, true});
    Site& site = sites.back();
    site.at_least = site.bound = std::max<size_t>(1, bound_of(site.lacks));
    return sites;
  }
  const bool complete = !lacks_quota_ && std::ranges::none_of(pool_, [&](uint32_t rank) {
    return entries_[rank].eases_judgement;
  });
  for (const uint32_t domain : room_.fitting_domains()) {
    sites.push_back({domain, {}, {}, 1, complete});
  }
  put_back_all();
  for (Site& site : sites) add_room_lacks(site);
  add_members(sites);
  const size_t for_quota = bound_of(quota_lacks(pool_));
  for (Site& site : sites) {
    site.at_least = site.bound = std::max({size_t{1}, bound_of(site.lacks), for_quota});
    site.anybody = !site.complete;
  }
  return sites;
}

// There may be many domains, with many in each: whoever has something there is counted first, and
// written down in a second pass.
void VictimSearch::add_members(std::vector<Site>& sites) const {
  const topology::DomainTree& tree = cluster_.tree(one_domain_->tree);
  std::vector<uint32_t> site_of(tree.leaf_count(), kNoSite);
  for (uint32_t index = 0; index < sites.size(); ++index) {
    const auto [begin, end] = tree.leaves(one_domain_->level, *sites[index].domain);
    std::fill(site_of.begin() + begin, site_of.begin() + end, index);
  }
  std::vector<uint32_t> last(sites.size(), kNoSite);
  std::vector<size_t> size(sites.size());
  const auto pass = [&](const auto& visit) {
    std::ranges::fill(last, kNoSite);
    std::ranges::fill(size, 0);
    for (const uint32_t rank : pool_) {
      for (const VictimLeaves::Leaf& leaf : leaves_.in(entries_[rank].leaves)) {
        const uint32_t site = site_of[leaf.leaf];
        if (site == kNoSite) continue;
        if (last[site] != rank) {
          last[site] = rank;
          ++size[site];
        }
        visit(site, rank, leaf);
      }
    }
  };
  pass([](uint32_t, uint32_t, const VictimLeaves::Leaf&) {});
  // What is lacking anywhere, and by site where to add up what is freed of it.
  struct Column {
    std::vector<int64_t> amounts;  // by kind of pod
    std::vector<int64_t*> freed;   // nullptr: nothing of it is lacking there
  };
  std::vector<uint32_t*> entries;
  for (size_t index = 0; index < sites.size(); ++index) {
    sites[index].entries.resize(size[index]);
    entries.push_back(sites[index].entries.data());
    for (Lack& lack : sites[index].lacks) lack.freed.resize(size[index]);
  }
  std::vector<Column> columns;
  for (const topology::Request& request : one_domain_->pod) {
    Column column{leaves_.amounts(request.resource), {}};
    bool any = false;
    for (Site& site : sites) {
      const auto lack = std::ranges::find(site.lacks, request.resource, &Lack::resource);
      column.freed.push_back(lack == site.lacks.end() ? nullptr : lack->freed.data());
      any |= lack != site.lacks.end();
    }
    if (any) columns.push_back(std::move(column));
  }
  pass([&](uint32_t site, uint32_t rank, const VictimLeaves::Leaf& leaf) {
    entries[site][size[site] - 1] = rank;
    for (const Column& column : columns) {
      if (column.freed[site] == nullptr) continue;
      int64_t& sum = column.freed[site][size[site] - 1];
      sum = saturating_add(sum, saturating_multiply(column.amounts[leaf.kind], leaf.count));
    }
  });
}

void VictimSearch::add_room_lacks(Site& site) const {
  const topology::DomainTree& tree = cluster_.tree(one_domain_->tree);
  const topology::DomainRange range = tree.leaves(one_domain_->level, *site.domain);
  for (const topology::Request& request : one_domain_->pod) {
    const auto free = tree.free(request.resource);
    Lack lack{saturating_multiply(request.amount, one_domain_->pods), {}, request.resource};
    for (uint32_t leaf = range.begin; leaf < range.end && !free.empty(); ++leaf) {
      lack.amount = saturating_subtract(lack.amount, std::max<int64_t>(0, free[leaf]));
    }
    if (lack.amount > 0) site.lacks.push_back(std::move(lack));
  }
}

std::vector<VictimSearch::Lack> VictimSearch::quota_lacks(
    const std::vector<uint32_t>& ranks) const {
  std::vector<Lack> lacks;
  for (const auto& [what, amount] : preemptor_.wanted) {
    // Where others took too much it is below zero. The first that goes may then bring more than it
    // held: what the queue keeps is there at once, whatever is still lacking above.
    const int64_t available = tree_.available(preemptor_.queue, what, Book::kPromised);
    Lack lack{saturating_subtract(amount, std::max<int64_t>(0, available)), {}};
    if (lack.amount <= 0) continue;
    for (const uint32_t rank : ranks) {
      const Amounts& usage = entries_[rank].holder->usage;
      const auto part =
          std::ranges::find(usage, what, [](const auto& entry) { return entry.first; });
      lack.freed.push_back(part == usage.end() ? 0 : part->second);
    }
    lacks.push_back(std::move(lack));
  }
  return lacks;
}

size_t VictimSearch::bound_of(const std::vector<Lack>& lacks) {
  size_t bound = 0;
  for (const Lack& lack : lacks) bound = std::max(bound, fewest_to_reach(lack.amount, lack.freed));
  return bound;
}

// As it was before the site was completed: that is its place in the order.
std::span<const uint32_t> VictimSearch::bound(const Site& site) const {
  const std::vector<uint32_t>& ranks = site.anybody ? pool_ : site.entries;
  if (site.bound > ranks.size()) return {};
  return std::span(ranks).first(site.bound);
}

bool VictimSearch::may_be_better(const Site& site, const Set& best) const {
  const auto least = bound(site);
  return better(Set(least.rbegin(), least.rend()), best);
}

void VictimSearch::complete(Site& site) {
  if (site.complete) return;
  site.complete = true;
  const std::vector<Lack> of_quota = quota_lacks(pool_);
  std::vector<uint32_t> ranks;
  size_t next = 0;
  for (size_t i = 0; i < pool_.size(); ++i) {
    const bool here = next < site.entries.size() && site.entries[next] == pool_[i];
    if (here) ++next;
    const bool helps =
        entries_[pool_[i]].eases_judgement ||
        std::ranges::any_of(of_quota, [&](const Lack& lack) { return lack.freed[i] > 0; });
    if (here || helps) ranks.push_back(pool_[i]);
  }
  site.entries = std::move(ranks);
  site.lacks.clear();
  add_room_lacks(site);
  const topology::DomainRange range =
      cluster_.tree(one_domain_->tree).leaves(one_domain_->level, *site.domain);
  for (Lack& lack : site.lacks) {
    const std::vector<int64_t> amounts = leaves_.amounts(lack.resource);
    for (const uint32_t rank : site.entries) {
      int64_t& freed = lack.freed.emplace_back(0);
      for (const auto& leaf : leaves_.in(leaves_.within(entries_[rank].leaves, range))) {
        freed = saturating_add(freed, saturating_multiply(amounts[leaf.kind], leaf.count));
      }
    }
  }
  // Those of quota come first: they decide who is thought to help most.
  std::vector<Lack> lacks = quota_lacks(site.entries);
  std::ranges::move(site.lacks, std::back_inserter(lacks));
  site.lacks = std::move(lacks);
  site.at_least = std::max<size_t>(1, bound_of(site.lacks));
}

}  // namespace phalanx::quota
