// Runs the gang cases of tests/gang/*.yaml.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/file.h"
#include "base/yaml.h"
#include "placement/gang_file.h"

namespace phalanx::placement {
namespace {

// A node of the notation: n0:2 u1 c5 in r1/s1@z1.
struct CaseNode {
  std::string name;
  std::vector<std::string> path;
  std::vector<std::string> other_path;  // after @, for the second topology
  int gpus = 0;
  int used = 0;
  int cpus = 64;
};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  for (const char next : text) {
    if (next == separator) {
      parts.push_back(part);
      part.clear();
    } else if (next != ' ' && next != '\n') {
      part += next;
    }
  }
  if (!part.empty()) parts.push_back(part);
  return parts;
}

std::vector<CaseNode> parse_nodes(const std::string& text) {
  std::vector<CaseNode> nodes;
  for (size_t begin = 0; begin < text.size();) {
    const size_t open = text.find('{', begin);
    if (open == std::string::npos) break;
    const size_t close = text.find('}', open);
    const auto where = split(text.substr(begin, open - begin), '@');
    std::string entry;
    const std::string inside = text.substr(open + 1, close - open - 1) + ",";
    for (const char next : inside) {
      if (next != ',') {
        entry += next;
        continue;
      }
      CaseNode node;
      node.path = split(where[0], '/');
      if (where.size() > 1) node.other_path = split(where[1], '/');
      entry.erase(0, entry.find_first_not_of(' '));
      const size_t colon = entry.find(':');
      node.name = entry.substr(0, colon);
      std::string fields = entry.substr(colon + 1) + " ";
      node.gpus = std::stoi(fields);
      if (const auto at = fields.find(" u"); at != std::string::npos) {
        node.used = std::stoi(fields.substr(at + 2));
      }
      if (const auto at = fields.find(" c"); at != std::string::npos) {
        node.cpus = std::stoi(fields.substr(at + 2));
      }
      nodes.push_back(node);
      entry.clear();
    }
    begin = close + 1;
  }
  return nodes;
}

std::vector<std::string> strings(const json::value& value) {
  std::vector<std::string> result;
  for (const json::value& entry : value.get_array()) result.emplace_back(entry.get_string());
  return result;
}

class GangCase {
 public:
  explicit GangCase(const json::object& object) : object_(object) {
    levels_ = strings(object.at("levels"));
    if (const auto* more = object.if_contains("more_levels")) more_levels_ = strings(*more);
    nodes_ = parse_nodes(std::string(object.at("nodes").get_string()));
    for (const CaseNode& node : nodes_) add(node);
    topologies_.emplace_back("default", cluster_.add_tree(spec("default", levels_)));
    if (!more_levels_.empty()) {
      topologies_.emplace_back("more", cluster_.add_tree(spec("more", more_levels_)));
    }
  }

  void run() {
    json::value spec = object_.at("gang");
    ask_for_a_gpu(spec.get_object());
    auto gang = read_gang(json::object{{"metadata", {{"name", "case"}}}, {"spec", spec}});
    ASSERT_TRUE(gang) << gang.error().message;
    const json::object& expect = object_.at("expect").get_object();
    auto result = place_gang(cluster_, topologies_, *gang, {});
    if (const auto* error = expect.if_contains("error")) {
      ASSERT_FALSE(result);
      EXPECT_NE(result.error().message.find(std::string(error->get_string())), std::string::npos)
          << result.error().message;
      return;
    }
    ASSERT_TRUE(result) << result.error().message;
    const auto* placed = expect.if_contains("placed");
    const bool expected = placed == nullptr || placed->get_bool();
    ASSERT_EQ(result->placed, expected) << result->failure;
    EXPECT_TRUE(expected || result->proven) << result->failure;
    if (const auto* failure = expect.if_contains("failure")) {
      EXPECT_NE(result->failure.find(std::string(failure->get_string())), std::string::npos)
          << result->failure;
    }
    if (const auto* complete = expect.if_contains("complete")) {
      EXPECT_EQ(result->complete, complete->get_bool());
    }
    for (const GangLeafResult& leaf : result->leaves) {
      for (const auto& domain : leaf.assignment.domains) {
        pods_[leaf.path][domain.values[0]] += domain.count;
      }
    }
    check(expect);
  }

 private:
  static topology::TreeSpec spec(const std::string& name, std::vector<std::string> levels) {
    levels.emplace_back("kubernetes.io/hostname");
    return {name, levels, {}, {}};
  }

  void add(const CaseNode& node) {
    api::Node object;
    object.name = node.name;
    object.labels["kubernetes.io/hostname"] = node.name;
    for (size_t level = 0; level < levels_.size(); ++level) {
      if (node.path[level] != "-") object.labels[levels_[level]] = node.path[level];
    }
    for (size_t level = 0; level < more_levels_.size(); ++level) {
      object.labels[more_levels_[level]] = node.other_path[level];
    }
    object.allocatable = {{"nvidia.com/gpu", node.gpus}, {"cpu", node.cpus * 1000}, {"pods", 110}};
    ASSERT_TRUE(cluster_.put_node(object));
    if (node.used > 0) {
      cluster_.put_pod("used-" + node.name, node.name, {{"nvidia.com/gpu", node.used}});
    }
  }

