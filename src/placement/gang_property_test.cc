// Gang search against brute force on tiny clusters: never a constraint violated, never more than a
// node has, whole or not at all, and "no" only when there is no placement.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>

#include "placement/gang.h"

namespace phalanx::placement {
namespace {

constexpr const char* kHost = "kubernetes.io/hostname";

struct TinyNode {
  std::string name;
  std::map<std::string, std::string> labels;
  int64_t gpu = 0;
  int64_t cpu = 0;
};

// Pods on nodes: pod set path -> node index -> count.
using Pods = std::map<std::string, std::map<size_t, int>>;

struct Leaf {
  std::string path;
  const GangPods* pods;
};

class TinyGang {
 public:
  // `sliced`: every pod set comes in slices, and some of its pods run already.
  explicit TinyGang(uint64_t seed, bool sliced = false) : random_(seed), sliced_(sliced) {
    two_topologies_ = !sliced && pick(4) == 0;
    const size_t count = 2 + pick(4);
    for (size_t index = 0; index < count; ++index) {
      TinyNode node;
      node.name = "n" + std::to_string(index);
      node.labels = {{"block", "b" + std::to_string(pick(2))},
                     {"rack", "r" + std::to_string(pick(2))},
                     {"zone", "z" + std::to_string(pick(2))},
                     {kHost, node.name}};
      node.gpu = static_cast<int64_t>(pick(4));
      node.cpu = static_cast<int64_t>(pick(4));
      nodes_.push_back(node);
    }
    pods_left_ = 2 + static_cast<int>(pick(4));
    gang_.name = "tiny";
    gang_.root = group("", 0);
    collect(gang_.root, "");
    add_running();
    running_ = running();
    // The resolved leaves point into the tree, which does not move from here on.
  }

  void check() {
    const auto result = place(nodes_);
    ASSERT_TRUE(result) << result.error().message;
    check_order(*result);

    const bool exists = brute_force();
    ASSERT_EQ(result->placed, exists) << describe() << result->failure;
    if (!result->placed) {
      EXPECT_TRUE(result->proven);
      EXPECT_NE(result->explanation, nullptr) << describe();
      return;
    }
    Pods pods = running();
    for (const GangLeafResult& leaf : result->leaves) {
      int placed = 0;
      for (const auto& domain : leaf.assignment.domains) {
        const auto node = std::ranges::find(nodes_, domain.values[0], &TinyNode::name);
        pods[leaf.path][static_cast<size_t>(node - nodes_.begin())] += domain.count;
        placed += domain.count;
      }
      EXPECT_EQ(placed, leaf.placed);
    }
    EXPECT_TRUE(capacity_kept(pods)) << describe();
    EXPECT_TRUE(satisfied(gang_.root, "", pods)) << describe();
  }

 private:
  Result<GangResult> place(const std::vector<TinyNode>& nodes) const {
    topology::Cluster cluster;
    for (const TinyNode& node : nodes) {
      api::Node object{
          node.name, node.labels, {{"gpu", node.gpu}, {"cpu", node.cpu * 1000}, {"pods", 10}},
          {},        false,       true};
      RETURN_IF_ERROR(cluster.put_node(object));
    }
    // Running pods hold their capacity through the cluster's account.
    for (const Leaf& leaf : leaves_) {
      for (const auto& [host, count] : leaf.pods->running) {
        for (int pod = 0; pod < count; ++pod) {
          cluster.put_pod(leaf.path + host + std::to_string(pod), host, leaf.pods->requests);
        }
      }
    }
    std::vector<std::pair<std::string, TreeId>> topologies;
    topologies.emplace_back("default",
                            cluster.add_tree({"default", {"block", "rack", kHost}, {}, {}}));
    if (two_topologies_) {
      topologies.emplace_back("zones", cluster.add_tree({"zones", {"zone", kHost}, {}, {}}));
    }
    return place_gang(cluster, topologies, gang_, {});
  }

