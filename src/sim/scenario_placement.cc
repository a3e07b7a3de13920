#include "sim/scenario_placement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "api/node.h"
#include "base/quantity.h"
#include "core/names.h"
#include "sim/document.h"
#include "sim/object_fields.h"
#include "sim/pod_resources.h"

namespace phalanx::sim {
namespace {

struct PlacedExpectation {
  std::string namespace_;
  std::string job;
  std::map<std::string, std::string> at;
  std::map<std::string, int64_t> on;
  std::map<std::string, std::string> within_labels;
  std::vector<std::string> same;

  Result<void> operator()(Backend& backend) const {
    const std::string place = fmt::format("pods of Job {}/{}", namespace_, job);
    const std::vector<Stored> pods = pods_of_job(backend);
    if (pods.empty()) return fail(place + ": there are none");
    for (const Stored& pod : pods) {
      if (!node_of(*pod).empty()) continue;
      return fail(fmt::format("{}: {} is bound to no node", place, name_of(*pod)));
    }
    if (auto checked = check_at(pods); !checked) return within(place, checked.error());
    if (auto checked = check_on(pods); !checked) return within(place, checked.error());
    if (auto checked = check_labels(backend, pods); !checked) {
      return within(place, checked.error());
    }
    return {};
  }

 private:
  static std::string_view node_of(const json::value& pod) {
    return string_at(pod, {"spec", "nodeName"});
  }
  static std::string_view name_of(const json::value& pod) {
    return string_at(pod, {"metadata", "name"});
  }

  [[nodiscard]] std::vector<Stored> pods_of_job(const Backend& backend) const {
    std::vector<Stored> pods;
    for (const Stored& pod : find_objects(backend, {api::Kind::kPod, namespace_, "*"})) {
      const auto owner = controller_of(*pod);
      if (owner && owner->kind == "Job" && owner->name == job && !is_terminal(*pod)) {
        pods.push_back(pod);
      }
    }
    return pods;
  }

  // Whether a key of `at` means this pod: its rank, or a glob of its name.
  static bool names(const std::string& key, const json::value& pod) {
    const bool rank = key.find_first_not_of("0123456789") == std::string::npos;
    if (!rank) return matches_glob(key, name_of(pod));
    return string_at(pod, {"metadata", "labels", core::names::kJobIndexLabel}) == key;
  }

  [[nodiscard]] Result<void> check_at(const std::vector<Stored>& pods) const {
    if (at.empty()) return {};
    std::set<std::string> used;
    for (const Stored& pod : pods) {
      bool named = false;
      for (const auto& [key, node] : at) {
        if (!names(key, *pod)) continue;
        named = true;
        used.insert(key);
        if (node_of(*pod) == node) continue;
        return fail(fmt::format("{} ({}): expected on {}, is on {}", key, name_of(*pod), node,
                                node_of(*pod)));
      }
      if (!named) {
        return fail(
            fmt::format("{} is on {}, but `at` does not name it", name_of(*pod), node_of(*pod)));
      }
    }
    for (const auto& [key, node] : at) {
      if (!used.contains(key)) return fail(fmt::format("{}: there is no such pod", key));
    }
    return {};
  }

  [[nodiscard]] Result<void> check_on(const std::vector<Stored>& pods) const {
    if (on.empty()) return {};
    std::map<std::string, int64_t> actual;
    for (const Stored& pod : pods) ++actual[std::string(node_of(*pod))];
    if (actual == on) return {};
    return fail(fmt::format("expected {}, are {}", on, actual));
  }

