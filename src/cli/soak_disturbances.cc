#include "cli/soak_disturbances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "sim/node_generator.h"
#include "sim/node_lifecycle.h"
#include "sim/object_fields.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kTaint = "soak.phalanx.dev/maintenance";
constexpr double kUsualNodes = 500;

}  // namespace

const std::vector<SoakDisturbances::Chance>& SoakDisturbances::chances() {
  static const std::vector<Chance> kChances{
      {Kind::kFlap, "flap", 20, 2, 120},
      {Kind::kSilence, "kubelet silent", 8, 300, int64_t{6} * 3600},
      {Kind::kNotReady, "kubelet not ready", 6, 20, int64_t{3} * 3600},
      {Kind::kRackLoss, "rack lost", 0.5, 60, int64_t{2} * 3600},
      {Kind::kRemoval, "node deleted", 3, 60, int64_t{12} * 3600},
      {Kind::kCordon, "cordon", 5, 300, int64_t{4} * 3600},
      {Kind::kDrain, "drain", 3, 300, int64_t{4} * 3600},
      {Kind::kNoSchedule, "NoSchedule taint", 5, 300, int64_t{4} * 3600},
      {Kind::kNoExecute, "NoExecute taint", 3, 60, int64_t{4} * 3600},
  };
  return kChances;
}

SoakDisturbances::SoakDisturbances(sim::ApiServer& server, const SoakPlan& plan, uint64_t seed)
    : server_(server), plan_(plan), random_(seed) {
  for (uint32_t i = 0; i < plan.fixed_nodes(); ++i) {
    json::value node = soak_node(plan, i);
    std::string name(string_at(node, {"metadata", "name"}));
    fixed_.emplace(std::move(name), std::move(node));
  }
  for (const Chance& chance : chances()) next_.push_back(next_of(chance));
}

// Waiting times of events that know nothing of each other.
Time SoakDisturbances::next_of(const Chance& chance) {
  const double per_day = chance.per_day * std::max(0.2, plan_.nodes / kUsualNodes);
  const double lot = (static_cast<double>(random_.below(1'000'000)) + 1) / 1'000'000;
  const double days = -std::log(lot) / per_day;
  return server_.clock().now() + Duration(static_cast<int64_t>(days * 86'400'000) + 1);
}

std::optional<Time> SoakDisturbances::wake_at() const {
  std::optional<Time> next;
  if (!ends_.empty()) next = ends_.begin()->first;
  for (const Time time : next_) next = next ? std::min(*next, time) : time;
  return next;
}

bool SoakDisturbances::react() {
  const Time now = server_.clock().now();
  bool acted = false;
  while (!ends_.empty() && ends_.begin()->first <= now) {
    const Trouble trouble = ends_.begin()->second;
    ends_.erase(ends_.begin());
    end(trouble);
    acted = true;
  }
  for (size_t i = 0; i < next_.size(); ++i) {
    if (next_[i] > now) continue;
    begin(chances()[i]);
    next_[i] = next_of(chances()[i]);
    acted = true;
  }
  return acted;
}

void SoakDisturbances::stop() {
  next_.clear();
  const auto ends = std::exchange(ends_, {});
  for (const auto& [time, trouble] : ends) end(trouble);
}

// Who it happens to: one node, of any kind, or the hosts of one rack.
std::vector<std::string> SoakDisturbances::victims(Kind kind) {
  const auto nodes = server_.list(api::Kind::kNode).items;
  std::vector<std::string> result;
  if (nodes.empty()) return result;
  const json::value& one = *nodes[random_.below(nodes.size())];
  const auto name_of_node = [](const json::value& node) {
    return std::string(string_at(node, {"metadata", "name"}));
  };
  if (kind != Kind::kRackLoss) {
    result.push_back(name_of_node(one));
  } else {
    const auto rack = string_at(one, {"metadata", "labels", sim::kRackLabel});
    for (const sim::Stored& node : nodes) {
      if (string_at(*node, {"metadata", "labels", sim::kRackLabel}) == rack) {
        result.push_back(name_of_node(*node));
      }
    }
  }
  std::erase_if(result, [&](const std::string& name) { return suffering_.contains(name); });
  return result;
}

