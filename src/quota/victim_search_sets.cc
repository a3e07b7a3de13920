// The part of VictimSearch that builds sets at one site: greedily, and exhaustively.
#include <algorithm>
#include <map>
#include <ranges>

#include "base/saturating.h"
#include "quota/victim_search.h"

namespace phalanx::quota {
bool VictimSearch::better(const Set& a, const Set& b) {
  if (a.size() != b.size()) return a.size() < b.size();
  return a < b;
}

void VictimSearch::search_greedily(const Site& site, std::optional<Set>& best) {
  for (const std::vector<uint32_t>& order : greedy_orders(site)) {
    if (best && exhausted_) return;
    const auto set = greedy(site, order);
    if (set && (!best || better(*set, *best))) best = set;
  }
  if (!best) best = greedy_from_all(site);
}

std::optional<VictimSearch::Set> VictimSearch::greedy(const Site& site,
                                                      const std::vector<uint32_t>& order) {
  bool enough = false;
  size_t next_question = site.at_least;
  for (const uint32_t rank : order) {
    const Holder& holder = *entries_[rank].holder;
    if (entries_[rank].out || !rules_->may_go_next(holder)) continue;
    take_out(rank);
    if (!rules_->preemptor_may_take(holder)) {
      put_back(rank);
      continue;
    }
    if (out_.size() < next_question) continue;
    enough = will_do(site);
    if (enough) break;
    next_question = out_.size() + std::max<size_t>(1, out_.size() / 8);
  }
  if (!enough && !out_.empty()) enough = will_do(site);
  if (enough && allowed()) return made_minimal(site);
  put_back_all();
  return std::nullopt;
}

// The other way round: everybody goes, and stays again, until the rules allow it. Finds sets where
// the order in which a queue is asked decides how much can be taken before it no longer borrows.
std::optional<VictimSearch::Set> VictimSearch::greedy_from_all(const Site& site) {
  for (const uint32_t rank : site.entries) take_out(rank);
  for (const uint32_t rank : least_helpful_first(site)) {
    if (allowed()) return made_minimal(site);
    put_back(rank);
    if (!will_do(site)) take_out(rank);
  }
  if (allowed()) return made_minimal(site);
  put_back_all();
  return std::nullopt;
}

// Those that are out: first who frees least, of these the oldest.
std::vector<uint32_t> VictimSearch::least_helpful_first(const Site& site) const {
  std::vector<std::pair<int64_t, uint32_t>> order;
  for (const uint32_t rank : out_) {
    int64_t freed = 0;
    if (!site.lacks.empty()) {
      const auto place = std::ranges::lower_bound(site.entries, rank) - site.entries.begin();
      freed = site.lacks.front().freed[static_cast<size_t>(place)];
    }
    order.emplace_back(freed, rank);
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second > b.second;
  });
  const auto ranks = order | std::views::values;
  return {ranks.begin(), ranks.end()};
}

// Those that are out may go and will do. Lets stay whoever can.
VictimSearch::Set VictimSearch::made_minimal(const Site& site) {
  const std::vector<uint32_t> order = least_helpful_first(site);
  // Who had to go only because of the rules may stay once another does.
  for (bool refused_by_rules = true, again = true; again;) {
    refused_by_rules = again = false;
    for (const uint32_t rank : order) {
      if (!entries_[rank].out) continue;
      put_back(rank);
      const bool enough = will_do(site);
      if (enough && allowed()) {
        again |= refused_by_rules;
        continue;
      }
      refused_by_rules |= enough;
      take_out(rank);
    }
  }
  const Set set = out_set();
  put_back_all();
  return set;
}

std::vector<std::vector<uint32_t>> VictimSearch::greedy_orders(const Site& site) const {
  std::vector<std::vector<uint32_t>> orders{site.entries};  // youngest first
  if (!site.lacks.empty()) {
    const std::vector<int64_t>& freed = site.lacks.front().freed;
    std::vector<size_t> places(site.entries.size());
    for (size_t i = 0; i < places.size(); ++i) places[i] = i;
    std::ranges::sort(places, [&](size_t a, size_t b) {
      return freed[a] != freed[b] ? freed[a] > freed[b] : a < b;
    });
    std::vector<uint32_t>& largest_first = orders.emplace_back();
    for (const size_t place : places) largest_first.push_back(site.entries[place]);
  }
  if (site.domain) orders.push_back(order_by_leaf(site));
  // Nearest first: whether one may be taken depends on nearer ones alone.
  const auto distance = [&](uint32_t rank) { return entries_[rank].distance; };
  if (!std::ranges::is_sorted(site.entries, {}, distance)) {
    std::vector<uint32_t>& nearest_first = orders.emplace_back(site.entries);
    std::ranges::sort(nearest_first, {},
                      [&](uint32_t rank) { return std::pair(distance(rank), rank); });
  }
  return orders;
}