  // The order in which nodes become known carries no meaning.
  void check_order(const GangResult& result) const {
    std::vector<TinyNode> shuffled = nodes_;
    std::mt19937_64 order(nodes_.size() * 7 + leaves_.size());
    std::ranges::shuffle(shuffled, order);
    const auto again = place(shuffled);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->placed, result.placed) << describe();
    EXPECT_EQ(again->failure, result.failure) << describe();
    EXPECT_EQ(again->steps, result.steps) << describe();
    ASSERT_EQ(again->leaves.size(), result.leaves.size());
    for (size_t leaf = 0; leaf < result.leaves.size(); ++leaf) {
      EXPECT_EQ(again->leaves[leaf].assignment, result.leaves[leaf].assignment) << describe();
    }
  }

  size_t pick(size_t bound) { return random_() % bound; }

  GangGroup group(const std::string& name, int depth) {
    GangGroup result;
    result.name = name;
    if (two_topologies_ && pick(3) == 0) {
      result.topology = "zones";
      if (pick(2) == 0) result.required = "zone";
    } else {
      result.topology = "default";
      if (pick(2) == 0) result.required = pick(2) == 0 ? "block" : "rack";
      if (!result.required && pick(3) == 0) result.preferred = pick(2) == 0 ? "block" : "rack";
    }
    const size_t most = sliced_ ? 2 - depth : 3 - depth;  // what brute force can cope with
    const size_t children = depth < 2 ? pick(most + 1) : 0;
    if (children == 0) {
      result.pods = pods(result);
      return result;
    }
    for (size_t child = 0; child < children; ++child) {
      result.children.push_back(group(std::string(1, static_cast<char>('a' + child)), depth + 1));
    }
    if (pick(3) == 0) result.min_children = static_cast<int32_t>(pick(children + 1));
    if (pick(4) == 0) result.min_pods = 1;
    return result;
  }

  GangPods pods(const GangGroup& group) {
    GangPods result;
    if (sliced_) {
      result.count = pick(3) == 0 && pods_left_ >= 4 ? 4 : 2;
      pods_left_ -= result.count;
      if (pick(3) == 0) result.minimum = 2 * static_cast<int32_t>(pick(result.count / 2 + 1));
      result.requests["gpu"] = static_cast<int64_t>(pick(3));
      const bool layered = result.count == 4 && result.minimum.value_or(4) % 4 == 0 && pick(2) == 0;
      if (layered) result.slices.push_back({"rack", 4});
      const bool by_rack = !layered && group.required.value_or("") != kHost && pick(2) == 0;
      result.slices.push_back({by_rack ? "rack" : kHost, 2});
      return result;
    }
    result.count = 1 + static_cast<int>(pick(3));
    result.count = std::min(result.count, std::max(1, pods_left_));
    pods_left_ -= result.count;
    if (pick(3) == 0) result.minimum = static_cast<int32_t>(pick(result.count + 1));
    result.requests["gpu"] = static_cast<int64_t>(pick(3));
    if (pick(2) == 0) result.requests["cpu"] = 1000 * static_cast<int64_t>(pick(3));
    if (pick(5) == 0) result.node_selector["zone"] = "z0";
    if (result.count == 2 && !result.minimum && group.topology == "default" && pick(2) == 0) {
      result.slices.push_back({pick(2) == 0 ? "rack" : kHost, 2});
      if (group.required == "rack" && pick(2) == 0) result.slices[0].topology = kHost;
    }
    return result;
  }

  void collect(GangGroup& group, const std::string& path) {
    if (group.pods) leaves_.push_back({path, &*group.pods});
    for (GangGroup& child : group.children) {
      collect(child, path.empty() ? child.name : path + "/" + child.name);
    }
  }

  // Sometimes one pod of one pod set runs already, where it fits; of sliced ones, mostly several.
  void add_running() {
    if (!sliced_) {
      if (pick(4) == 0) add_running_pod();
      return;
    }
    for (size_t more = pick(4); more > 0; --more) add_running_pod();
  }

