// The slow tree of quota/testing.h.
#include <algorithm>
#include <limits>
#include <set>

#include "quota/testing.h"

namespace phalanx::quota::testing {
namespace {

std::vector<api::ResourceGroup> groups_of(const std::vector<Quota>& quotas) {
  std::vector<api::ResourceGroup> groups;
  for (const Quota& quota : quotas) {
    const auto& [flavor, resource] = quota.what;
    const auto known = std::ranges::find_if(groups, [&, name = flavor](const auto& group) {
      return group.flavors.front().flavor == name;
    });
    api::ResourceGroup& group = known != groups.end() ? *known : groups.emplace_back();
    if (group.flavors.empty()) group.flavors.push_back({flavor, {}});
    group.covered_resources.push_back(resource);
    group.flavors.front().resources.push_back(
        {resource, quota.nominal, quota.borrowing_limit, quota.lending_limit});
  }
  return groups;
}

}  // namespace

void add_queue(Queues& queues, const std::string& name, const std::string& cohort,
               const std::vector<Quota>& quotas, int64_t weight_milli) {
  api::ClusterQueue& queue = queues[name];
  queue.meta.name = name;
  queue.cohort = cohort;
  queue.groups = groups_of(quotas);
  queue.weight_milli = weight_milli;
}

void add_cohort(Cohorts& cohorts, const std::string& name, const std::string& parent,
                const std::vector<Quota>& quotas, int64_t weight_milli) {
  api::Cohort& cohort = cohorts[name];
  cohort.meta.name = name;
  cohort.parent = parent;
  cohort.groups = groups_of(quotas);
  cohort.weight_milli = weight_milli;
}

SlowTree::SlowTree(const Queues& queues, const Cohorts& cohorts) {
  for (const auto& [name, cohort] : cohorts) {
    put(name, cohort.parent, cohort.weight_milli, cohort.groups, false);
  }
  for (const auto& [name, queue] : queues) {
    put(name, queue.cohort, queue.weight_milli, queue.groups, true);
  }
  // Cohorts that are named but have no object exist all the same.
  for (const std::string& name : members()) {
    const std::string above = members_.at(name).parent;
    if (!above.empty()) members_[above].children.push_back(name);
  }
}

void SlowTree::put(const std::string& name, const std::string& parent, int64_t weight_milli,
                   const std::vector<api::ResourceGroup>& groups, bool is_queue) {
  Member& member = members_[name];
  member.parent = parent;
  member.weight_milli = weight_milli;
  member.is_queue = is_queue;
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        member.quotas[{flavor.flavor, quota.resource}] = quota;
      }
    }
  }
}

void SlowTree::add(const std::string& queue, const Usage& usage, int sign) {
  for (const auto& [what, amount] : usage) members_.at(queue).usage[what] += sign * amount;
}

const std::string& SlowTree::parent(const std::string& member) const {
  return members_.at(member).parent;
}

std::string SlowTree::root(const std::string& member) const {
  return parent(member).empty() ? member : root(parent(member));
}

std::vector<std::string> SlowTree::below_shared(const std::string& queue,
                                                const std::string& other) const {
  std::set<std::string> above_other;
  for (std::string at = other; !at.empty(); at = parent(at)) above_other.insert(at);
  std::vector<std::string> path;
  for (std::string at = queue; !at.empty() && !above_other.contains(at); at = parent(at)) {
    path.push_back(at);
  }
  return path;
}

std::vector<std::string> SlowTree::members() const {
  std::vector<std::string> names;
  for (const auto& [name, member] : members_) names.push_back(name);
  return names;
}

api::ResourceQuota SlowTree::quota(const std::string& member, const FlavorResource& what) const {
  const auto& quotas = members_.at(member).quotas;
  const auto found = quotas.find(what);
  return found == quotas.end() ? api::ResourceQuota{what.resource} : found->second;
}

// "nominal, and what the children lend: their subtree quota without what they keep"
int64_t SlowTree::subtree_quota(const std::string& member, const FlavorResource& what) const {
  int64_t sum = quota(member, what).nominal;
  for (const std::string& child : members_.at(member).children) {
    sum += subtree_quota(child, what) - kept(child, what);
  }
  return sum;
}