  static void ask_for_a_gpu(json::object& group) {
    if (auto* pods = group.if_contains("pods")) {
      if (!pods->get_object().contains("requests")) {
        pods->get_object()["requests"] = {{"nvidia.com/gpu", 1}};
      }
    }
    if (auto* groups = group.if_contains("groups")) {
      for (json::value& child : groups->get_array()) ask_for_a_gpu(child.get_object());
    }
  }

  std::string domain_of(const std::string& node_name, const std::string& level) {
    const auto node = std::ranges::find(nodes_, node_name, &CaseNode::name);
    std::string domain;
    const auto& levels =
        std::ranges::find(levels_, level) != levels_.end() ? levels_ : more_levels_;
    const auto& path = &levels == &levels_ ? node->path : node->other_path;
    for (size_t index = 0; index < levels.size(); ++index) {
      domain += path[index] + "/";
      if (levels[index] == level) break;
    }
    return domain;
  }

  std::map<std::string, int> by_domain(const std::string& pod_set, const std::string& level) {
    std::map<std::string, int> counts;
    for (const auto& [name, nodes] : pods_) {
      if (pod_set != "*" && name != pod_set) continue;
      for (const auto& [node, count] : nodes) counts[domain_of(node, level)] += count;
    }
    return counts;
  }

  void check(const json::object& expect) {
    if (const auto* pods = expect.if_contains("pods")) {
      for (const auto& [pod_set, nodes] : pods->get_object()) {
        std::map<std::string, int> wanted;
        for (const auto& [node, count] : nodes.get_object()) {
          wanted[std::string(node)] = static_cast<int>(count.get_int64());
        }
        EXPECT_EQ(pods_[std::string(pod_set)], wanted) << "pod set " << pod_set;
      }
    }
    if (const auto* spread = expect.if_contains("spread")) {
      for (const auto& [level, by_pod_set] : spread->get_object()) {
        for (const auto& [pod_set, sizes] : by_pod_set.get_object()) {
          std::vector<int> wanted;
          for (const auto& size : sizes.get_array()) {
            wanted.push_back(static_cast<int>(size.get_int64()));
          }
          std::vector<int> got;
          for (const auto& [domain, count] : by_domain(pod_set, level)) got.push_back(count);
          std::ranges::sort(got, std::greater());
          EXPECT_EQ(got, wanted) << "pod set " << pod_set << " over " << level;
        }
      }
    }
    check_nodes(expect);
  }

  void check_nodes(const json::object& expect) {
    if (const auto* used = expect.if_contains("used")) {
      std::set<std::string> got;
      for (const auto& [pod_set, nodes] : pods_) {
        for (const auto& [node, count] : nodes) got.insert(node);
      }
      const auto wanted = strings(*used);
      EXPECT_EQ(got, std::set<std::string>(wanted.begin(), wanted.end()));
    }
    if (const auto* inside = expect.if_contains("inside")) {
      for (const auto& [pod_set, nodes] : inside->get_object()) {
        const auto allowed = strings(nodes);
        for (const auto& [node, count] : pods_[std::string(pod_set)]) {
          EXPECT_TRUE(std::ranges::find(allowed, node) != allowed.end()) << node;
        }
      }
    }
    if (const auto* together = expect.if_contains("together")) {
      for (const auto& [level, sets] : together->get_object()) {
        for (const json::value& set : sets.get_array()) {
          std::set<std::string> domains;
          for (const std::string& pod_set : strings(set)) {
            for (const auto& [domain, count] : by_domain(pod_set, level)) domains.insert(domain);
          }
          EXPECT_EQ(domains.size(), 1U) << json::serialize(set) << " over " << level;
        }
      }
    }
  }

  const json::object& object_;
  std::vector<std::string> levels_;
  std::vector<std::string> more_levels_;
  std::vector<CaseNode> nodes_;
  topology::Cluster cluster_;
  std::vector<std::pair<std::string, TreeId>> topologies_;
  std::map<std::string, std::map<std::string, int>> pods_;  // pod set -> node -> pods
};

TEST(GangCases, AllFiles) {
  const char* source = std::getenv("PHALANX_SOURCE_DIR");  // NOLINT(concurrency-mt-unsafe)
  ASSERT_NE(source, nullptr);
  int cases = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(std::string(source) + "/tests/gang")) {
    auto text = read_file(file.path());
    ASSERT_TRUE(text);
    auto documents = parse_documents(*text);
    ASSERT_TRUE(documents) << file.path() << ": " << documents.error().message;
    for (const json::value& entry : documents->at(0).value.get_array()) {
      SCOPED_TRACE(std::string(entry.at("name").get_string()));
      GangCase(entry.get_object()).run();
      ++cases;
    }
  }
  EXPECT_GE(cases, 70);
}

}  // namespace
}  // namespace phalanx::placement
