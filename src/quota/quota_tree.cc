#include "quota/quota_tree.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/check.h"
#include "base/saturating.h"

namespace phalanx::quota {

void QuotaTree::set_members(const std::map<std::string, api::ClusterQueue>& queues,
                            const std::map<std::string, api::Cohort>& cohorts) {
  members_.clear();
  queues_.clear();
  cohorts_.clear();
  for (const auto& [name, cohort] : cohorts) {
    cohorts_[name] = add_member(name, cohort.weight_milli, cohort.groups);
  }
  for (const auto& [name, cohort] : cohorts) {
    if (cohort.parent.empty()) continue;
    const MemberId parent = cohort_or_new(cohort.parent);
    members_[cohorts_.at(name).value].parent = parent;
  }
  cut_circles();
  for (const auto& [name, queue] : queues) {
    const MemberId member = add_member(name, queue.weight_milli, queue.groups);
    queues_[name] = member;
    if (queue.cohort.empty()) continue;
    const MemberId parent = cohort_or_new(queue.cohort);
    members_[member.value].parent = parent;
  }
  sum_up();
}

MemberId QuotaTree::add_member(const std::string& name, int64_t weight_milli,
                               const std::vector<api::ResourceGroup>& groups) {
  const MemberId id(members_.size());
  members_.push_back({name, {}, weight_milli, {}});
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        Cell& entry = cell(id, this->id({flavor.flavor, quota.resource}));
        entry.nominal = quota.nominal;
        entry.borrowing_limit = quota.borrowing_limit;
        entry.lending_limit = quota.lending_limit;
      }
    }
  }
  return id;
}

MemberId QuotaTree::cohort_or_new(const std::string& name) {
  const auto found = cohorts_.find(name);
  if (found != cohorts_.end()) return found->second;
  return cohorts_[name] = add_member(name, api::kDefaultWeightMilli, {});
}

void QuotaTree::cut_circles() {
  std::vector<MemberId> in_circle;
  for (size_t start = 0; start < members_.size(); ++start) {
    MemberId at = members_[start].parent;
    for (size_t steps = 0; at.valid() && steps < members_.size(); ++steps) {
      if (at.value == start) {
        in_circle.emplace_back(start);
        break;
      }
      at = members_[at.value].parent;
    }
  }
  for (const MemberId member : in_circle) members_[member.value].parent = {};
}

