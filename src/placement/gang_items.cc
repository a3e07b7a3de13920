#include "placement/gang_items.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace phalanx::placement {
namespace {

// The search recurses once for each group; a gang beyond this is a mistake.
constexpr size_t kMaxItems = 10'000;

class Resolver {
 public:
  Resolver(topology::Cluster& cluster,
           const std::vector<std::pair<std::string, TreeId>>& topologies)
      : cluster_(cluster), topologies_(topologies) {
    for (const auto& [name, tree] : topologies) result_.trees.push_back(tree);
  }

  Result<GangItems> run(const Gang& gang) {
    if (topologies_.empty()) return fail("no topology is given");
    auto root = add(gang.root, -1, 0, "", false);
    if (!root) return within(fmt::format("Gang {}", gang.name), root.error());
    order_children();
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
      return refuse(fmt::format("more than {} groups", kMaxItems));
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
        return refuse(fmt::format("topology: unknown topology \"{}\"", group.topology));
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
    int64_t pods = 0;
    for (const auto& [node, count] : item.running) pods += count;
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
        return fail(fmt::format("{}: {}: topology \"{}\" has no level \"{}\"", place, field,
                                topologies_[tree_index].first, *key));
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
    int32_t running = 0;
    for (const auto& [host, count] : pods.running) {
      const auto leaf = cluster_.find_leaf(result_.trees[tree_index], std::vector{host});
      if (count < 0) return refuse(fmt::format("pods.running[{}] is negative", host));
      if (leaf && tree(tree_index).by_host()) {
        item.running[tree(tree_index).leaf_node(*leaf)] += count;
        running += count;
      }
    }
    item.wanted = pods.count;
    item.full = std::max(0, pods.count - running);
    item.minimum = std::max(0, minimum - running);
    item.shape_tree = tree_index;
    int previous_level = -1;
    for (const api::SliceConstraint& layer : pods.slices) {
      const auto level = tree(tree_index).find_level(layer.topology);
      if (!level) return refuse(fmt::format("pods.slices: no level \"{}\"", layer.topology));
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
    CountedShape counted{shape.requests,
                         std::nullopt,
                         item.layers[0].first,
                         item.unit(),
                         std::vector<int32_t>(view.level_count(), 0),
                         false};
    for (size_t layer = 1; layer < item.layers.size(); ++layer) {
      for (int level = item.layers[layer - 1].first + 1; level <= item.layers[layer].first;
           ++level) {
        counted.inner_size[level] = item.layers[layer].second;
      }
    }
    auto filter = filter_of(shape, view);
    result_.sliced.push_back(
        {item.shape, item.shape_tree, item.layers,
         std::make_unique<DomainCounts>(view, std::move(counted), filter, filter)});
    return static_cast<int>(result_.sliced.size() - 1);
  }

  [[nodiscard]] std::shared_ptr<const NodeFilter> filter_of(const GangShape& shape,
                                                            const topology::DomainTree& view) {
    auto filter = std::make_shared<NodeFilter>(cluster_, view, shape.predicates.front(),
                                               std::nullopt, /*score_preferred=*/true);
    for (size_t index = 1; index < shape.predicates.size(); ++index) {
      filter->restrict_to(NodeFilter(cluster_, view, shape.predicates[index]));
    }
    return filter;
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
    for (size_t index = 0; index < result_.trees.size(); ++index) {
      const auto& view = tree(static_cast<int>(index));
      CountedShape counted{shape.requests,
                           std::nullopt,
                           view.lowest(),
                           1,
                           std::vector<int32_t>(view.level_count(), 0),
                           false};
      auto filter = filter_of(shape, view);
      shape.counts.push_back(
          std::make_unique<DomainCounts>(view, std::move(counted), filter, filter));
    }
    result_.shapes.push_back(std::move(shape));
    return static_cast<int>(result_.shapes.size() - 1);
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

Result<GangItems> resolve_gang(topology::Cluster& cluster,
                               const std::vector<std::pair<std::string, TreeId>>& topologies,
                               const Gang& gang) {
  return Resolver(cluster, topologies).run(gang);
}

}  // namespace phalanx::placement
