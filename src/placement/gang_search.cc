#include "placement/gang_search.h"

#include <algorithm>
#include <tuple>

#include "base/saturating.h"

namespace phalanx::placement {
namespace {

using topology::DomainRange;

bool contains(DomainRange outer, DomainRange inner) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

}  // namespace

GangSearch::GangSearch(topology::Cluster& cluster, GangItems& gang, int64_t budget)
    : cluster_(cluster), gang_(gang) {
  add_budget(budget);
  const size_t count = gang.items.size();
  has_running_.assign(count, false);
  needs_full_.resize(count);
  needs_min_.resize(count);
  for (size_t index = count; index-- > 0;) {  // children stand behind their parents
    const GangItem& item = gang.items[index];
    if (item.is_leaf) {
      needs_full_[index][item.shape] += item.full;
      needs_min_[index][item.shape] += item.minimum;
      if (!item.running.empty()) has_running_[index] = true;
    }
    if (item.parent < 0) continue;
    has_running_[item.parent] = has_running_[item.parent] || has_running_[index];
    for (const auto& [shape, pods] : needs_full_[index]) needs_full_[item.parent][shape] += pods;
    // A child that may be left out is no certain need.
    const GangItem& parent = gang.items[item.parent];
    if (parent.min_children < static_cast<int32_t>(parent.children.size())) continue;
    for (const auto& [shape, pods] : needs_min_[index]) needs_min_[item.parent][shape] += pods;
  }

  std::set<int> trees;
  one_shape_ = gang.shapes.size() <= 1;
  for (const GangItem& item : gang.items) {
    if (item.tree >= 0) trees.insert(item.tree);
    if (item.is_leaf) trees.insert(item.shape_tree);
    cell_level_ = std::max(cell_level_, item.required);
    for (const auto& layer : item.layers) cell_level_ = std::max(cell_level_, layer.first);
  }
  if (trees.size() <= 1) {
    symmetric_tree_ = trees.empty() ? 0 : *trees.begin();
    symmetry_ = std::make_unique<GangSymmetry>(tree(symmetric_tree_), gang, symmetric_tree_);
  }
  if (!one_shape_ || symmetric_tree_ < 0) cell_level_ = -1;
}

GangRegion GangSearch::everywhere() const {
  GangRegion region;
  for (const TreeId id : gang_.trees) region.push_back({0, cluster_.tree(id).leaf_count()});
  return region;
}

DomainCounts& GangSearch::counts(GangShape& shape, int tree_index) {
  DomainCounts& result = *shape.counts[tree_index];
  result.refresh();
  return result;
}

DomainCounts& GangSearch::leaf_counts(const GangItem& item) {
  if (item.sliced < 0) return counts(item.shape, item.shape_tree);
  DomainCounts& result = *gang_.sliced[item.sliced].counts;
  result.refresh();
  return result;
}

bool GangSearch::spend() {
  ++steps_;
  return !out_of_budget();
}

std::optional<GangSolution> GangSearch::solve(Target target) {
  obstacle_ = {};
  obstacle_depth_ = -1;
  auto solution = solve_part(0, everywhere(), target);
  // A search that met no obstacle of its own: the gang as a whole is one.
  if (!solution && obstacle_depth_ < 0) note_obstacle(0, need(0, -1), everywhere());
  return solution;
}

std::optional<GangSolution> GangSearch::solve_part(int item, const GangRegion& region,
                                                   Target target) {
  target_ = target;
  const size_t count = gang_.items.size();
  chosen_.assign(count, std::nullopt);
  pods_.assign(count, {});
  left_out_.assign(count, 0);
  pod_count_.assign(count, 0);
  depth_ = 0;
  failed_.clear();
  solution_.reset();
  const Task task{item, false, &region, nullptr};
  step(&task);
  return std::move(solution_);
}

bool GangSearch::step(const Task* task) {
  if (task == nullptr) {
    solution_ = GangSolution{chosen_, pods_};
    return true;
  }
  if (task->close) {
    const int64_t minimum = gang_.items[task->item].min_pods;
    if (pod_count_[task->item] >= minimum) return step(task->next);
    note_obstacle(task->item, minimum, *task->region);
    return false;
  }
  if (!spend()) return false;
  StateKey key;
  if (symmetry_) {
    key = state_key(*task);
    if (failed_.contains(key)) return false;
  }
  if (place(*task)) return true;
  if (symmetry_ && !out_of_budget()) failed_.insert(std::move(key));
  return false;
}

bool GangSearch::place(const Task& task) {
  const GangItem& item = gang_.items[task.item];
  if (alike_fit(item, *task.region)) {
    std::set<StateKey> tried;
    for (GangChoice& choice : choices(item, *task.region)) {
      if (symmetry_ && choice.level >= 0) {
        look(symmetry_->refresh());
        StateKey alike{choice.level};
        for (int level = choice.level; level >= 0; --level) {
          const uint32_t above = tree(item.tree).ancestor(choice.level, choice.domain, level);
          alike.push_back(symmetry_->domain_class(level, above));
        }
        if (!tried.insert(std::move(alike)).second) continue;
      }
      if (!spend()) return false;
      if (try_choice(task, std::move(choice))) return true;
    }
  }
  return leave_out(task);
}

bool GangSearch::try_choice(const Task& task, GangChoice choice) {
  chosen_[task.item] = std::move(choice);
  const GangRegion region = chosen_[task.item]->region;
  const bool done =
      gang_.items[task.item].is_leaf ? distribute(task, region) : open_children(task, region);
  if (!done) chosen_[task.item].reset();
  return done;
}

bool GangSearch::open_children(const Task& task, const GangRegion& region) {
  const GangItem& item = gang_.items[task.item];
  std::vector<Task> tasks(item.children.size() + 1);
  for (size_t index = 0; index < item.children.size(); ++index) {
    tasks[index] = {item.children[index], false, &region, &tasks[index + 1]};
  }
  tasks.back() = {task.item, true, &region, task.next};
  pod_count_[task.item] = 0;
  left_out_[task.item] = 0;
  return step(tasks.data());
}

// In a minimum, a group may do without some of its children.
bool GangSearch::leave_out(const Task& task) {
  if (target_ == Target::kFull || out_of_budget()) return false;
  const int parent = gang_.items[task.item].parent;
  if (parent < 0 || !chosen_[parent]) return false;
  const auto children = static_cast<int32_t>(gang_.items[parent].children.size());
  if (children - left_out_[parent] <= gang_.items[parent].min_children) return false;
  ++left_out_[parent];
  const bool done = step(task.next);
  if (!done) --left_out_[parent];
  return done;
}

// ---- Domains

std::vector<GangChoice> GangSearch::choices(const GangItem& item, const GangRegion& region) {
  std::vector<GangChoice> found;
  const int index = static_cast<int>(&item - gang_.items.data());
  if (item.tree < 0) {
    if (has_room(index, region)) found.push_back({-1, 0, region});
  } else {
    const topology::DomainTree& view = tree(item.tree);
    const int narrowest = item.preferred >= 0 ? item.preferred : item.required;
    const int widest = item.required >= 0 ? item.required : 0;
    const auto here = as_domain(item.tree, region[item.tree]);
    const int start = here ? here->first : -1;
    for (int level = narrowest; level >= widest; --level) {
      if (start >= level) {
        // The region lies within one domain of the level: nothing to choose.
        const uint32_t domain = view.ancestor(start, here->second, level);
        if (has_room(index, region)) found.push_back({level, domain, region});
        break;
      }
      collect(item, region, start, here ? here->second : 0, level, found);
    }
    const bool may_spread = item.required < 0 && start < 0;
    if (may_spread && has_room(index, region)) found.push_back({-1, 0, region});
    if (has_running_[index]) prefer_running(item, found);
  }
  if (found.empty()) note_obstacle(index, need(index, -1), region);
  return found;
}

// Domains of `target_level` below a domain that have room, those with the nodes that the pods
// prefer first, then the fullest subtree at every level: what is used already is used up before
// something larger is broken into.
void GangSearch::collect(const GangItem& item, const GangRegion& region, int level, uint32_t domain,
                         int target_level, std::vector<GangChoice>& found) {
  const int index = static_cast<int>(&item - gang_.items.data());
  const topology::DomainTree& view = tree(item.tree);
  const auto& needs = target_ == Target::kFull ? needs_full_[index] : needs_min_[index];
  // The shape that needs the most pods stands for the group when domains are compared.
  int shape = gang_.items[index].is_leaf ? item.shape : 0;
  int64_t most = -1;
  for (const auto& [candidate, pods] : needs) {
    if (pods > most) {
      shape = candidate;
      most = pods;
    }
  }
  const DomainCounts& fits = counts(shape, item.tree);
  std::vector<std::tuple<int64_t, int64_t, int32_t, uint32_t>> order;
  const DomainRange below = view.children(level, domain);
  look(below.size());
  GangRegion inner = region;
  for (uint32_t child = below.begin; child < below.end; ++child) {
    inner[item.tree] = view.leaves(level + 1, child);
    if (!contains(region[item.tree], inner[item.tree])) continue;
    if (!has_room(index, inner)) continue;
    // A minimum is only the beginning: where more of the whole fits comes first.
    const int32_t pods = fits.pods(level + 1, child);
    const auto whole = needs_full_[index].find(shape);
    const int64_t useful =
        whole == needs_full_[index].end() ? 0 : std::min<int64_t>(pods, whole->second);
    order.emplace_back(-useful, -fits.numbers(level + 1, child).score, pods, child);
  }
  std::ranges::sort(order);
  for (const auto& [useful, score, pods, child] : order) {
    if (level + 1 < target_level) {
      collect(item, region, level + 1, child, target_level, found);
    } else {
      GangChoice choice{target_level, child, region};
      choice.region[item.tree] = view.leaves(target_level, child);
      found.push_back(std::move(choice));
    }
  }
}

// Pods that run bind the group: a required level stays where they are, otherwise their domain is
// tried first. If they are in several domains already, the one with the most comes first.
void GangSearch::prefer_running(const GangItem& item, std::vector<GangChoice>& found) {
  std::vector<std::tuple<int64_t, int64_t, size_t>> order;
  for (size_t index = 0; index < found.size(); ++index) {
    const GangChoice& choice = found[index];
    const int64_t near = choice.level < 0 ? 0 : running_in(item, choice, choice.level);
    const int64_t bound =
        choice.level < 0 || item.required < 0 ? 0 : running_in(item, choice, item.required);
    order.emplace_back(-bound, -near, index);
  }
  std::ranges::sort(order);
  // Pods whose nodes the topology no longer knows bind nobody.
  const bool bound =
      item.required >= 0 && running_among(item, {0, tree(item.tree).leaf_count()}) > 0;
  std::vector<GangChoice> sorted;
  for (const auto& [in_required, near, index] : order) {
    if (!bound || in_required < 0) sorted.push_back(std::move(found[index]));
  }
  found = std::move(sorted);
}

// Running pods of the group in the domain of `level` that the choice lies in.
int64_t GangSearch::running_in(const GangItem& item, const GangChoice& choice, int level) {
  const topology::DomainTree& view = tree(item.tree);
  return running_among(item, view.leaves(level, view.ancestor(choice.level, choice.domain, level)));
}

int64_t GangSearch::running_among(const GangItem& item, DomainRange range) {
  const topology::DomainTree& view = tree(item.tree);
  int64_t pods = 0;
  std::vector<int> open{static_cast<int>(&item - gang_.items.data())};
  while (!open.empty()) {
    const GangItem& part = gang_.items[open.back()];
    open.pop_back();
    open.insert(open.end(), part.children.begin(), part.children.end());
    for (const auto& [node, count] : part.running) {
      const auto leaf = view.leaf_of(node);
      if (leaf && *leaf >= range.begin && *leaf < range.end) pods += count;
    }
  }
  return pods;
}

int64_t GangSearch::need(int item, int shape) const {
  const auto& needs = target_ == Target::kFull ? needs_full_[item] : needs_min_[item];
  int64_t pods = 0;
  for (const auto& [candidate, count] : needs) {
    if (shape < 0 || candidate == shape) pods += count;
  }
  return pods;
}

// The topology that narrows a region, or the gang's own if none does; nullopt if several do.
std::optional<int> GangSearch::narrowing_tree(const GangRegion& region) {
  int narrow = -1;
  for (size_t index = 0; index < region.size(); ++index) {
    if (region[index].size() == tree(static_cast<int>(index)).leaf_count()) continue;
    if (narrow >= 0) return std::nullopt;
    narrow = static_cast<int>(index);
  }
  return narrow >= 0 ? narrow : std::max(symmetric_tree_, 0);
}

int64_t GangSearch::pods_in(GangShape& shape, const GangRegion& region) {
  int64_t pods = 0;
  if (const auto narrow = narrowing_tree(region)) {
    const DomainCounts& fits = counts(shape, *narrow);
    if (const auto domain = as_domain(*narrow, region[*narrow])) {
      return fits.pods(domain->first, domain->second);
    }
    look(tree(*narrow).size(0));
    for (uint32_t domain = 0; domain < tree(*narrow).size(0); ++domain) {
      pods += fits.pods(0, domain);
    }
    return pods;
  }
  // Only nodes in all parts count.
  const DomainCounts& fits = counts(shape, 0);
  look(region[0].size());
  for (uint32_t leaf = region[0].begin; leaf < region[0].end; ++leaf) {
    if (in_all_parts(0, leaf, region)) pods += fits.pods(tree(0).lowest(), leaf);
  }
  return pods;
}

// Necessary conditions, cheap: every shape by itself finds enough room, all pods would if they were
// as small as the smallest, and together they do not ask for more of a resource than is free.
bool GangSearch::has_room(int item, const GangRegion& region) {
  const auto& needs = target_ == Target::kFull ? needs_full_[item] : needs_min_[item];
  for (const auto& [shape, pods] : needs) {
    if (pods > 0 && pods_in(gang_.shapes[shape], region) < pods) return false;
  }
  if (needs.size() < 2) return true;
  if (gang_.floor && pods_in(*gang_.floor, region) < need(item, -1)) return false;
  std::map<ResourceId, int64_t> wanted;
  for (const auto& [shape, pods] : needs) {
    for (const topology::Request& request : gang_.shapes[shape].requests) {
      int64_t& sum = wanted[request.resource];
      sum = saturating_add(sum, saturating_multiply(request.amount, pods));
    }
  }
  const int narrow = narrowing_tree(region).value_or(0);
  for (const auto& [resource, amount] : wanted) {
    const auto free = tree(narrow).free(resource);
    look(region[narrow].size() / 8);
    int64_t found = 0;
    for (uint32_t leaf = region[narrow].begin; leaf < region[narrow].end && found < amount;
         ++leaf) {
      found = saturating_add(found, free.empty() ? 0 : std::max<int64_t>(free[leaf], 0));
    }
    if (found < amount) return false;
  }
  return true;
}

// Another necessary condition: if several siblings alike must each have a domain of their level,
// the domains must hold that many of them.
bool GangSearch::alike_fit(const GangItem& item, const GangRegion& region) {
  if (!item.is_leaf || item.required < 0 || item.parent < 0 || !item.running.empty()) return true;
  const int32_t pods = target_ == Target::kFull ? item.full : item.minimum;
  if (pods == 0) return true;
  const GangItem& parent = gang_.items[item.parent];
  const int index = static_cast<int>(&item - gang_.items.data());
  int64_t alike = 0;
  bool later = false;
  for (const int child : parent.children) {
    later |= child == index;
    const GangItem& sibling = gang_.items[child];
    const int32_t sibling_pods = target_ == Target::kFull ? sibling.full : sibling.minimum;
    alike += later && sibling.is_leaf && sibling.shape == item.shape && sibling_pods == pods &&
             sibling.tree == item.tree && sibling.required == item.required &&
             sibling.running.empty();
  }
  if (target_ == Target::kMinimum) {
    alike -=
        static_cast<int64_t>(parent.children.size()) - parent.min_children - left_out_[item.parent];
  }
  const topology::DomainTree& view = tree(item.tree);
  const DomainCounts& fits = counts(item.shape, item.tree);
  const DomainRange range = region[item.tree];
  if (alike <= 1 || range.size() == 0) return true;
  const int64_t all_alike = alike;
  const uint32_t first = view.ancestor(view.lowest(), range.begin, item.required);
  const uint32_t last = view.ancestor(view.lowest(), range.end - 1, item.required);
  for (uint32_t domain = first; domain <= last; ++domain) {
    alike -= fits.pods(item.required, domain) / pods;
  }
  look(last - first + 1);
  if (alike > 0) note_obstacle(index, pods, region, all_alike);
  return alike <= 0;
}

std::optional<std::pair<int, uint32_t>> GangSearch::as_domain(int tree_index, DomainRange range) {
  const topology::DomainTree& view = tree(tree_index);
  if (range.size() == view.leaf_count() || range.size() == 0) return std::nullopt;
  // The widest domain with exactly these leaves: the choice was made at that level or above.
  uint32_t domain = range.begin;
  std::optional<std::pair<int, uint32_t>> found;
  for (int level = view.lowest(); level >= 0; --level) {
    const DomainRange leaves = view.leaves(level, domain);
    if (leaves.begin == range.begin && leaves.end == range.end) found = {level, domain};
    if (leaves.size() > range.size()) break;
    if (level > 0) domain = view.parent(level, domain);
  }
  return found;
}

void GangSearch::note_obstacle(int item, int64_t wanted, const GangRegion& region, int64_t alike) {
  if (depth_ <= obstacle_depth_) return;
  obstacle_depth_ = depth_;
  obstacle_ = {item, wanted, alike, region, {}};
  for (size_t index = 0; index < pods_.size(); ++index) {
    if (!pods_[index].empty()) obstacle_.placed.emplace_back(index, pods_[index]);
  }
}

// What decides whether the rest of the agenda can be placed, up to symmetry.
GangSearch::StateKey GangSearch::state_key(const Task& task) {
  look(symmetry_->refresh());
  StateKey key{task.item, symmetry_->root_class()};
  const DomainRange range = (*task.region)[symmetric_tree_];
  if (const auto domain = as_domain(symmetric_tree_, range)) {
    const topology::DomainTree& view = tree(symmetric_tree_);
    for (int level = domain->first; level >= 0; --level) {
      key.push_back(
          symmetry_->domain_class(level, view.ancestor(domain->first, domain->second, level)));
    }
  }
  for (int group = gang_.items[task.item].parent; group >= 0; group = gang_.items[group].parent) {
    key.push_back(-1);
    key.push_back(left_out_[group]);
    key.push_back(std::min(pod_count_[group], gang_.items[group].min_pods));
    const DomainRange chosen =
        chosen_[group] ? chosen_[group]->region[symmetric_tree_] : DomainRange{};
    const auto domain = as_domain(symmetric_tree_, chosen);
    key.push_back(domain ? domain->first : -1);
  }
  return key;
}

}  // namespace phalanx::placement
