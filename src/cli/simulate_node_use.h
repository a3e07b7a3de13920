// What the nodes that can be used have, and what the pods on them take. Pods of a node that is gone
// or not ready take nothing: nobody could have what they had.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/resources.h"

namespace phalanx::cli {

class NodeUse {
 public:
  // nullopt: it cannot be used, or is gone.
  void put_node(const std::string& name, std::optional<api::ResourceAmounts> allocatable) {
    Node& node = nodes_[name];
    count(node, -1);
    node.allocatable = std::move(allocatable);
    count(node, 1);
  }
  // `times`: 1 for a pod that comes, -1 for one that goes.
  void add_pod(const std::string& node_name, const api::ResourceAmounts& demand, int64_t times) {
    Node& node = nodes_[node_name];
    api::add_to(node.used, demand, times);
    if (node.allocatable) api::add_to(used_, demand, times);
  }

  [[nodiscard]] const api::ResourceAmounts& allocatable() const { return allocatable_; }
  [[nodiscard]] const api::ResourceAmounts& used() const { return used_; }

 private:
  struct Node {
    std::optional<api::ResourceAmounts> allocatable;
    api::ResourceAmounts used;
  };

  void count(const Node& node, int64_t times) {
    if (!node.allocatable) return;
    api::add_to(allocatable_, *node.allocatable, times);
    api::add_to(used_, node.used, times);
  }

  std::map<std::string, Node> nodes_;
  api::ResourceAmounts allocatable_;
  api::ResourceAmounts used_;
};

}  // namespace phalanx::cli
