#include "sim/pod_resources.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/pod.h"
#include "base/saturating.h"

namespace phalanx::sim {
namespace {

// The order in which a shortage is named.
size_t rank_of(std::string_view resource) {
  constexpr std::array<std::string_view, 4> kFirst{kPodsResource, "cpu", "memory",
                                                   "ephemeral-storage"};
  return static_cast<size_t>(std::ranges::find(kFirst, resource) - kFirst.begin());
}

}  // namespace

api::ResourceAmounts pod_demand(const json::value& pod) {
  // The API server has validated the pod; what cannot be read counts as nothing.
  DecodeStatus status;
  api::ResourceAmounts demand =
      api::read_pod_spec(JsonReader(&pod, "", status).object("spec")).requests;
  demand[std::string(kPodsResource)] = 1;
  std::erase_if(demand, [](const auto& entry) { return entry.second <= 0; });
  return demand;
}

std::vector<std::string> NodeLoad::missing(const api::ResourceAmounts& demand) const {
  std::vector<std::string> names;
  for (const auto& [name, amount] : demand) {
    if (saturating_add(amount_of(used_, name), amount) > amount_of(allocatable_, name)) {
      names.push_back(name);
    }
  }
  std::ranges::sort(names, {}, [](const std::string& name) {
    return std::pair<size_t, std::string_view>(rank_of(name), name);
  });
  return names;
}

int64_t NodeLoad::fullness_with(const api::ResourceAmounts& demand) const {
  if (demand.empty()) return 0;
  int64_t sum = 0;
  for (const auto& [name, amount] : demand) {
    const int64_t total = std::max<int64_t>(amount_of(allocatable_, name), 1);
    const auto used = static_cast<__int128>(saturating_add(amount_of(used_, name), amount));
    sum = saturating_add(sum, static_cast<int64_t>(std::min<__int128>(used * 1000 / total, 1000)));
  }
  return sum / static_cast<int64_t>(demand.size());
}

int64_t amount_of(const api::ResourceAmounts& amounts, const std::string& resource) {
  const auto found = amounts.find(resource);
  return found == amounts.end() ? 0 : found->second;
}

}  // namespace phalanx::sim