// Leaf by leaf, so that whole nodes become free: first those that few must leave, of these the one
// whose oldest is youngest.
std::vector<uint32_t> VictimSearch::order_by_leaf(const Site& site) const {
  std::map<uint32_t, std::vector<uint32_t>> by_leaf;
  for (const uint32_t rank : site.entries) {
    for (const VictimLeaves::Leaf& leaf : leaves_.in(entries_[rank].moved)) {
      by_leaf[leaf.leaf].push_back(rank);
    }
  }
  std::vector<std::tuple<size_t, uint32_t, uint32_t>> leaves;
  for (const auto& [leaf, ranks] : by_leaf) {
    leaves.emplace_back(ranks.size(), std::ranges::max(ranks), leaf);
  }
  std::ranges::sort(leaves);
  std::vector<uint32_t> order;
  for (const auto& [count, oldest, leaf] : leaves) {
    order.insert(order.end(), by_leaf.at(leaf).begin(), by_leaf.at(leaf).end());
  }
  // Those elsewhere may be needed for quota.
  order.insert(order.end(), site.entries.begin(), site.entries.end());
  return order;
}

void VictimSearch::search_exhaustively(const Site& site, std::optional<Set>& best) {
  const size_t largest = best ? best->size() : site.entries.size();
  for (size_t size = site.at_least; size <= largest && !exhausted_; ++size) {
    const bool found = descend(site, size, site.entries.size());
    const Set set = out_set();
    put_back_all();
    if (!found) continue;
    if (!best || better(set, *best)) best = set;
    return;
  }
}

// Takes out `missing` more of the first `limit` entries so that it will do: the oldest first, each
// as young as can be. What is found is the youngest set; nothing stays out if there is none.
bool VictimSearch::descend(const Site& site, size_t missing, size_t limit) {
  if (missing == 0) return will_do(site) && allowed();
  for (size_t last = shortest_prefix(site, missing, limit); last < limit; ++last) {
    if (++steps_ > limits_.steps) exhausted_ = true;
    if (exhausted_) return false;
    take_out(site.entries[last]);
    if (reachable(site, missing - 1, last) && descend(site, missing - 1, last)) return true;
    put_back(site.entries[last]);
  }
  return false;
}

// The last place of the shortest beginning of the entries that would do if all of it went, `limit`
// if not even that does.
size_t VictimSearch::shortest_prefix(const Site& site, size_t missing, size_t limit) {
  if (missing > limit) return limit;
  size_t low = missing - 1;
  size_t high = limit;
  size_t out = 0;  // so many of the entries are out
  const auto set_out = [&](size_t count) {
    while (out < count) take_out(site.entries[out++]);
    while (out > count) put_back(site.entries[--out]);
  };
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    set_out(middle + 1);
    if (will_do(site)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  set_out(0);
  return low;
}

// Whether so many of the first entries could free enough, by the sums alone.
bool VictimSearch::reachable(const Site& site, size_t missing, size_t limit) const {
  if (missing > limit) return false;
  for (const Lack& lack : site.lacks) {
    int64_t amount = lack.amount;
    for (const uint32_t rank : out_) {
      const auto place = std::ranges::lower_bound(site.entries, rank) - site.entries.begin();
      amount = saturating_subtract(amount, lack.freed[static_cast<size_t>(place)]);
    }
    if (amount <= 0) continue;
    std::vector<int64_t> freed(lack.freed.begin(),
                               lack.freed.begin() + static_cast<ptrdiff_t>(limit));
    std::ranges::partial_sort(freed, freed.begin() + static_cast<ptrdiff_t>(missing),
                              std::greater());
    for (size_t i = 0; i < missing; ++i) amount = saturating_subtract(amount, freed[i]);
    if (amount > 0) return false;
  }
  return true;
}

}  // namespace phalanx::quota