  void add_running_pod() {
    const Leaf& leaf = leaves_[pick(leaves_.size())];
    auto& pods = const_cast<GangPods&>(*leaf.pods);
    if (!sliced_ && !pods.slices.empty()) return;
    const size_t node = pick(nodes_.size());
    Pods now = running();
    ++now[leaf.path][node];
    if (capacity_kept(now) && count(now, leaf.path) <= pods.count &&
        all_together(gang_.root, "", now)) {
      ++pods.running[nodes_[node].name];
    }
  }

  Pods running() const {
    Pods result;
    for (const Leaf& leaf : leaves_) {
      for (const auto& [host, count] : leaf.pods->running) {
        const auto node = std::ranges::find(nodes_, host, &TinyNode::name);
        result[leaf.path][static_cast<size_t>(node - nodes_.begin())] += count;
      }
    }
    return result;
  }

  bool capacity_kept(const Pods& pods) const {
    for (size_t index = 0; index < nodes_.size(); ++index) {
      int64_t gpu = 0;
      int64_t cpu = 0;
      int64_t count = 0;
      for (const Leaf& leaf : leaves_) {
        const auto found = pods.find(leaf.path);
        if (found == pods.end() || !found->second.contains(index)) continue;
        const int here = found->second.at(index);
        const auto amount = [&](const char* resource) {
          const auto request = leaf.pods->requests.find(resource);
          return request == leaf.pods->requests.end() ? 0 : request->second * here;
        };
        gpu += amount("gpu");
        cpu += amount("cpu");
        count += here;
        if (here > 0 && leaf.pods->node_selector.contains("zone") &&
            nodes_[index].labels.at("zone") != "z0" &&
            !leaf.pods->running.contains(nodes_[index].name)) {
          return false;
        }
      }
      if (gpu > nodes_[index].gpu || cpu > nodes_[index].cpu * 1000 || count > 10) return false;
    }
    return true;
  }

  std::string domain(size_t node, const std::string& level) const {
    const auto& labels = nodes_[node].labels;
    if (level == "rack") return labels.at("block") + "/" + labels.at("rack");
    return labels.at(level);
  }

  static bool under(const std::string& path, const std::string& group) {
    return group.empty() || path == group || path.starts_with(group + "/");
  }

  int count(const Pods& pods, const std::string& group) const {
    int total = 0;
    for (const auto& [path, nodes] : pods) {
      if (!under(path, group)) continue;
      for (const auto& [node, here] : nodes) total += here;
    }
    return total;
  }

  // Whether the pods of a group are in one domain of the level it requires.
  bool together(const GangGroup& group, const std::string& path, const Pods& pods) const {
    if (!group.required) return true;
    std::set<std::string> domains;
    for (const auto& [pod_set, nodes] : pods) {
      if (!under(pod_set, path)) continue;
      for (const auto& [node, here] : nodes) {
        if (here > 0) domains.insert(domain(node, *group.required));
      }
    }
    return domains.size() <= 1;
  }

  bool all_together(const GangGroup& group, const std::string& path, const Pods& pods) const {
    return together(group, path, pods) &&
           std::ranges::all_of(group.children, [&](const GangGroup& child) {
             return all_together(child, path.empty() ? child.name : path + "/" + child.name, pods);
           });
  }

  bool satisfied(const GangGroup& group, const std::string& path, const Pods& pods) const {
    if (!together(group, path, pods)) return false;
    if (group.pods) {
      const bool unchanged = count(pods, path) == count(running_, path);
      for (const auto& layer : group.pods->slices) {
        if (unchanged) break;  // what runs already may stay as it is
        std::map<std::string, int> sums;
        const auto found = pods.find(path);
        if (found == pods.end()) continue;
        for (const auto& [node, here] : found->second) sums[domain(node, layer.topology)] += here;
        for (const auto& [where, sum] : sums) {
          if (sum % layer.size != 0) return false;
        }
      }
      const int have = count(pods, path);
      return have >= group.pods->minimum.value_or(group.pods->count) && have <= group.pods->count;
    }
    if (count(pods, path) < group.min_pods.value_or(0)) return false;
    int placed = 0;
    for (const GangGroup& child : group.children) {
      const std::string child_path = path.empty() ? child.name : path + "/" + child.name;
      if (satisfied(child, child_path, pods)) {
        ++placed;
      } else if (count(pods, child_path) > count(running_, child_path)) {
        return false;  // a child left out has no new pods
      }
    }
    return placed >= group.min_children.value_or(static_cast<int32_t>(group.children.size()));
  }

