#include "placement/explanation_render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/quantity.h"

namespace phalanx::placement {
namespace {

constexpr size_t kCausesInShortText = 4;
constexpr size_t kSharesInText = 4;

std::string_view mode_name(RequestMode mode) {
  switch (mode) {
    case RequestMode::kRequired:
      return "required";
    case RequestMode::kPreferred:
      return "preferred";
    case RequestMode::kUnconstrained:
      break;
  }
  return "unconstrained";
}

std::string_view kind_name(CauseKind kind) {
  switch (kind) {
    case CauseKind::kResource:
      return "resource";
    case CauseKind::kTaint:
      return "taint";
    case CauseKind::kNodeSelector:
      return "nodeSelector";
    case CauseKind::kAffinity:
      return "affinity";
    case CauseKind::kConfinement:
      break;
  }
  return "topologyDomain";
}

std::string_view role_name(LevelRole role) {
  switch (role) {
    case LevelRole::kSearched:
      return "searched";
    case LevelRole::kAbove:
      return "above";
    case LevelRole::kSlices:
      break;
  }
  return "slices";
}

// ---- JSON

json::array json_path(const DomainPath& path) {
  json::array result;
  for (const std::string& value : path) result.push_back(json::value(value));
  return result;
}

json::object json_resources(const ResourceList& list) {
  json::object result;
  for (const auto& [resource, amount] : list) result[resource] = format_amount(resource, amount);
  return result;
}

json::object json_asked(const AskedFor& asked) {
  json::object result{{"pods", asked.pods},
                      {"perPod", json_resources(asked.per_pod)},
                      {"mode", mode_name(asked.mode)}};
  if (!asked.level.empty()) result["level"] = asked.level;
  if (asked.leader) result["leader"] = json_resources(*asked.leader);
  result["slices"] = asked.slices;
  result["sliceSize"] = asked.slice_size;
  result["sliceLevel"] = asked.slice_level;
  json::array layers;
  for (const api::SliceConstraint& layer : asked.slice_layers) {
    layers.push_back(json::object{{"level", layer.topology}, {"size", layer.size}});
  }
  result["sliceLayers"] = std::move(layers);
  result["withoutAdmittedWorkloads"] = asked.without_admitted;
  return result;
}

json::object json_left_out(const LeftOut& left_out) {
  json::array lacking;
  for (const auto& [level, nodes] : left_out.lacking_label) {
    lacking.push_back(json::object{{"level", level}, {"nodes", nodes}});
  }
  return {{"notReady", left_out.not_ready},
          {"unschedulable", left_out.unschedulable},
          {"otherFlavor", left_out.other_flavor},
          {"lackingLabel", std::move(lacking)}};
}

json::object json_cause(const Cause& cause) {
  json::object result{{"kind", kind_name(cause.kind)}};
  if (!cause.name.empty()) result["name"] = cause.name;
  result["ofLeader"] = cause.of_leader;
  result["nodes"] = cause.nodes;
  result["tooSmall"] = cause.too_small;
  result["partlyUsed"] = cause.partly_used;
  result["pods"] = cause.pods;
  return result;
}

json::object json_domain(const DomainReport& domain) {
  json::object result{{"path", json_path(domain.path)},
                      {"nodes", domain.nodes},
                      {"slices", domain.slices},
                      {"pods", domain.pods},
                      {"missing", domain.missing},
                      {"leaderFits", domain.leader_fits},
                      {"podsIfEmpty", domain.pods_if_empty}};
  if (domain.blocking) result["blocking"] = json_cause(*domain.blocking);
  if (domain.balance) {
    const ResourceBalance& balance = *domain.balance;
    const auto amount = [&](int64_t value) { return format_amount(balance.resource, value); };
    result["balance"] = json::object{{"resource", balance.resource},
                                     {"allocatable", amount(balance.allocatable)},
                                     {"usedByWorkloads", amount(balance.used_by_workloads)},
                                     {"usedByOthers", amount(balance.used_by_others)},
                                     {"free", amount(balance.free)}};
  }
  json::array users;
  for (const auto& [workload, pods] : domain.used_by) {
    users.push_back(json::object{{"workload", workload}, {"pods", pods}});
  }
  result["usedBy"] = std::move(users);
  result["moreUsers"] = domain.more_users;
  return result;
}

json::object json_level(const LevelReport& level) {
  json::array best;
  for (const DomainReport& domain : level.best) best.push_back(json_domain(domain));
  return {{"level", level.level},
          {"role", role_name(level.role)},
          {"domains", level.domains},
          {"holdingSome", level.holding_some},
          {"holdingAll", level.holding_all},
          {"best", std::move(best)},
          {"more", level.more}};
}

json::object json_fits(const FitsAtLevel& fits) {
  return {{"level", fits.level}, {"domain", json_path(fits.domain)}, {"domains", fits.domains}};
}

json::object json_more_nodes(const MoreNodes& more) {
  json::array spread;
  for (const auto& [domain, nodes] : more.spread) {
    spread.push_back(json::object{{"domain", json_path(domain)}, {"nodes", nodes}});
  }
  return {{"domain", json_path(more.domain)},
          {"nodes", more.nodes},
          {"like", more.like},
          {"shape", json_resources(more.shape)},
          {"spread", std::move(spread)},
          {"moreSpreadDomains", more.more_spread_domains},
          {"moreSpreadNodes", more.more_spread_nodes}};
}

json::object json_remedies(const Remedies& remedies) {
  json::object result{{"fewerPods", remedies.fewer_pods}};
  if (remedies.coarser_level) result["coarserLevel"] = json_fits(*remedies.coarser_level);
  if (remedies.preferred) result["preferred"] = json_fits(*remedies.preferred);
  json::array more_nodes;
  for (const MoreNodes& more : remedies.more_nodes) more_nodes.push_back(json_more_nodes(more));
  result["moreNodes"] = std::move(more_nodes);
  const WithoutAdmitted& without = remedies.without_admitted_workloads;
  result["withoutAdmittedWorkloads"] = json::object{{"fits", without.fits}, {"pods", without.pods}};
  return result;
}

// ---- Text

std::string counted(int64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

// "cloud.provider.com/topology-rack" is called a rack.
std::string_view level_word(std::string_view key) {
  constexpr std::string_view kCommonPart = "topology-";
  std::string_view word = key.substr(key.rfind('/') + 1);  // npos + 1 is 0
  const size_t common = word.rfind(kCommonPart);
  if (common != std::string_view::npos) word.remove_prefix(common + kCommonPart.size());
  return word.empty() ? key : word;
}

std::string resources_text(const ResourceList& list) {
  std::vector<std::string> parts;
  for (const auto& [resource, amount] : list) {
    if (resource == "pods") continue;  // true of every pod and node, and hardly ever the point
    parts.push_back(fmt::format("{} {}", format_amount(resource, amount), resource));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

class TextWriter {
 public:
  explicit TextWriter(const Explanation& explanation)
      : explanation_(explanation),
        asked_(explanation.asked),
        node_(explanation.level_keys.back() == api::kHostnameLabel ? "node" : "domain") {}

  std::string run(bool full) {
    if (explanation_.levels.empty()) {  // nothing was searched
      line(0, counted(asked_.pods, "pod") + ": " + explanation_.context);
      return std::move(text_);
    }
    line(0, headline() + (asked_.without_admitted
                              ? ": does not fit, even without the admitted workloads"
                              : ": does not fit"));
    if (!explanation_.context.empty()) line(1, explanation_.context);
    if (explanation_.everything.nodes > 0) line(1, "best: " + domain_text(best(), true));
    write_causes(full);
    write_left_out();
    write_remedies();
    if (full) {
      for (const LevelReport& level : explanation_.levels) write_level(level);
    }
    return std::move(text_);
  }

 private:
  void line(int depth, std::string_view content) {
    text_ += fmt::format("{:{}}{}\n", "", depth * 2, content);
  }

  [[nodiscard]] std::string headline() const {
    std::string text = counted(asked_.pods, "pod");
    const std::string per_pod = resources_text(asked_.per_pod);
    if (!per_pod.empty()) text += " of " + per_pod;
    if (asked_.leader) {
      const std::string leader = resources_text(*asked_.leader);
      text += leader.empty() ? " and a leader" : " and a leader of " + leader;
    }
    for (const api::SliceConstraint& layer : asked_.slice_layers) {
      text += fmt::format(", in slices of {} per {}", layer.size, layer.topology);
    }
    if (asked_.mode == RequestMode::kUnconstrained) {
      return text + fmt::format(", anywhere in topology {}", explanation_.topology);
    }
    return text + fmt::format(", {} in one {}", mode_name(asked_.mode), asked_.level);
  }

  // The domain that comes nearest; if several may be used, all of them together.
  [[nodiscard]] const DomainReport& best() const {
    const LevelReport& level = explanation_.levels.front();
    const bool one_domain = asked_.mode == RequestMode::kRequired && !level.best.empty();
    return one_domain ? level.best.front() : explanation_.everything;
  }

  // `from`: leaves out so many levels, because the reader knows them already.
  [[nodiscard]] std::string path_text(const DomainPath& path, size_t from = 0) const {
    std::string text;
    for (size_t level = from; level < path.size(); ++level) {
      text += fmt::format("{}{} {}", level == from ? "" : " / ",
                          level_word(explanation_.level_keys[level]), path[level]);
    }
    return text.empty() ? "the whole topology" : text;
  }

  [[nodiscard]] std::string room_text(const DomainReport& domain) const {
    if (asked_.slice_size == 1) return domain.slices == 0 ? "none" : std::to_string(domain.slices);
    const std::string pods = counted(domain.pods, "pod");
    if (domain.slices == 0) return domain.pods == 0 ? "none" : pods + ", but no whole slice";
    return fmt::format("{} ({})", counted(domain.slices, "slice"), pods);
  }

  // `for_all`: the domain is measured by the whole request, not by one slice.
  [[nodiscard]] std::string domain_text(const DomainReport& domain, bool for_all) const {
    std::string text = fmt::format("{} holds {}", path_text(domain.path), room_text(domain));
    if (!domain.leader_fits) text += " but not the leader";
    if (domain.missing > 0 && for_all) text += fmt::format(", {} missing", domain.missing);
    if (domain.blocking) {
      text += ": " + cause_text(*domain.blocking, domain.nodes) + users_text(domain);
      if (for_all && domain.pods_if_empty < asked_.pods) {
        text += fmt::format("; at most {} even if empty", domain.pods_if_empty);
      }
    } else if (domain.missing > 0 && domain.nodes == 1) {
      text += fmt::format(": too small, its {} is free", node_);
    } else if (domain.missing > 0) {
      text += fmt::format(": too small, all its {} are free", counted(domain.nodes, node_));
    }
    return text;
  }

  [[nodiscard]] static std::string users_text(const DomainReport& domain) {
    if (domain.blocking->kind != CauseKind::kResource) return "";
    std::vector<std::string> users;
    for (const auto& [workload, pods] : domain.used_by) {
      users.push_back(fmt::format("{} {}", workload, counted(pods, "pod")));
    }
    if (domain.more_users > 0) {
      users.push_back(counted(static_cast<int64_t>(domain.more_users), "more workload"));
    }
    if (domain.balance && domain.balance->used_by_others > 0) {
      const ResourceBalance& balance = *domain.balance;
      users.push_back(fmt::format("other pods {} {}",
                                  format_amount(balance.resource, balance.used_by_others),
                                  balance.resource));
    }
    return users.empty() ? "" : fmt::format(" (used by {})", fmt::join(users, ", "));
  }

  [[nodiscard]] static std::string cause_name(const Cause& cause) {
    std::string text = cause.of_leader ? "for the leader " : "";
    switch (cause.kind) {
      case CauseKind::kResource:
        return text + "resource " + cause.name;
      case CauseKind::kTaint:
        return text + fmt::format("taint \"{}\"", cause.name);
      case CauseKind::kConfinement:
        return text + "outside the domain that the pods must stay in";
      case CauseKind::kNodeSelector:
      case CauseKind::kAffinity:
        break;
    }
    return text + std::string(kind_name(cause.kind));
  }

  [[nodiscard]] std::string cause_text(const Cause& cause, uint32_t of_nodes) const {
    std::string text = fmt::format("{} on {} of {}", cause_name(cause), cause.affected(),
                                   counted(of_nodes, node_));
    // The plain case, that others use what the pods need, goes without saying.
    std::vector<std::string> parts;
    const auto add = [&](uint32_t nodes, std::string_view state) {
      if (nodes == cause.affected()) parts.emplace_back(state);
      if (nodes > 0 && nodes < cause.affected())
        parts.push_back(fmt::format("{} {}", nodes, state));
    };
    add(cause.partly_used, "with some room");
    add(cause.too_small, "too small");
    return parts.empty() ? text : fmt::format("{}, {}", text, fmt::join(parts, ", "));
  }

  void write_causes(bool full) {
    const auto& causes = explanation_.causes;
    const size_t shown = full ? causes.size() : std::min(causes.size(), kCausesInShortText);
    if (shown == 0) return;
    std::vector<std::string> parts;
    for (size_t index = 0; index < shown; ++index) {
      parts.push_back(cause_text(causes[index], explanation_.everything.nodes));
    }
    const size_t more = causes.size() - shown + explanation_.more_causes;
    if (more > 0) parts.push_back(fmt::format("{} more", more));
    line(1, fmt::format("in the way: {}", fmt::join(parts, "; ")));
  }

  void write_left_out() {
    const LeftOut& left_out = explanation_.left_out;
    std::vector<std::string> parts;
    const auto add = [&](uint32_t nodes, std::string what) {
      if (nodes > 0) parts.push_back(fmt::format("{} {}", nodes, what));
    };
    add(left_out.not_ready, "not ready");
    add(left_out.unschedulable, "unschedulable");
    add(left_out.other_flavor, "of other flavors");
    for (const auto& [level, nodes] : left_out.lacking_label) add(nodes, "without label " + level);
    if (!parts.empty()) line(1, fmt::format("nodes left out: {}", fmt::join(parts, ", ")));
  }

  void write_remedies() {
    const Remedies& remedies = explanation_.remedies;
    std::vector<std::string> help;
    if (remedies.fewer_pods > 0) {
      help.push_back(fmt::format("{} instead of {}: fits now", counted(remedies.fewer_pods, "pod"),
                                 asked_.pods));
    }
    if (const auto& fits = remedies.coarser_level) {
      help.push_back(fmt::format("required in one {} instead: fits now, in {}", fits->level,
                                 path_text(fits->domain)));
    }
    if (const auto& fits = remedies.preferred) {
      const std::string where = fits->domains == 1
                                    ? path_text(fits->domain)
                                    : fmt::format("{} domains of {}", fits->domains, fits->level);
      help.push_back(fmt::format("preferred instead of required: fits now, in {}", where));
    }
    for (const MoreNodes& more : remedies.more_nodes) help.push_back(more_nodes_text(more));
    const WithoutAdmitted& without = remedies.without_admitted_workloads;
    if (without.fits) help.push_back("waiting: fits once enough workloads have ended");
    if (!help.empty()) line(1, "what would help:");
    for (const std::string& text : help) line(2, "- " + text);
    if (!without.fits && !asked_.without_admitted) {
      line(1, fmt::format(
                  "waiting for workloads to end does not help: with all of them gone {} fit",
                  without.pods == 0 ? "none would" : fmt::format("only {} would", without.pods)));
    }
  }

  [[nodiscard]] std::string more_nodes_text(const MoreNodes& more) const {
    const bool one_place = more.spread.size() == 1 && more.more_spread_domains == 0;
    const DomainPath& place = one_place ? more.spread[0].first : more.domain;
    std::string text =
        fmt::format("{} like {} ({}) {}", counted(more.nodes, "more node"), more.like,
                    resources_text(more.shape),
                    place.empty() ? "anywhere in the topology" : "in " + path_text(place));
    if (more.spread.empty() || one_place) return text;
    std::vector<std::string> parts;
    size_t other_domains = more.more_spread_domains;
    int64_t other_nodes = more.more_spread_nodes;
    for (const auto& [domain, nodes] : more.spread) {
      if (parts.size() < kSharesInText) {
        parts.push_back(fmt::format("{} in {}", nodes, path_text(domain, more.domain.size())));
      } else {
        ++other_domains;
        other_nodes += nodes;
      }
    }
    if (other_domains > 0)
      parts.push_back(fmt::format("{} in {} more", other_nodes, other_domains));
    return text + fmt::format(": {}", fmt::join(parts, ", "));
  }

  void write_level(const LevelReport& level) {
    const std::string unit = asked_.slice_size == 1 ? "pod" : "slice";
    std::string title = fmt::format("level {}: {}, {} with room for a {}", level.level,
                                    counted(level.domains, "domain"), level.holding_some, unit);
    const bool of_slices = level.role == LevelRole::kSlices;
    if (!of_slices) title += fmt::format(", {} for all", level.holding_all);
    line(1, title);
    for (const DomainReport& domain : level.best) {
      line(2, domain_text(domain, !of_slices));
    }
    if (level.more > 0) line(2, fmt::format("and {} more", level.more));
  }

  const Explanation& explanation_;
  const AskedFor& asked_;
  std::string_view node_;  // what a leaf is called
  std::string text_;
};

}  // namespace

json::value explanation_json(const Explanation& explanation) {
  json::array causes;
  for (const Cause& cause : explanation.causes) causes.push_back(json_cause(cause));
  json::array levels;
  for (const LevelReport& level : explanation.levels) levels.push_back(json_level(level));
  const int64_t fits = explanation.fits_slices;
  json::object document{
      {"topology", explanation.topology},
      {"levelKeys", json_path(explanation.level_keys)},
      {"asked", json_asked(explanation.asked)},
      {"fits", json::object{{"slices", fits}, {"pods", fits * explanation.asked.slice_size}}},
      {"searchedLevel", explanation.searched_level},
      {"leftOut", json_left_out(explanation.left_out)},
      {"everything", json_domain(explanation.everything)},
      {"causes", std::move(causes)},
      {"moreCauses", explanation.more_causes},
      {"levels", std::move(levels)},
      {"remedies", json_remedies(explanation.remedies)}};
  if (!explanation.context.empty()) document["context"] = explanation.context;
  return document;
}

std::string explanation_text(const Explanation& explanation, bool full) {
  return TextWriter(explanation).run(full);
}

}  // namespace phalanx::placement
