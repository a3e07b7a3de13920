// Random cases of quota/victim_testing.h, and how they print.
#include <fmt/format.h>

#include <algorithm>

#include "quota/victim_testing.h"

namespace phalanx::quota::testing {
namespace {

using placement::testing::Generator;

constexpr const char* kGpu = "gpu";
constexpr const char* kCpu = "cpu";

std::vector<Quota> draw_quotas(Generator& draw, bool two_resources, int largest) {
  std::vector<Quota> quotas;
  for (const char* flavor : {kFlavor, kOtherFlavor}) {
    for (const char* resource : {kGpu, kCpu}) {
      if (resource == kCpu && !two_resources) continue;
      Quota quota{{flavor, resource}, draw.between(0, largest)};
      if (draw.chance(15)) quota.borrowing_limit = draw.between(0, 6);
      if (draw.chance(15)) quota.lending_limit = draw.between(0, 6);
      quotas.push_back(quota);
    }
  }
  return quotas;
}

void draw_members(Generator& draw, bool two_resources, VictimCase& tiny) {
  const int cohorts = draw.chance(40) ? draw.between(2, 3) : 1;
  for (int i = 0; i < cohorts; ++i) {
    const bool has_quota = draw.chance(30);
    add_cohort(tiny.cohorts, fmt::format("cohort-{}", i),
               i == 0 ? "" : fmt::format("cohort-{}", draw.below(i)),
               has_quota ? draw_quotas(draw, two_resources, 6) : std::vector<Quota>(),
               draw.chance(80) ? 1000 : draw.between(0, 3) * 1000);
  }
  const int queues = draw.chance(15) ? 1 : draw.between(2, 3);
  for (int i = 0; i < queues; ++i) {
    add_queue(tiny.queues, fmt::format("queue-{}", i),
              draw.chance(90) ? fmt::format("cohort-{}", draw.below(cohorts)) : "",
              draw_quotas(draw, two_resources, draw.chance(30) ? 3 : 14),
              draw.chance(80) ? 1000 : draw.between(0, 3) * 1000);
  }
}

void draw_nodes(Generator& draw, VictimCase& tiny) {
  const int racks = draw.between(2, 3);
  for (int rack = 0; rack < racks; ++rack) {
    const int hosts = draw.between(2, 3);
    for (int host = 0; host < hosts; ++host) {
      tiny.nodes.push_back(tiny_node(rack == 0 ? "b0" : "b1", fmt::format("r{}", rack), host,
                                     {{kGpu, draw.between(2, 4)}, {kCpu, draw.between(3, 6)}}));
    }
  }
}

// Whether the holder's pods have room on the host beside those who are there.
bool has_room(const VictimCase& tiny, const TinyHolder& holder, const api::Node& node,
              int64_t pods) {
  return std::ranges::all_of(holder.per_pod, [&](const auto& request) {
    int64_t free = node.allocatable.at(request.first) - request.second * pods;
    for (const TinyHolder& other : tiny.holders) {
      const auto there = other.pods.find(node.name);
      const auto part = other.per_pod.find(request.first);
      if (there == other.pods.end() || part == other.per_pod.end()) continue;
      free -= part->second * there->second;
    }
    return free >= 0;
  });
}

TinyHolder draw_holder(Generator& draw, bool two_resources, const VictimCase& tiny, int number) {
  TinyHolder holder;
  holder.name = fmt::format("holder-{}", number);
  holder.queue = fmt::format("queue-{}", draw.below(static_cast<int>(tiny.queues.size())));
  holder.priority = draw.between(-1, 2);
  holder.created = draw.between(0, 10);
  holder.reserved = draw.chance(80) ? 100 + draw.below(50) : 100;
  holder.flavor = draw.chance(90) ? kFlavor : kOtherFlavor;
  if (draw.chance(90)) holder.per_pod[kGpu] = draw.between(1, 3);
  if (two_resources && draw.chance(80)) holder.per_pod[kCpu] = draw.between(1, 3);
  if (draw.chance(10)) {
    holder.pods_elsewhere = draw.between(1, 2);
    return holder;
  }
  const size_t hosts = draw.chance(70) ? 1 : 2;
  const bool exceeds = draw.chance(10);  // a node that shrank
  for (int tries = 0; tries < 10 && holder.pods.size() < hosts; ++tries) {
    const api::Node& node = draw.any_of(tiny.nodes);
    const int64_t pods = draw.between(1, 2);
    if (exceeds || has_room(tiny, holder, node, pods)) holder.pods[node.name] = pods;
  }
  if (holder.pods.empty()) holder.pods_elsewhere = 1;
  return holder;
}

placement::PodSet draw_pods(Generator& draw, bool two_resources, const std::string& name) {
  placement::PodSet pods;
  pods.name = name;
  pods.count = draw.between(1, 3);
  pods.requests[kGpu] = draw.chance(80) ? draw.between(1, 2) : 3;
  if (two_resources) pods.requests[kCpu] = draw.between(0, 2);
  switch (draw.below(6)) {
    case 0:
    case 1:
      pods.topology.emplace().required = "rack";
      break;
    case 2:
      pods.topology.emplace().required = draw.chance(70) ? "block" : "kubernetes.io/hostname";
      break;
    case 3:
      pods.topology.emplace().preferred = "rack";
      break;
    case 4:
      pods.topology.emplace().unconstrained = true;
      break;
    default:  // the implicit default
      break;
  }
  return pods;
}

}  // namespace

VictimCase random_victim_case(uint64_t seed) {
  using api::PreemptionPolicy;
  Generator draw(seed);
  VictimCase tiny;
  const bool two_resources = draw.chance(50);
  draw_members(draw, two_resources, tiny);
  draw_nodes(draw, tiny);
  const int holders = draw.between(3, 10);
  for (int i = 0; i < holders; ++i) {
    tiny.holders.push_back(draw_holder(draw, two_resources, tiny, i));
  }
  if (draw.chance(15)) tiny.promised["queue-0"][{kFlavor, kGpu}] = draw.between(1, 4);
  tiny.queue = "queue-0";
  tiny.priority = draw.between(0, 4);
  tiny.created = draw.between(0, 10);
  constexpr std::array kWithin{PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority,
                               PreemptionPolicy::kLowerPriority,
                               PreemptionPolicy::kLowerOrNewerEqualPriority};
  constexpr std::array kReclaim{PreemptionPolicy::kNever, PreemptionPolicy::kLowerPriority,
                                PreemptionPolicy::kAny, PreemptionPolicy::kAny};
  tiny.policy.within_cluster_queue = draw.any_of(kWithin);
  tiny.policy.reclaim_within_cohort = draw.any_of(kReclaim);
  tiny.policy.borrow_within_cohort = draw.chance(60);
  if (draw.chance(50)) tiny.policy.max_priority_threshold = draw.between(-1, 2);
  tiny.pod_sets.push_back(draw_pods(draw, two_resources, "main"));
  if (draw.chance(20)) tiny.pod_sets.push_back(draw_pods(draw, two_resources, "second"));
  return tiny;
}

namespace {

std::string text_of(const Usage& usage) {
  std::string text;
  for (const auto& [what, amount] : usage) {
    text += fmt::format(" {}/{}={}", what.flavor, what.resource, amount);
  }
  return text;
}

std::string text_of(const std::vector<api::ResourceGroup>& groups) {
  std::string text;
  for (const api::ResourceGroup& group : groups) {
    for (const api::FlavorQuotas& flavor : group.flavors) {
      for (const api::ResourceQuota& quota : flavor.resources) {
        text += fmt::format(" {}/{}={}", flavor.flavor, quota.resource, quota.nominal);
        if (quota.borrowing_limit) text += fmt::format("(borrows {})", *quota.borrowing_limit);
        if (quota.lending_limit) text += fmt::format("(lends {})", *quota.lending_limit);
      }
    }
  }
  return text;
}

}  // namespace

std::string text_of(const VictimCase& tiny) {
  std::string text;
  for (const auto& [name, cohort] : tiny.cohorts) {
    text += fmt::format("cohort {} in '{}' weight {}:{}\n", name, cohort.parent,
                        cohort.weight_milli, text_of(cohort.groups));
  }
  for (const auto& [name, queue] : tiny.queues) {
    text += fmt::format("queue {} in '{}' weight {}:{}\n", name, queue.cohort, queue.weight_milli,
                        text_of(queue.groups));
  }
  for (const api::Node& node : tiny.nodes) {
    text += fmt::format("node {} gpu={} cpu={}\n", node.name, node.allocatable.at(kGpu),
                        node.allocatable.at(kCpu));
  }
  for (const TinyHolder& holder : tiny.holders) {
    text +=
        fmt::format("{} of {} priority {} created {} reserved {}:{} on", holder.name, holder.queue,
                    holder.priority, holder.created, holder.reserved, text_of(usage_of(holder)));
    for (const auto& [host, pods] : holder.pods) text += fmt::format(" {}x{}", pods, host);
    text += "\n";
  }
  for (const auto& [queue, usage] : tiny.promised) {
    text += fmt::format("promised to {}:{}\n", queue, text_of(usage));
  }
  text += fmt::format(
      "preemptor of {} priority {} created {} policy {} {} {} {}:{}\n", tiny.queue, tiny.priority,
      tiny.created, static_cast<int>(tiny.policy.within_cluster_queue),
      static_cast<int>(tiny.policy.reclaim_within_cohort), tiny.policy.borrow_within_cohort,
      tiny.policy.max_priority_threshold.value_or(999), text_of(wanted_by(tiny)));
  for (const placement::PodSet& pods : tiny.pod_sets) {
    const auto topology = pods.topology.value_or(api::TopologyRequest());
    text += fmt::format(
        "  {} pods of{}, required '{}' preferred '{}'\n", pods.count,
        [&] {
          std::string each;
          for (const auto& [name, amount] : pods.requests) {
            each += fmt::format(" {}={}", name, amount);
          }
          return each;
        }(),
        topology.required.value_or(""), topology.preferred.value_or(""));
  }
  return text;
}

}  // namespace phalanx::quota::testing
