// What pods take of a node, counted as the kubelet and the default scheduler count it: effective
// requests (api/pod.h) and one of the resource "pods" for each.
#pragma once

#include <string>
#include <vector>

#include "api/resources.h"
#include "base/json.h"

namespace phalanx::sim {

inline constexpr std::string_view kPodsResource = "pods";

// What the pod takes of its node.
api::ResourceAmounts pod_demand(const json::value& pod);

// One node's account. Demands are taken back exactly as they were added.
class NodeLoad {
 public:
  void set_allocatable(api::ResourceAmounts allocatable) { allocatable_ = std::move(allocatable); }
  void add(const api::ResourceAmounts& demand) { api::add_to(used_, demand, 1); }
  void remove(const api::ResourceAmounts& demand) { api::add_to(used_, demand, -1); }

  // Resources of which there is not enough left: pods, cpu and memory first, then by name. A
  // resource that the node does not have is one of which it has none.
  [[nodiscard]] std::vector<std::string> missing(const api::ResourceAmounts& demand) const;
  // How full the demanded resources would be, in thousandths, on average.
  [[nodiscard]] int64_t fullness_with(const api::ResourceAmounts& demand) const;

  [[nodiscard]] const api::ResourceAmounts& allocatable() const { return allocatable_; }
  [[nodiscard]] const api::ResourceAmounts& used() const { return used_; }

 private:
  api::ResourceAmounts allocatable_;
  api::ResourceAmounts used_;
};

// The amount of a resource; 0 if it is not named.
int64_t amount_of(const api::ResourceAmounts& amounts, const std::string& resource);

}  // namespace phalanx::sim
