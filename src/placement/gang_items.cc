#include "placement/gang_items.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <ranges>
#include <set>
#include <tuple>

namespace phalanx::placement {
namespace {

// The search recurses once for each group and needs up to 1.3 KB of the stack for it: half of the
// usual 8 MB.
constexpr size_t kMaxItems = 3000;

class Resolver {
 public:
  Resolver(topology::Cluster& cluster,
           const std::vector<std::pair<std::string, TreeId>>& topologies)
      : cluster_(cluster), topologies_(topologies) {
    for (const auto& [name, tree] : topologies) result_.trees.push_back(tree);
  }

  Result<GangItems> run(const Gang& gang) {
    if (topologies_.empty()) return fail("no topology is given");
    ASSIGN_OR_RETURN(const int root, add(gang.root, -1, 0, "", false));
    CHECK(root == 0);
    RETURN_IF_ERROR(check_topologies());
    order_children();
    set_floor();
    result_.elastic = std::ranges::any_of(result_.items, [](const GangItem& item) {
      return item.minimum < item.full || item.pods_counted ||
             item.min_children < static_cast<int32_t>(item.children.size());
    });
    return std::move(result_);
  }

 private:
  const topology::DomainTree& tree(int index) { return cluster_.tree(result_.trees[index]); }

  Result<int> add(const GangGroup& group, int parent, int tree_above, const std::string& path,
                  bool pods_counted) {
    const std::string place = path.empty() ? "root" : "group " + path;
    const auto refuse = [&](const std::string& reason) {
      return fail(fmt::format("{}: {}", place, reason));
    };
    if (result_.items.size() >= kMaxItems) {
      return refuse(
          fmt::format("is one of more than {} groups; make several gangs of them", kMaxItems));
    }
    const int index = static_cast<int>(result_.items.size());
    result_.items.emplace_back();
    GangItem item;
    item.path = path;
    item.parent = parent;
    item.is_leaf = group.pods.has_value();
    if (item.is_leaf == !group.children.empty()) {
      return refuse("needs either pods or children, and not both");
    }
    int tree_index = tree_above;
    if (!group.topology.empty()) {
      const auto found = std::ranges::find(topologies_, group.topology,
                                           [](const auto& entry) { return entry.first; });
      if (found == topologies_.end()) {
        return refuse(fmt::format("topology: there is no topology \"{}\"; there are: {}",
                                  group.topology, fmt::join(std::views::keys(topologies_), ", ")));
      }
      tree_index = static_cast<int>(found - topologies_.begin());
    }
    RETURN_IF_ERROR(set_levels(group, tree_index, place, item));
    item.min_pods = group.min_pods.value_or(0);
    item.pods_counted = pods_counted || item.min_pods > 0;
    if (item.is_leaf) {
      RETURN_IF_ERROR(set_pods(*group.pods, tree_index, place, item));
    } else {
      item.min_children = group.min_children.value_or(static_cast<int32_t>(group.children.size()));
      if (item.min_children < 0 ||
          item.min_children > static_cast<int32_t>(group.children.size())) {
        return refuse(fmt::format("minChildren is {}, but there are {} children", item.min_children,
                                  group.children.size()));
      }
    }
    const bool counted = item.pods_counted;
    result_.items[index] = std::move(item);
    std::set<std::string> names;
    for (const GangGroup& child : group.children) {
      if (child.name.empty()) return refuse("a child without a name");
      if (child.name.find('/') != std::string::npos) {
        return refuse(fmt::format(
            "the name \"{}\" contains a /, which separates the names of a path", child.name));
      }
      if (!names.insert(child.name).second) {
        return refuse(fmt::format("two children are named \"{}\"", child.name));
      }
      const std::string child_path = path.empty() ? child.name : path + "/" + child.name;
      ASSIGN_OR_RETURN(const int child_index, add(child, index, tree_index, child_path, counted));
      result_.items[index].children.push_back(child_index);
    }
    return check_min_pods(index, place);
  }

  Result<int> check_min_pods(int index, const std::string& place) {
    const int64_t pods = pods_below(index);
    if (result_.items[index].min_pods > pods) {
      return fail(fmt::format("{}: minPods is {}, but there are {} pods", place,
                              result_.items[index].min_pods, pods));
    }
    // Pods that run count towards it.
    result_.items[index].min_pods -= running_below(index);
    return index;
  }

  int64_t running_below(int index) const {
    const GangItem& item = result_.items[index];
    int64_t pods = item.running_pods;
    for (const int child : item.children) pods += running_below(child);
    return pods;
  }

  int64_t pods_below(int index) const {
    const GangItem& item = result_.items[index];
    int64_t pods = item.wanted;
    for (const int child : item.children) pods += pods_below(child);
    return pods;
  }

