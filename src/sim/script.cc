#include "sim/script.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/spelling.h"
#include "sim/document.h"
#include "sim/node_lifecycle.h"
#include "sim/object_fields.h"
#include "sim/pod_status.h"

namespace phalanx::sim {
namespace {

// 143 would be "killed"; a failure that a script asks for is the program's own.
constexpr int64_t kFailureExitCode = 1;

bool same_word(std::string_view a, std::string_view b) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return std::ranges::equal(a, b, {}, lower, lower);
}

// By its name or plural, in any case.
Result<api::Kind> parse_kind(std::string_view text) {
  std::vector<std::string_view> names;
  for (const api::KindInfo& kind : api::all_kinds()) {
    if (same_word(kind.name, text) || same_word(kind.plural, text)) return kind.kind;
    names.push_back(kind.name);
  }
  return fail(fmt::format("there is no kind \"{}\" here{}", text, suggestion(text, names)));
}

std::string text_of(const json::value& document) {
  const std::string_view kind = string_at(document, {"kind"});
  const std::string_view space = string_at(document, {"metadata", "namespace"});
  std::string_view name = string_at(document, {"metadata", "name"});
  if (name.empty()) name = string_at(document, {"metadata", "generateName"});
  return fmt::format("{} {}{}{}", kind, space, space.empty() ? "" : "/", name);
}

// A write that happened as it should: done, or refused in the words that were expected.
Result<void> check(const std::optional<std::string>& refused, const std::string& object,
                   const std::optional<ApiError>& error) {
  if (!refused) {
    if (!error) return {};
    return fail(fmt::format("{}: {}", object, error->message));
  }
  if (!error) {
    return fail(
        fmt::format("{}: was accepted, but should be refused with \"{}\"", object, *refused));
  }
  if (error->message.find(*refused) != std::string::npos) return {};
  return fail(fmt::format("{}: should be refused with \"{}\", but was refused with \"{}\"", object,
                          *refused, error->message));
}

template <typename T>
std::optional<ApiError> error_of(const ApiResult<T>& result) {
  if (result) return std::nullopt;
  return result.error();
}

class Performer {
 public:
  Performer(Backend& backend, const std::optional<std::string>& refused)
      : backend_(backend), refused_(refused) {}

  Result<void> operator()(const ApplyAction& action) {
    std::optional<json::object> owner;
    if (action.owner) {
      ASSIGN_OR_RETURN(owner, reference_to(*action.owner));
    }
    for (json::value document : action.documents) {
      if (owner) ensure_object(document, {"metadata"})["ownerReferences"] = json::array{*owner};
      RETURN_IF_ERROR(check(refused_, text_of(document), error_of(backend_.apply(document))));
    }
    return {};
  }

  Result<void> operator()(const PatchAction& action) {
    ASSIGN_OR_RETURN(const api::ObjectKey key, one(action.object));
    return check(refused_, key.text(), error_of(backend_.patch(key, action.patch, action.status)));
  }

  Result<void> operator()(const DeleteAction& action) {
    ASSIGN_OR_RETURN(const api::ObjectKey key, one(action.object));
    return check(refused_, key.text(), error_of(backend_.remove(key, action.propagation)));
  }

  Result<void> operator()(const NodeAction& action) {
    bool any = false;
    for (const Stored& node : find_objects(backend_, {api::Kind::kNode, "", action.name})) {
      const bool chosen = std::ranges::all_of(action.labels, [&](const auto& label) {
        return string_at(*node, {"metadata", "labels", label.first}) == label.second;
      });
      if (!chosen) continue;
      any = true;
      RETURN_IF_ERROR(change_node(key_of(api::Kind::kNode, *node), action.becomes));
    }
    if (any) return {};
    if (action.labels.empty()) return fail(fmt::format("there is no Node {}", action.name));
    return fail("there is no Node with these labels");
  }

  Result<void> operator()(const PodAction& action) {
    ASSIGN_OR_RETURN(const auto pods, some(action.pods));
    for (const Stored& pod : pods) {
      const api::ObjectKey key = key_of(api::Kind::kPod, *pod);
      if (is_terminal(*pod)) return fail(fmt::format("{}: has ended already", key.text()));
      const int64_t exit_code = action.succeeds ? 0 : kFailureExitCode;
      const json::object patch{{"status", ended_status(*pod, exit_code, backend_.now())}};
      RETURN_IF_ERROR(check({}, key.text(), error_of(backend_.patch(key, patch, true))));
    }
    return {};
  }

  Result<void> operator()(const BindAction& action) {
    ASSIGN_OR_RETURN(const auto pods, some(action.pods));
    for (const Stored& pod : pods) {
      const api::ObjectKey key = key_of(api::Kind::kPod, *pod);
      RETURN_IF_ERROR(check(refused_, key.text(), error_of(backend_.bind(key, action.node))));
    }
    return {};
  }

  Result<void> operator()(const RunAction& action) { return backend_.pass(action.duration); }

  Result<void> operator()(const RestartAction&) {
    backend_.restart_core();
    return {};
  }

 private:
  Result<json::object> reference_to(const ObjectPattern& pattern) {
    ASSIGN_OR_RETURN(const Stored object, find_object(backend_, pattern));
    return json::object{{"apiVersion", string_at(*object, {"apiVersion"})},
                        {"kind", string_at(*object, {"kind"})},
                        {"name", string_at(*object, {"metadata", "name"})},
                        {"uid", uid_of(*object)},
                        {"controller", true}};
  }