void SoakDisturbances::begin(const Chance& chance) {
  const std::vector<std::string> nodes = victims(chance.kind);
  if (nodes.empty()) return;
  ++counts_[std::string(chance.name)];
  int64_t seconds = random_.between(chance.least_seconds, chance.most_seconds);
  // Short ones are more common.
  if (random_.below(2) == 0) seconds = random_.between(chance.least_seconds, seconds);
  const Time end = server_.clock().now() + Duration(seconds * 1000 + random_.between(0, 999));
  for (const std::string& node : nodes) begin_on(chance, node, end);
}

void SoakDisturbances::begin_on(const Chance& chance, const std::string& node, Time end) {
  suffering_.insert(node);
  ends_.emplace(end, Trouble{chance.kind, node});
  switch (chance.kind) {
    case Kind::kFlap:
    case Kind::kSilence:
    case Kind::kRackLoss:
      return set_annotation(node, "down");
    case Kind::kNotReady:
      return set_annotation(node, "not-ready");
    case Kind::kRemoval:
      CHECK(server_.remove({api::Kind::kNode, "", node}));
      return;
    case Kind::kDrain:
      set_unschedulable(node, true);
      return drain(node);
    case Kind::kCordon:
      return set_unschedulable(node, true);
    case Kind::kNoSchedule:
      return set_taint(node, "NoSchedule", true);
    case Kind::kNoExecute:
      return set_taint(node, "NoExecute", true);
  }
}

void SoakDisturbances::end(const Trouble& trouble) {
  suffering_.erase(trouble.node);
  if (trouble.kind == Kind::kRemoval) return join_again(trouble.node);
  // The autoscaler, or a fault of the machine, may have taken it away meanwhile.
  if (server_.get({api::Kind::kNode, "", trouble.node}) == nullptr) return;
  switch (trouble.kind) {
    case Kind::kDrain:
    case Kind::kCordon:
      return set_unschedulable(trouble.node, false);
    case Kind::kNoSchedule:
      return set_taint(trouble.node, "NoSchedule", false);
    case Kind::kNoExecute:
      return set_taint(trouble.node, "NoExecute", false);
    default:
      return set_annotation(trouble.node, "");
  }
}

// Nodes of the autoscaler do not come back.
void SoakDisturbances::join_again(const std::string& node) {
  const auto document = fixed_.find(node);
  if (document == fixed_.end()) return;
  const auto created = server_.create(document->second);
  CHECK(created);
  json::value with_status = **created;
  with_status.as_object()["status"] = document->second.at("status");
  CHECK(server_.update(std::move(with_status), {.status = true}));
}

void SoakDisturbances::drain(const std::string& node) {
  for (const sim::Stored& pod : server_.list(api::Kind::kPod).items) {
    if (string_at(*pod, {"spec", "nodeName"}) != node || sim::is_terminal(*pod)) continue;
    CHECK(server_.remove(sim::key_of(api::Kind::kPod, *pod)));
  }
}

void SoakDisturbances::patch(const std::string& node, json::object change) {
  const auto patched =
      server_.patch({api::Kind::kNode, "", node}, sim::PatchType::kMerge, std::move(change));
  CHECK(patched);
}

void SoakDisturbances::set_annotation(const std::string& node, std::string_view state) {
  json::value value;
  if (!state.empty()) value = state;
  patch(node, {{"metadata", json::object{{"annotations", json::object{{sim::kKubeletAnnotation,
                                                                       std::move(value)}}}}}});
}

void SoakDisturbances::set_unschedulable(const std::string& node, bool unschedulable) {
  json::value value;
  if (unschedulable) value = true;
  patch(node, {{"spec", json::object{{"unschedulable", std::move(value)}}}});
}

// Other taints stay.
void SoakDisturbances::set_taint(const std::string& node, std::string_view effect, bool present) {
  const sim::Stored document = server_.get({api::Kind::kNode, "", node});
  json::array taints;
  for (const json::value& taint : sim::list_field(*document, {"spec", "taints"})) {
    if (string_at(taint, {"key"}) != kTaint) taints.push_back(taint);
  }
  if (present) taints.push_back(json::object{{"key", kTaint}, {"effect", effect}});
  patch(node, {{"spec", json::object{{"taints", std::move(taints)}}}});
}

}  // namespace phalanx::cli