  Result<void> set_levels(const GangGroup& group, int tree_index, const std::string& place,
                          GangItem& item) {
    const auto resolve = [&](const std::optional<std::string>& key, std::string_view field,
                             int& level) -> Result<void> {
      if (!key) return {};
      const auto found = tree(tree_index).find_level(*key);
      if (!found) {
        return fail(fmt::format("{}: {}: topology \"{}\" has no level \"{}\"; its levels are: {}",
                                place, field, topologies_[tree_index].first, *key,
                                fmt::join(tree(tree_index).spec().levels, ", ")));
      }
      level = *found;
      item.tree = tree_index;
      return {};
    };
    RETURN_IF_ERROR(resolve(group.required, "required", item.required));
    RETURN_IF_ERROR(resolve(group.preferred, "preferred", item.preferred));
    if (item.required >= 0 && item.preferred >= 0 && item.preferred < item.required) {
      return fail(fmt::format(
          "{}: preferred: level {} is above the required level {}; prefer a narrower one", place,
          *group.preferred, *group.required));
    }
    return {};
  }

  Result<void> set_pods(const GangPods& pods, int tree_index, const std::string& place,
                        GangItem& item) {
    const auto refuse = [&](const std::string& reason) {
      return fail(fmt::format("{}: {}", place, reason));
    };
    if (pods.count < 0) return refuse("pods.count is negative");
    const int32_t minimum = pods.minimum.value_or(pods.count);
    if (minimum < 0 || minimum > pods.count) {
      return refuse(fmt::format("pods.min is {}, but the count is {}", minimum, pods.count));
    }
    ASSIGN_OR_RETURN(item.running_pods, set_running(pods, tree_index, place, item));
    item.wanted = pods.count;
    item.full = std::max(0, pods.count - item.running_pods);
    item.minimum = std::max(0, minimum - item.running_pods);
    item.shape_tree = tree_index;
    int previous_level = -1;
    for (const api::SliceConstraint& layer : pods.slices) {
      const auto level = tree(tree_index).find_level(layer.topology);
      if (!level) {
        return refuse(
            fmt::format("pods.slices: topology \"{}\" has no level \"{}\"; its levels are: {}",
                        topologies_[tree_index].first, layer.topology,
                        fmt::join(tree(tree_index).spec().levels, ", ")));
      }
      if (*level <= previous_level) {
        return refuse(
            fmt::format("pods.slices: level {} must be below the one before it", layer.topology));
      }
      const int32_t whole = item.layers.empty() ? pods.count : item.layers.back().second;
      if (layer.size < 1 || whole % layer.size != 0) {
        return refuse(
            fmt::format("pods.slices: {} pods do not divide into slices of {}", whole, layer.size));
      }
      previous_level = *level;
      item.layers.emplace_back(*level, layer.size);
    }
    if (minimum % item.unit() != 0) {
      return refuse(
          fmt::format("pods.min: {} pods do not divide into slices of {}", minimum, item.unit()));
    }
    if (!item.layers.empty() && std::max(item.required, 0) > item.layers[0].first) {
      return refuse("required: is narrower than the slices' level");
    }
    item.shape = shape_of(pods);
    if (!item.layers.empty()) item.sliced = sliced_shape_of(item);
    return {};
  }

  Result<int32_t> set_running(const GangPods& pods, int tree_index, const std::string& place,
                              GangItem& item) {
    int64_t running = 0;
    for (const auto& [host, count] : pods.running) {
      const std::string field = fmt::format("{}: pods.running[{}]", place, host);
      if (count < 0) return fail(field + ": is negative");
      if (!tree(tree_index).by_host()) {
        return fail(
            fmt::format("{}: topology \"{}\" does not go down to {}, so that the domain of "
                        "a running pod is unknown",
                        field, topologies_[tree_index].first, api::kHostnameLabel));
      }
      const auto leaf = cluster_.find_leaf(result_.trees[tree_index], std::vector{host});
      if (!leaf) {
        result_.remarks.push_back(
            fmt::format("{}: no such node in topology \"{}\"; {} pod(s) there are taken for lost",
                        field, topologies_[tree_index].first, count));
        continue;
      }
      item.running[tree(tree_index).leaf_node(*leaf)] += count;
      running += count;
    }
    if (running > std::numeric_limits<int32_t>::max()) {
      return fail(
          fmt::format("{}: pods.running: {} pods are more than a count holds", place, running));
    }
    return static_cast<int32_t>(running);
  }

  int sliced_shape_of(const GangItem& item) {
    for (size_t index = 0; index < result_.sliced.size(); ++index) {
      const SlicedShape& known = result_.sliced[index];
      if (known.shape == item.shape && known.tree == item.shape_tree &&
          known.layers == item.layers) {
        return static_cast<int>(index);
      }
    }
    const auto& view = tree(item.shape_tree);
    const GangShape& shape = result_.shapes[item.shape];
    const auto filter = filter_of(cluster_, view, shape);
    result_.sliced.push_back(
        {item.shape, item.shape_tree, item.layers,
         std::make_unique<DomainCounts>(view, counted_shape(view, shape.requests, item.layers),
                                        filter, filter)});
    return static_cast<int>(result_.sliced.size() - 1);
  }