// "subtree quota - lendingLimit, at least 0; without a limit 0"
int64_t SlowTree::kept(const std::string& member, const FlavorResource& what) const {
  const auto limit = quota(member, what).lending_limit;
  return limit ? std::max<int64_t>(0, subtree_quota(member, what) - *limit) : 0;
}

// "Of a queue: what its workloads reserve. Of a cohort: what its children use beyond what they
// keep"
int64_t SlowTree::usage(const std::string& member, const FlavorResource& what) const {
  const Member& node = members_.at(member);
  if (node.is_queue) {
    const auto found = node.usage.find(what);
    return found == node.usage.end() ? 0 : found->second;
  }
  int64_t sum = 0;
  for (const std::string& child : node.children) {
    sum += std::max<int64_t>(0, usage(child, what) - kept(child, what));
  }
  return sum;
}

// "what is kept and unused, and what the parent has available, of that at most borrowingLimit
// beyond the own subtree quota". Where others took too much, what is kept is still there.
int64_t SlowTree::available(const std::string& member, const FlavorResource& what) const {
  const int64_t used = usage(member, what);
  const int64_t subtree = subtree_quota(member, what);
  if (parent(member).empty()) return subtree - used;
  const int64_t unused_at_home = std::max<int64_t>(0, kept(member, what) - used);
  int64_t of_parent = available(parent(member), what);
  if (const auto limit = quota(member, what).borrowing_limit) {
    of_parent = std::min(of_parent, subtree + *limit - used - unused_at_home);
  }
  if (of_parent < 0 && unused_at_home > 0) return unused_at_home;
  return unused_at_home + of_parent;
}

// "the same if nobody used anything"
int64_t SlowTree::maximum(const std::string& member, const FlavorResource& what) const {
  SlowTree unused = *this;
  for (auto& [name, node] : unused.members_) node.usage.clear();
  return unused.available(member, what);
}

// "usage is above the subtree quota"; there is nobody a root could borrow from.
bool SlowTree::borrows(const std::string& member, const FlavorResource& what) const {
  return !parent(member).empty() && usage(member, what) > subtree_quota(member, what);
}

bool SlowTree::exceeds(const std::string& member, const FlavorResource& what) const {
  const int64_t over = usage(member, what) - subtree_quota(member, what);
  if (parent(member).empty()) return over > 0;
  const auto limit = quota(member, what).borrowing_limit;
  return limit && over > *limit;
}

// "the largest, over resources, of what it borrows (over all flavors) divided by what its parent
// could lend of that resource at most, in thousandths, divided by fairSharing.weight"
double SlowTree::share(const std::string& member) const {
  if (parent(member).empty()) return 0;
  std::set<FlavorResource> all;
  for (const auto& [name, node] : members_) {
    for (const auto& [what, quota] : node.quotas) all.insert(what);
    for (const auto& [what, amount] : node.usage) all.insert(what);
  }
  std::map<std::string, std::pair<int64_t, int64_t>> resources;  // borrowed, lendable
  for (const FlavorResource& what : all) {
    auto& [borrowed, lendable] = resources[what.resource];
    borrowed += std::max<int64_t>(0, usage(member, what) - subtree_quota(member, what));
    lendable += maximum(parent(member), what);
  }
  double largest = 0;
  for (const auto& [resource, amounts] : resources) {
    const auto [borrowed, lendable] = amounts;
    if (borrowed == 0) continue;
    largest = std::max(largest, lendable == 0 ? std::numeric_limits<double>::infinity()
                                              : static_cast<double>(borrowed) * 1000 /
                                                    static_cast<double>(lendable));
  }
  if (largest == 0) return 0;
  const int64_t weight = members_.at(member).weight_milli;
  return weight == 0 ? std::numeric_limits<double>::infinity()
                     : largest * 1000 / static_cast<double>(weight);
}

}  // namespace phalanx::quota::testing