void QuotaTree::sum_up() {
  // Children before parents: by depth, deepest first.
  std::vector<std::pair<size_t, MemberId>> order;
  for (size_t i = 0; i < members_.size(); ++i) {
    size_t depth = 0;
    for (MemberId at = members_[i].parent; at.valid(); at = members_[at.value].parent) ++depth;
    order.emplace_back(depth, i);
  }
  std::ranges::sort(order, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (const auto& [depth, member] : order) {
    for (size_t i = 0; i < members_[member.value].cells.size(); ++i) {
      const FlavorResourceId what(i);
      Cell& own = cell(member, what);
      own.subtree = saturating_add(own.subtree, own.nominal);
      if (own.lending_limit) {
        own.kept = std::max<int64_t>(0, saturating_subtract(own.subtree, *own.lending_limit));
      }
      const MemberId parent = members_[member.value].parent;
      if (!parent.valid()) continue;
      const int64_t lent = own.subtree - own.kept;
      Cell& above = cell(parent, what);
      above.subtree = saturating_add(above.subtree, lent);
    }
  }
}

MemberId QuotaTree::queue(const std::string& name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? MemberId() : found->second;
}

MemberId QuotaTree::cohort(const std::string& name) const {
  const auto found = cohorts_.find(name);
  return found == cohorts_.end() ? MemberId() : found->second;
}

MemberId QuotaTree::root(MemberId member) const {
  while (parent(member).valid()) member = parent(member);
  return member;
}

std::vector<MemberId> QuotaTree::below_shared(MemberId queue, MemberId other) const {
  std::vector<MemberId> above_other;
  for (MemberId at = other; at.valid(); at = parent(at)) above_other.push_back(at);
  std::vector<MemberId> path;
  for (MemberId at = queue; at.valid(); at = parent(at)) {
    if (std::ranges::find(above_other, at) != above_other.end()) break;
    path.push_back(at);
  }
  return path;
}

FlavorResourceId QuotaTree::id(const FlavorResource& what) {
  const auto [entry, is_new] = ids_.emplace(what, FlavorResourceId(names_.size()));
  if (is_new) names_.push_back(what);
  return entry->second;
}

Amounts QuotaTree::amounts(const Usage& usage) {
  Amounts amounts;
  amounts.reserve(usage.size());
  for (const auto& [what, amount] : usage) amounts.emplace_back(id(what), amount);
  std::ranges::sort(amounts);
  return amounts;
}

const QuotaTree::Cell& QuotaTree::cell(MemberId member, FlavorResourceId what) const {
  static const Cell kNothing;
  const auto& cells = members_[member.value].cells;
  return what.value < cells.size() ? cells[what.value] : kNothing;
}

QuotaTree::Cell& QuotaTree::cell(MemberId member, FlavorResourceId what) {
  auto& cells = members_[member.value].cells;
  if (what.value >= cells.size()) cells.resize(what.value + 1);
  return cells[what.value];
}

void QuotaTree::add(MemberId queue, const Amounts& amounts, int sign, Book book) {
  for (const auto& [what, amount] : amounts) {
    int64_t change = sign > 0 ? amount : saturating_subtract(0, amount);
    for (MemberId at = queue; at.valid() && change != 0; at = parent(at)) {
      Cell& entry = cell(at, what);
      int64_t& usage = entry.usage[static_cast<size_t>(book)];
      const int64_t before = std::max<int64_t>(0, saturating_subtract(usage, entry.kept));
      usage = saturating_add(usage, change);
      const int64_t after = std::max<int64_t>(0, saturating_subtract(usage, entry.kept));
      change = saturating_subtract(after, before);
    }
  }
}

int64_t QuotaTree::available(MemberId member, FlavorResourceId what, Book book) const {
  const Cell& own = cell(member, what);
  const int64_t used = own.usage[static_cast<size_t>(book)];
  if (!parent(member).valid()) return saturating_subtract(own.subtree, used);
  const int64_t at_home = std::max<int64_t>(0, saturating_subtract(own.kept, used));
  int64_t above = available(parent(member), what, book);
  if (own.borrowing_limit) {
    const int64_t lent = own.subtree - own.kept;
    const int64_t from_above = std::max<int64_t>(0, saturating_subtract(used, own.kept));
    above = std::min(above,
                     saturating_add(saturating_subtract(lent, from_above), *own.borrowing_limit));
  }
  // What is kept at home is there whatever others have taken of the rest.
  return at_home > 0 ? saturating_add(at_home, std::max<int64_t>(0, above)) : above;
}

int64_t QuotaTree::available(MemberId member, FlavorResourceId what) const {
  return std::min(available(member, what, Book::kHeld), available(member, what, Book::kPromised));
}

int64_t QuotaTree::maximum(MemberId member, FlavorResourceId what) const {
  const Cell& own = cell(member, what);
  if (!parent(member).valid()) return own.subtree;
  const int64_t all = saturating_add(own.kept, maximum(parent(member), what));
  if (!own.borrowing_limit) return all;
  return std::min(all, saturating_add(own.subtree, *own.borrowing_limit));
}

bool QuotaTree::borrows(MemberId member, FlavorResourceId what, int64_t extra) const {
  if (!parent(member).valid()) return false;
  const Cell& own = cell(member, what);
  const int64_t used = own.usage[static_cast<size_t>(Book::kPromised)];
  return saturating_add(used, extra) > own.subtree;
}

std::vector<std::string> circle_above(const std::string& cohort,
                                      const std::map<std::string, api::Cohort>& cohorts) {
  std::vector<std::string_view> way;
  std::map<std::string_view, size_t> met;  // where on the way
  std::string_view at = cohort;
  while (!at.empty()) {
    const auto [before, is_new] = met.emplace(at, way.size());
    if (!is_new) {
      std::vector<std::string> circle(way.begin() + static_cast<std::ptrdiff_t>(before->second),
                                      way.end());
      std::ranges::rotate(circle, std::ranges::min_element(circle));
      return circle;
    }
    way.push_back(at);
    const auto found = cohorts.find(std::string(at));
    at = found == cohorts.end() ? std::string_view() : found->second.parent;
  }
  return {};
}

}  // namespace phalanx::quota