  // Tries every number of pods of every pod set on every node.
  bool brute_force() {
    Pods pods = running();
    std::function<bool(size_t, size_t, int)> place = [&](size_t leaf, size_t node, int left) {
      if (leaf == leaves_.size()) {
        return capacity_kept(pods) && satisfied(gang_.root, "", pods);
      }
      if (node == nodes_.size()) {
        if (leaf + 1 == leaves_.size()) return place(leaf + 1, 0, 0);
        const GangPods& next = *leaves_[leaf + 1].pods;
        return place(leaf + 1, 0, next.count - count(running_, leaves_[leaf + 1].path));
      }
      for (int here = 0; here <= left; ++here) {
        pods[leaves_[leaf].path][node] += here;
        const bool found = capacity_kept(pods) && place(leaf, node + 1, left - here);
        pods[leaves_[leaf].path][node] -= here;
        if (found) return true;
      }
      return false;
    };
    return place(0, 0, leaves_[0].pods->count - count(running(), leaves_[0].path));
  }

  std::string describe() const {
    std::string text;
    for (const TinyNode& node : nodes_) {
      text += node.name + " " + node.labels.at("block") + "/" + node.labels.at("rack") + " zone " +
              node.labels.at("zone") + " gpu " + std::to_string(node.gpu) + " cpu " +
              std::to_string(node.cpu) + "\n";
    }
    describe(gang_.root, "", text);
    return text;
  }

  void describe(const GangGroup& group, const std::string& indent, std::string& text) const {
    text += indent + "group " + group.name + " " + group.topology + " required " +
            group.required.value_or("-") + " preferred " + group.preferred.value_or("-") +
            " minChildren " + std::to_string(group.min_children.value_or(-1)) + " minPods " +
            std::to_string(group.min_pods.value_or(-1));
    if (group.pods) {
      text += " pods " + std::to_string(group.pods->count) + " min " +
              std::to_string(group.pods->minimum.value_or(-1)) + " slices " +
              (group.pods->slices.empty() ? "-" : group.pods->slices[0].topology);
      for (const auto& [name, amount] : group.pods->requests) {
        text += " " + name + "=" + std::to_string(amount);
      }
      for (const auto& [key, value] : group.pods->node_selector)
        text += " selector " + key + "=" + value;
      for (const auto& [host, running_count] : group.pods->running) {
        text += " running " + std::to_string(running_count) + " on " + host;
      }
    }
    text += "\n";
    for (const GangGroup& child : group.children) describe(child, indent + "  ", text);
  }

  std::mt19937_64 random_;
  bool sliced_ = false;
  bool two_topologies_ = false;
  int pods_left_ = 0;
  std::vector<TinyNode> nodes_;
  Gang gang_;
  std::vector<Leaf> leaves_;
  Pods running_;
};

// Classes of cells that went stale while a distribution was tried.
TEST(GangProperty, SeedsThatOnceFailed) {
  for (const uint64_t seed : {7681}) TinyGang(seed).check();
}

TEST(GangProperty, AgreesWithBruteForce) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    TinyGang(seed).check();
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
}

TEST(GangProperty, SlicesThatWereBegunAgreeWithBruteForce) {
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(seed);
    TinyGang(seed, /*sliced=*/true).check();
    if (HasFatalFailure() || HasNonfatalFailure()) break;
  }
}

}  // namespace
}  // namespace phalanx::placement
