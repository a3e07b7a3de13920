#include "sim/node_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/object_fields.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kNotReadyTaint = "node.kubernetes.io/not-ready";
constexpr std::string_view kUnreachableTaint = "node.kubernetes.io/unreachable";

const api::Taint& cordon_taint() {
  static const api::Taint kTaint{"node.kubernetes.io/unschedulable", "", "NoSchedule"};
  return kTaint;
}

bool matches(const api::NodeSelectorTerm& term, const api::Node& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  const auto holds = [&](const api::NodeSelectorRequirement& requirement) {
    const auto label = node.labels.find(requirement.key);
    return label == node.labels.end() ? requirement.matches(std::nullopt)
                                      : requirement.matches(label->second);
  };
  return std::ranges::all_of(term.expressions, holds) &&
         std::ranges::all_of(term.fields, [&](const auto& f) { return f.matches(node.name); });
}

bool selects(const PodShape& pod, const api::Node& node) {
  for (const auto& [key, value] : pod.node_selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return false;
  }
  const auto& required = pod.affinity.required;
  return !required ||
         std::ranges::any_of(*required, [&](const auto& term) { return matches(term, node); });
}

bool tolerates(const PodShape& pod, const api::Taint& taint) {
  return std::ranges::any_of(pod.tolerations, [&](const auto& t) { return t.tolerates(taint); });
}

}  // namespace

PodShape shape_of(const json::value& pod) {
  DecodeStatus status;
  api::PodSpec spec = api::read_pod_spec(JsonReader(&pod, "", status).object("spec"));
  return {pod_demand(pod), std::move(spec.node_selector), std::move(spec.tolerations),
          std::move(spec.affinity)};
}

api::Node schedulable_node(const json::value& node) {
  DecodeStatus status;
  api::Node read = api::read_node(JsonReader(&node, "", status));
  const bool tainted = std::ranges::any_of(read.taints, [](const api::Taint& taint) {
    return taint.key == kNotReadyTaint || taint.key == kUnreachableTaint;
  });
  if (!read.ready && !tainted)
    read.taints.push_back({std::string(kNotReadyTaint), "", "NoSchedule"});
  return read;
}

std::vector<std::string> reasons_against(const PodShape& pod, const SchedulableNode& node) {
  if (node.node.unschedulable && !tolerates(pod, cordon_taint())) {
    return {"node(s) were unschedulable"};
  }
  if (const api::Taint* taint = api::first_untolerated(node.node.taints, pod.tolerations)) {
    return {fmt::format("node(s) had untolerated taint {{{}: {}}}", taint->key, taint->value)};
  }
  if (!selects(pod, node.node)) return {std::string(kNoSelectorMatch)};
  std::vector<std::string> reasons;
  for (const std::string& resource : node.load.missing(pod.demand)) {
    reasons.push_back(resource == kPodsResource ? "Too many pods" : "Insufficient " + resource);
  }
  return reasons;
}

std::string unschedulable_message(size_t nodes, const std::map<std::string, size_t>& reasons) {
  std::string text = fmt::format("0/{} nodes are available", nodes);
  if (reasons.empty()) return text + ".";
  std::vector<std::string> parts;
  for (const auto& [reason, count] : reasons) parts.push_back(fmt::format("{} {}", count, reason));
  std::ranges::sort(parts);
  return fmt::format("{}: {}.", text, fmt::join(parts, ", "));
}

}  // namespace phalanx::sim
