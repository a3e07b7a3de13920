// Reading actions from their documents.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/spelling.h"
#include "base/yaml.h"
#include "sim/script.h"

namespace phalanx::sim {
namespace {

using Names = std::span<const std::string_view>;

constexpr std::array<std::string_view, 9> kVerbs{"apply", "patch", "delete", "node",   "nodes",
                                                 "pod",   "bind",  "run",    "restart"};

template <typename Value>
struct Choice {
  std::string_view name;
  Value value;
};

constexpr std::array<Choice<NodeState>, 7> kNodeStates{{{"Ready", NodeState::kReady},
                                                        {"NotReady", NodeState::kNotReady},
                                                        {"Unreachable", NodeState::kUnreachable},
                                                        {"Cordoned", NodeState::kCordoned},
                                                        {"Uncordoned", NodeState::kUncordoned},
                                                        {"Drained", NodeState::kDrained},
                                                        {"Deleted", NodeState::kDeleted}}};
constexpr std::array<Choice<bool>, 2> kPodEnds{{{"Succeeded", true}, {"Failed", false}}};
constexpr std::array<Choice<Propagation>, 3> kPropagations{
    {{"Background", Propagation::kBackground},
     {"Foreground", Propagation::kForeground},
     {"Orphan", Propagation::kOrphan}}};

// One step, field by field.
class ActionReader {
 public:
  ActionReader(const json::object& step, Names also) : step_(step), also_(also) {}

  Result<Action> read() {
    ASSIGN_OR_RETURN(const std::string_view verb, find_verb());
    Action action;
    if (verb == "apply") {
      RETURN_IF_ERROR(read_apply(action));
    } else if (verb == "patch") {
      RETURN_IF_ERROR(read_patch(action));
    } else if (verb == "delete") {
      RETURN_IF_ERROR(read_delete(action));
    } else if (verb == "node" || verb == "nodes") {
      RETURN_IF_ERROR(read_nodes(verb, action));
    } else if (verb == "pod") {
      RETURN_IF_ERROR(read_pod(action));
    } else if (verb == "bind") {
      RETURN_IF_ERROR(read_bind(action));
    } else if (verb == "run") {
      RETURN_IF_ERROR(read_run(action));
    } else {
      RETURN_IF_ERROR(read_restart(action));
    }
    return action;
  }

 private:
  Result<std::string_view> find_verb() {
    std::string_view verb;
    for (const std::string_view name : kVerbs) {
      if (!step_.contains(name)) continue;
      if (!verb.empty()) {
        return fail(fmt::format(
            "holds both `{}` and `{}`; one step does one thing, make it two steps", verb, name));
      }
      verb = name;
    }
    if (!verb.empty()) return verb;
    RETURN_IF_ERROR(check_fields(step_, kVerbs, also_));
    return fail(fmt::format("says nothing to do; give it one of {}", fmt::join(kVerbs, ", ")));
  }

  Result<void> only(std::initializer_list<std::string_view> fields) {
    return check_fields(step_, {fields.begin(), fields.size()}, also_);
  }

  Result<std::string> text(std::string_view field) {
    const json::value* value = step_.if_contains(field);
    if (value == nullptr || value->is_null()) return fail(fmt::format("{}: is required", field));
    if (!value->is_string()) return fail(fmt::format("{}: must be a text", field));
    return std::string(value->get_string());
  }

  Result<ObjectPattern> pattern(std::string_view field) {
    ASSIGN_OR_RETURN(const std::string written, text(field));
    auto parsed = parse_pattern(written);
    if (!parsed) return within(field, parsed.error());
    return parsed;
  }

  template <typename Value, size_t Count>
  Result<Value> choice(std::string_view field, const std::array<Choice<Value>, Count>& choices) {
    ASSIGN_OR_RETURN(const std::string written, text(field));
    std::vector<std::string_view> names;
    for (const Choice<Value>& each : choices) {
      if (each.name == written) return each.value;
      names.push_back(each.name);
    }
    return fail(fmt::format("{}: \"{}\" is none of {}{}", field, written, fmt::join(names, ", "),
                            closest(written, names).empty() ? "" : suggestion(written, names)));
  }

  Result<bool> flag(std::string_view field) {
    const json::value* value = step_.if_contains(field);
    if (value == nullptr) return false;
    if (!value->is_bool()) return fail(fmt::format("{}: must be true or false", field));
    return value->get_bool();
  }

  Result<void> read_refused(Action& action) {
    if (!step_.contains("refused")) return {};
    ASSIGN_OR_RETURN(action.refused, text("refused"));
    return {};
  }

  Result<void> read_apply(Action& action) {
    RETURN_IF_ERROR(only({"apply", "ownedBy", "refused"}));
    ApplyAction apply;
    ASSIGN_OR_RETURN(apply.documents, read_documents(*step_.if_contains("apply"), "apply"));
    if (step_.contains("ownedBy")) {
      ASSIGN_OR_RETURN(apply.owner, pattern("ownedBy"));
    }
    action.what = std::move(apply);
    return read_refused(action);
  }