  Result<api::ObjectKey> one(const ObjectPattern& pattern) {
    ASSIGN_OR_RETURN(const Stored object, find_object(backend_, pattern));
    return key_of(pattern.kind, *object);
  }

  Result<std::vector<Stored>> some(const ObjectPattern& pattern) {
    auto objects = find_objects(backend_, pattern);
    if (objects.empty()) return fail(fmt::format("there is no {}", pattern.text()));
    return objects;
  }

  Result<void> change_node(const api::ObjectKey& key, NodeState state) {
    if (state == NodeState::kDeleted) {
      return check({}, key.text(), error_of(backend_.remove(key, Propagation::kBackground)));
    }
    json::object patch;
    switch (state) {
      case NodeState::kReady:
        patch = kubelet_annotation(nullptr);
        break;
      case NodeState::kNotReady:
        patch = kubelet_annotation("not-ready");
        break;
      case NodeState::kUnreachable:
        patch = kubelet_annotation("down");
        break;
      case NodeState::kCordoned:
      case NodeState::kDrained:
      case NodeState::kUncordoned:
        patch["spec"] = json::object{{"unschedulable", state != NodeState::kUncordoned}};
        break;
      case NodeState::kDeleted:
        break;
    }
    RETURN_IF_ERROR(check({}, key.text(), error_of(backend_.patch(key, patch, false))));
    return state == NodeState::kDrained ? remove_pods_of(key.name) : Result<void>();
  }

  // As kubectl drain does with pods that a controller will make again.
  Result<void> remove_pods_of(const std::string& node) {
    for (const Stored& pod : backend_.list(api::Kind::kPod)) {
      const auto owner = controller_of(*pod);
      const bool stays = owner && owner->kind == "DaemonSet";
      if (string_at(*pod, {"spec", "nodeName"}) != node || is_terminal(*pod) || stays) continue;
      const api::ObjectKey key = key_of(api::Kind::kPod, *pod);
      RETURN_IF_ERROR(
          check({}, key.text(), error_of(backend_.remove(key, Propagation::kBackground))));
    }
    return {};
  }

  // How a kubelet is told what to play (sim/node_lifecycle.h).
  static json::object kubelet_annotation(const json::value& state) {
    return {{"metadata", json::object{{"annotations", json::object{{kKubeletAnnotation, state}}}}}};
  }

  Backend& backend_;
  const std::optional<std::string>& refused_;
};

}  // namespace

bool matches_glob(std::string_view glob, std::string_view text) {
  size_t in_glob = 0;
  size_t in_text = 0;
  size_t star = std::string_view::npos;  // the last one met
  size_t tried = 0;                      // where the text after it was last tried to begin
  while (in_text < text.size()) {
    if (in_glob < glob.size() && glob[in_glob] == '*') {
      star = in_glob++;
      tried = in_text;
    } else if (in_glob < glob.size() && (glob[in_glob] == '?' || glob[in_glob] == text[in_text])) {
      ++in_glob;
      ++in_text;
    } else if (star != std::string_view::npos) {
      in_glob = star + 1;
      in_text = ++tried;
    } else {
      return false;
    }
  }
  return glob.find_first_not_of('*', in_glob) == std::string_view::npos;
}

bool ObjectPattern::matches(const api::ObjectKey& key) const {
  return key.kind == kind && matches_glob(namespace_, key.namespace_) &&
         matches_glob(name, key.name);
}

std::string ObjectPattern::text() const {
  return api::ObjectKey{kind, namespace_, name}.text();
}

Result<ObjectPattern> parse_pattern(std::string_view text) {
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || space + 1 == text.size() ||
      text.find(' ', space + 1) != std::string_view::npos) {
    return fail(fmt::format("\"{}\" must be a kind and a name, like Job ml/train", text));
  }
  ASSIGN_OR_RETURN(const api::Kind kind, parse_kind(text.substr(0, space)));
  const std::string_view name = text.substr(space + 1);
  const size_t slash = name.find('/');
  const bool namespaced = api::info(kind).namespaced;
  if (slash == std::string_view::npos) {
    return ObjectPattern{kind, namespaced ? "default" : "", std::string(name)};
  }
  if (!namespaced) {
    return fail(fmt::format("\"{}\": a {} has no namespace", text, api::info(kind).name));
  }
  return ObjectPattern{kind, std::string(name.substr(0, slash)),
                       std::string(name.substr(slash + 1))};
}

std::vector<Stored> find_objects(const Backend& backend, const ObjectPattern& pattern) {
  std::vector<Stored> objects = backend.list(pattern.kind);
  std::erase_if(objects, [&](const Stored& object) {
    return !pattern.matches(key_of(pattern.kind, *object));
  });
  return objects;
}

Result<Stored> find_object(const Backend& backend, const ObjectPattern& pattern) {
  std::vector<Stored> objects = find_objects(backend, pattern);
  if (objects.size() == 1) return std::move(objects.front());
  if (objects.empty()) return fail(fmt::format("there is no {}", pattern.text()));
  return fail(fmt::format("{}: matches {} objects, among them {} and {}; it must match one",
                          pattern.text(), objects.size(),
                          string_at(*objects[0], {"metadata", "name"}),
                          string_at(*objects[1], {"metadata", "name"})));
}

Result<void> perform(const Action& action, Backend& backend) {
  return std::visit(Performer(backend, action.refused), action.what);
}

}  // namespace phalanx::sim