  int shape_of(const GangPods& pods) {
    GangShape shape{cluster_.make_request(pods.requests),
                    {{pods.node_selector, pods.tolerations, pods.affinity}},
                    {}};
    for (const NodePredicates& other : pods.also) {
      shape.predicates.push_back(other);
      shape.predicates.back().affinity.preferred.clear();  // their wishes are not this pod's
    }
    const auto& flavor = tree(0).spec().tolerations;
    for (NodePredicates& predicates : shape.predicates) {
      predicates.tolerations.insert(predicates.tolerations.end(), flavor.begin(), flavor.end());
    }
    for (size_t index = 0; index < result_.shapes.size(); ++index) {
      const GangShape& known = result_.shapes[index];
      if (known.requests == shape.requests && known.predicates == shape.predicates) {
        return static_cast<int>(index);
      }
    }
    add_counts(shape);
    result_.shapes.push_back(std::move(shape));
    return static_cast<int>(result_.shapes.size() - 1);
  }

  void add_counts(GangShape& shape) {
    for (const TreeId id : result_.trees) {
      const topology::DomainTree& view = cluster_.tree(id);
      const auto filter = filter_of(cluster_, view, shape);
      shape.counts.push_back(std::make_unique<DomainCounts>(
          view, counted_shape(view, shape.requests, {}), filter, filter));
    }
  }

  void set_floor() {
    if (result_.shapes.size() < 2) return;
    GangShape floor{result_.shapes.front().requests, {NodePredicates{}}, {}};
    for (topology::Request& least : floor.requests) {
      for (const GangShape& shape : result_.shapes) {
        const auto same =
            std::ranges::find(shape.requests, least.resource, &topology::Request::resource);
        least.amount = std::min(
            least.amount, same == shape.requests.end() ? 0 : std::max<int64_t>(same->amount, 0));
      }
    }
    add_counts(floor);
    result_.floor = std::move(floor);
  }

  // Nodes are what several topologies have in common.
  Result<void> check_topologies() {
    std::set<int> used;
    for (const GangItem& item : result_.items) {
      if (item.tree >= 0) used.insert(item.tree);
      if (item.is_leaf) used.insert(item.shape_tree);
    }
    for (const int index : used) {
      if (used.size() > 1 && !tree(index).by_host()) {
        return fail(fmt::format(
            "topology \"{}\" is used together with others, but its lowest level is not {}; add "
            "that level, or use one topology",
            topologies_[index].first, api::kHostnameLabel));
      }
    }
    return {};
  }

  // The narrowest level that this group or one below it requires.
  int narrowest_required(int index) const {
    const GangItem& item = result_.items[index];
    int level = item.required;
    for (const auto& layer : item.layers) level = std::max(level, layer.first);
    for (const int child : item.children) level = std::max(level, narrowest_required(child));
    return level;
  }

  // The hardest to place goes first: narrow before wide, many pods before few. Those who want
  // nothing special take what is left.
  void order_children() {
    std::vector<int> level(result_.items.size());
    std::vector<int64_t> pods(result_.items.size());
    for (size_t index = 0; index < result_.items.size(); ++index) {
      level[index] = narrowest_required(static_cast<int>(index));
      pods[index] = pods_below(static_cast<int>(index));
    }
    for (GangItem& item : result_.items) {
      std::ranges::sort(item.children, {},
                        [&](int child) { return std::tuple(-level[child], -pods[child], child); });
    }
  }

  topology::Cluster& cluster_;
  const std::vector<std::pair<std::string, TreeId>>& topologies_;
  GangItems result_;
};

}  // namespace

std::shared_ptr<const NodeFilter> filter_of(const topology::Cluster& cluster,
                                            const topology::DomainTree& tree,
                                            const GangShape& shape,
                                            std::optional<topology::DomainRange> confinement) {
  auto filter = std::make_shared<NodeFilter>(cluster, tree, shape.predicates.front(), confinement,
                                             /*score_preferred=*/true);
  for (size_t index = 1; index < shape.predicates.size(); ++index) {
    filter->restrict_to(NodeFilter(cluster, tree, shape.predicates[index]));
  }
  return filter;
}

std::vector<int32_t> inner_sizes(const topology::DomainTree& tree, const SliceLayers& layers) {
  std::vector<int32_t> sizes(tree.level_count(), 0);
  for (size_t layer = 1; layer < layers.size(); ++layer) {
    for (int level = layers[layer - 1].first + 1; level <= layers[layer].first; ++level) {
      sizes[level] = layers[layer].second;
    }
  }
  return sizes;
}

CountedShape counted_shape(const topology::DomainTree& tree, topology::RequestVector requests,
                           const SliceLayers& layers) {
  CountedShape counted{std::move(requests),       std::nullopt, tree.lowest(), 1,
                       inner_sizes(tree, layers), false};
  if (layers.empty()) return counted;
  counted.slice_level = layers[0].first;
  counted.slice_size = layers[0].second;
  return counted;
}

Result<GangItems> resolve_gang(topology::Cluster& cluster,
                               const std::vector<std::pair<std::string, TreeId>>& topologies,
                               const Gang& gang) {
  return Resolver(cluster, topologies).run(gang);
}

}  // namespace phalanx::placement
