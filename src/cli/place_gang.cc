#include "cli/place_gang.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "placement/explanation_render.h"
#include "placement/gang_file.h"

namespace phalanx::cli {
namespace {

constexpr size_t kMaxNodesShown = 8;

std::string nodes_text(const api::TopologyAssignment& assignment) {
  std::vector<std::string> parts;
  for (const api::DomainAssignment& domain : assignment.domains) {
    if (parts.size() == kMaxNodesShown) break;
    parts.push_back(fmt::format("{} {}", domain.values.back(), domain.count));
  }
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (assignment.domains.size() > parts.size()) {
    text += fmt::format(" and {} more", assignment.domains.size() - parts.size());
  }
  return text;
}

}  // namespace

Result<std::vector<placement::Gang>> read_gangs(const ClusterInput& input) {
  std::vector<placement::Gang> gangs;
  for (const SourcedDocument& document : input.gangs) {
    auto gang = placement::read_gang(document.value);
    if (!gang) return within(document.origin, gang.error());
    gangs.push_back(std::move(*gang));
  }
  return gangs;
}

api::ResourceAmounts requests_of(const placement::GangGroup& group) {
  api::ResourceAmounts total;
  if (group.pods) api::add_to(total, group.pods->requests, group.pods->count);
  for (const placement::GangGroup& child : group.children) {
    api::add_to(total, requests_of(child));
  }
  return total;
}

Result<GangOutcome> place_and_book(topology::Cluster& cluster,
                                   const std::vector<std::pair<std::string, TreeId>>& topologies,
                                   const placement::Gang& gang) {
  ASSIGN_OR_RETURN(placement::GangResult result,
                   placement::place_gang(cluster, topologies, gang, {}));
  for (const placement::GangLeafResult& leaf : result.leaves) {
    std::vector<topology::DomainUsage> usage;
    for (const api::DomainAssignment& domain : leaf.assignment.domains) {
      usage.push_back({domain.values, domain.count});
    }
    cluster.add_usage(gang.name, leaf.tree, leaf.requests, usage);
  }
  return GangOutcome{gang, std::move(result)};
}

std::string gang_text(const GangOutcome& outcome, bool color, bool full_explanation) {
  const placement::GangResult& result = outcome.result;
  const auto paint = [&](const char* code, const std::string& text) {
    return color ? fmt::format("\x1b[1;{}m{}\x1b[0m", code, text) : text;
  };
  if (!result.placed) {
    std::string text = fmt::format("Gang {}: {}\n  {}\n", outcome.gang.name,
                                   paint("31", "does not fit"), result.failure);
    text += result.proven ? "  proven: no placement exists\n" : "";
    if (result.explanation != nullptr) {
      text += placement::explanation_text(*result.explanation, full_explanation);
    }
    return text;
  }
  std::string text = fmt::format("Gang {}: {}\n", outcome.gang.name,
                                 paint("32", result.complete ? "placed" : "placed in part"));
  for (const placement::GangGroupResult& group : result.groups) {
    const std::string name = group.path.empty() ? "whole gang" : "group " + group.path;
    text += group.level.empty() ? fmt::format("  {}: spread over several domains\n", name)
                                : fmt::format("  {}: in {} ({})\n", name,
                                              fmt::join(group.domain, " / "), group.level);
  }
  for (const placement::GangLeafResult& leaf : result.leaves) {
    text += fmt::format("  pods {}: {} of {} placed{}{}{}\n",
                        leaf.path.empty() ? outcome.gang.name : leaf.path, leaf.placed,
                        std::max(leaf.wanted - leaf.running, 0),
                        leaf.running > 0 ? fmt::format(", {} running", leaf.running) : "",
                        leaf.placed > 0 ? ": " : "", nodes_text(leaf.assignment));
  }
  return text;
}

json::value gang_json(const GangOutcome& outcome) {
  json::value document = placement::gang_result_json(outcome.gang, outcome.result);
  if (outcome.result.explanation != nullptr) {
    document.get_object()["explanation"] = placement::explanation_json(*outcome.result.explanation);
  }
  return document;
}

}  // namespace phalanx::cli