  Result<void> read_patch(Action& action) {
    RETURN_IF_ERROR(only({"patch", "with", "status", "refused"}));
    ASSIGN_OR_RETURN(const ObjectPattern object, pattern("patch"));
    const json::value* patch = step_.if_contains("with");
    if (patch == nullptr || !patch->is_object()) {
      return fail("with: must be the merge patch, like {spec: {suspend: true}}");
    }
    ASSIGN_OR_RETURN(const bool status, flag("status"));
    action.what = PatchAction{object, *patch, status};
    return read_refused(action);
  }

  Result<void> read_delete(Action& action) {
    RETURN_IF_ERROR(only({"delete", "propagation", "refused"}));
    DeleteAction removal;
    ASSIGN_OR_RETURN(removal.object, pattern("delete"));
    if (step_.contains("propagation")) {
      ASSIGN_OR_RETURN(removal.propagation, choice("propagation", kPropagations));
    }
    action.what = std::move(removal);
    return read_refused(action);
  }

  Result<void> read_nodes(std::string_view verb, Action& action) {
    RETURN_IF_ERROR(only({verb, "becomes"}));
    NodeAction nodes;
    if (verb == "node") {
      ASSIGN_OR_RETURN(nodes.name, text("node"));
    } else {
      nodes.name = "*";
      DecodeStatus status;
      const json::value whole(step_);
      nodes.labels = JsonReader(&whole, "", status).string_map("nodes");
      if (status.error()) return std::unexpected(*status.error());
      if (nodes.labels.empty()) return fail("nodes: must name at least one label and its value");
    }
    ASSIGN_OR_RETURN(nodes.becomes, choice("becomes", kNodeStates));
    action.what = std::move(nodes);
    return {};
  }

  Result<ObjectPattern> pods(std::string_view field) {
    ASSIGN_OR_RETURN(const std::string written, text(field));
    // "ml/train-*" and "Pod ml/train-*" mean the same.
    auto parsed =
        parse_pattern(written.find(' ') == std::string::npos ? "Pod " + written : written);
    if (!parsed) return within(field, parsed.error());
    if (parsed->kind != api::Kind::kPod) return fail(fmt::format("{}: must be a pod", field));
    return parsed;
  }

  Result<void> read_pod(Action& action) {
    RETURN_IF_ERROR(only({"pod", "becomes"}));
    PodAction change;
    ASSIGN_OR_RETURN(change.pods, pods("pod"));
    ASSIGN_OR_RETURN(change.succeeds, choice("becomes", kPodEnds));
    action.what = std::move(change);
    return {};
  }

  Result<void> read_bind(Action& action) {
    RETURN_IF_ERROR(only({"bind", "to", "refused"}));
    BindAction binding;
    ASSIGN_OR_RETURN(binding.pods, pods("bind"));
    ASSIGN_OR_RETURN(binding.node, text("to"));
    action.what = std::move(binding);
    return read_refused(action);
  }

  Result<void> read_run(Action& action) {
    RETURN_IF_ERROR(only({"run"}));
    ASSIGN_OR_RETURN(const std::string written, text("run"));
    const auto duration = parse_duration(written);
    if (!duration) return within("run", duration.error());
    action.what = RunAction{*duration};
    return {};
  }

  Result<void> read_restart(Action& action) {
    RETURN_IF_ERROR(only({"restart"}));
    ASSIGN_OR_RETURN(const std::string written, text("restart"));
    if (written != "core") return fail("restart: must be core; nothing else can be restarted");
    action.what = RestartAction{};
    return {};
  }

  const json::object& step_;
  Names also_;
};

Result<void> check_document(const json::value& document, const std::string& path) {
  const json::object* object = document.if_object();
  for (const std::string_view field : {"apiVersion", "kind"}) {
    const json::value* value = object == nullptr ? nullptr : object->if_contains(field);
    if (value != nullptr && value->is_string()) continue;
    return fail(fmt::format("{}: must be a manifest with apiVersion, kind and metadata", path));
  }
  return {};
}

}  // namespace

Result<void> check_fields(const json::object& object, Names fields, Names also) {
  for (const auto& field : object) {
    const std::string_view name = field.key();
    if (std::ranges::find(fields, name) != fields.end()) continue;
    if (std::ranges::find(also, name) != also.end()) continue;
    std::vector<std::string_view> all(fields.begin(), fields.end());
    all.insert(all.end(), also.begin(), also.end());
    return fail(fmt::format("{}: unknown field{}", name, suggestion(name, all)));
  }
  return {};
}

Result<std::vector<json::value>> read_documents(const json::value& value, const std::string& path) {
  std::vector<json::value> documents;
  if (value.is_string()) {
    auto parsed = parse_documents(value.get_string());
    if (!parsed) return within(path, parsed.error());
    for (Document& document : *parsed) documents.push_back(std::move(document.value));
  } else if (value.is_array()) {
    for (const json::value& document : value.get_array()) documents.push_back(document);
  } else {
    documents.push_back(value);
  }
  for (size_t i = 0; i < documents.size(); ++i) {
    const std::string place = documents.size() == 1 ? path : fmt::format("{}[{}]", path, i);
    RETURN_IF_ERROR(check_document(documents[i], place));
  }
  return documents;
}

Result<Action> read_action(const json::value& step, Names also) {
  if (!step.is_object()) return fail("must be an action, like {run: 10s}");
  return ActionReader(step.get_object(), also).read();
}

}  // namespace phalanx::sim