  [[nodiscard]] Result<void> check_labels(const Backend& backend,
                                          const std::vector<Stored>& pods) const {
    std::map<std::string, Stored> nodes;
    for (const Stored& node : backend.list(api::Kind::kNode)) {
      nodes.emplace(name_of(*node), node);
    }
    const auto value_of = [&](const json::value& pod, const std::string& label) {
      const auto node = nodes.find(std::string(node_of(pod)));
      return node == nodes.end() ? std::string_view()
                                 : string_at(*node->second, {"metadata", "labels", label});
    };
    for (const Stored& pod : pods) {
      for (const auto& [label, value] : within_labels) {
        if (value_of(*pod, label) == value) continue;
        return fail(fmt::format("{} is on {}, where {} is \"{}\", expected \"{}\"", name_of(*pod),
                                node_of(*pod), label, value_of(*pod, label), value));
      }
      for (const std::string& label : same) {
        if (value_of(*pod, label) == value_of(*pods.front(), label)) continue;
        return fail(fmt::format("{} is on {} and {} on {}, which differ in {}", name_of(*pod),
                                node_of(*pod), name_of(*pods.front()), node_of(*pods.front()),
                                label));
      }
    }
    return {};
  }
};

Result<std::vector<std::string>> read_same(const json::object& document) {
  const json::value* value = document.if_contains("same");
  std::vector<std::string> labels;
  if (value == nullptr) return labels;
  if (value->is_string()) {
    labels.emplace_back(value->get_string());
    return labels;
  }
  DecodeStatus status;
  const json::value whole(document);
  labels = JsonReader(&whole, "", status).strings("same");
  if (status.error()) return std::unexpected(*status.error());
  return labels;
}

Result<std::map<std::string, int64_t>> read_on(const json::object& document) {
  std::map<std::string, int64_t> counts;
  const json::value* value = document.if_contains("on");
  if (value == nullptr) return counts;
  constexpr std::string_view kShape = "on: must be a map of nodes to numbers of pods";
  if (!value->is_object()) return fail(std::string(kShape));
  for (const auto& [node, count] : value->get_object()) {
    if (!count.is_int64()) return fail(std::string(kShape));
    counts[std::string(node)] = count.get_int64();
  }
  return counts;
}

}  // namespace

Result<Expectation> read_placed(const json::object& document) {
  const json::value& written = *document.if_contains("placed");
  if (!written.is_string()) return fail("placed: must be a Job, like ml/train");
  std::string text(written.get_string());
  if (text.starts_with("Job ")) text.erase(0, 4);
  PlacedExpectation expectation;
  const size_t slash = text.find('/');
  expectation.namespace_ = slash == std::string::npos ? "default" : text.substr(0, slash);
  expectation.job = slash == std::string::npos ? text : text.substr(slash + 1);
  DecodeStatus status;
  const json::value whole(document);
  const JsonReader reader(&whole, "", status);
  expectation.at = reader.string_map("at");
  expectation.within_labels = reader.string_map("within");
  if (status.error()) return std::unexpected(*status.error());
  ASSIGN_OR_RETURN(expectation.on, read_on(document));
  ASSIGN_OR_RETURN(expectation.same, read_same(document));
  return expectation;
}

Result<void> check_no_overcommit(const Backend& backend) {
  std::map<std::string, api::ResourceAmounts> used;
  for (const Stored& pod : backend.list(api::Kind::kPod)) {
    const std::string node(string_at(*pod, {"spec", "nodeName"}));
    if (!node.empty() && !is_terminal(*pod)) api::add_to(used[node], pod_demand(*pod), 1);
  }
  for (const Stored& document : backend.list(api::Kind::kNode)) {
    DecodeStatus status;
    const api::Node node = api::read_node(JsonReader(document.get(), "", status));
    if (status.error()) continue;  // whoever wrote it hears of it elsewhere
    for (const auto& [resource, amount] : used[node.name]) {
      const int64_t offered = amount_of(node.allocatable, resource);
      if (amount <= offered) continue;
      return fail(fmt::format("Node {} is over-committed: its pods take {} of {}, it has {}",
                              node.name, format_amount(resource, amount), resource,
                              format_amount(resource, offered)));
    }
  }
  return {};
}

}  // namespace phalanx::sim
