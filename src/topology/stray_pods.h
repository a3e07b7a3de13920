// Pods on nodes that nobody has seen yet.
//
// They come before their nodes when a cluster is listed. But whoever may make pods may also name
// nodes that there never are: what is remembered of these is gone with the pods.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "api/pod.h"

namespace phalanx::topology {

class StrayPods {
 public:
  using Pods = std::map<std::string, api::ResourceAmounts>;  // by key

  // Of a pod that was put before, only what is put last counts.
  void put(const std::string& key, std::string_view node, const api::ResourceAmounts& requests) {
    remove(key);
    nodes_.emplace(key, node);
    pods_[std::string(node)].emplace(key, requests);
  }

  // Whether it was there.
  bool remove(const std::string& key) {
    const auto found = nodes_.find(key);
    if (found == nodes_.end()) return false;
    const auto of_node = pods_.find(found->second);
    of_node->second.erase(key);
    if (of_node->second.empty()) pods_.erase(of_node);
    nodes_.erase(found);
    return true;
  }

  // Those of a node that has come; they are no strays any more.
  Pods take(std::string_view node) {
    const auto found = pods_.find(node);
    if (found == pods_.end()) return {};
    Pods taken = std::move(found->second);
    pods_.erase(found);
    for (const auto& [key, requests] : taken) nodes_.erase(key);
    return taken;
  }

  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] size_t nodes() const { return pods_.size(); }

 private:
  boost::unordered_flat_map<std::string, std::string> nodes_;  // by key
  std::map<std::string, Pods, std::less<>> pods_;              // by node
};

}  // namespace phalanx::topology
