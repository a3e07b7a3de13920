// Actions on a cluster, as people write them: what scenarios (sim/scenario.h) and timelines are
// made of.
//
//   apply: {manifest}, [manifests] or a YAML text     as kubectl apply; ownedBy: Kind name
//   patch: Kind namespace/name                        with: {merge patch}; status: true
//   delete: Kind namespace/name                       propagation: Background|Foreground|Orphan
//   node: name or nodes: {label: value}               becomes: Ready, NotReady, Unreachable, ...
//   pod: namespace/name                               becomes: Succeeded|Failed
//   bind: Pod namespace/name                          to: node
//   run: 30s
//   restart: core
//
// Beside apply, patch, delete and bind, `refused: "text"` says that the API server must refuse, in
// words that contain the text. Names may hold * and ?.
//
// Everything goes through a Backend, so that the same actions run on the embedded cluster and on a
// real control plane. docs/reference/scenario.md is the reference for users.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/kind.h"
#include "base/error.h"
#include "base/json.h"
#include "base/time.h"
#include "sim/api_error.h"
#include "sim/deletion.h"
#include "sim/store.h"

namespace phalanx::sim {

// What a script needs of a cluster.
class Backend {
 public:
  virtual ~Backend() = default;

  // As kubectl apply: creates the object, or changes it to what the document says.
  virtual ApiResult<Stored> apply(const json::value& document) = 0;
  virtual ApiResult<Stored> patch(const api::ObjectKey& key, const json::value& merge_patch,
                                  bool status) = 0;
  virtual ApiResult<void> remove(const api::ObjectKey& key, Propagation propagation) = 0;
  virtual ApiResult<void> bind(const api::ObjectKey& pod, const std::string& node) = 0;
  // By namespace, then name.
  [[nodiscard]] virtual std::vector<Stored> list(api::Kind kind) const = 0;

  [[nodiscard]] virtual Time now() const = 0;
  // Lets time pass, and everybody come to rest; with no time at all, only the latter.
  virtual Result<void> pass(Duration duration) = 0;
  // What must be so in the end. In virtual time everything is over when pass() returns; on a real
  // cluster it is asked again for a while.
  virtual Result<void> eventually(const std::function<Result<void>()>& check) { return check(); }
  // Throws the core away and builds it anew from what the API server holds.
  virtual void restart_core() = 0;

  // All lines of the decision journal since the beginning, over restarts.
  [[nodiscard]] virtual const std::vector<std::string>& journal() const = 0;
  // Whether what the core has booked is what the objects say; the error says where it is not.
  virtual Result<void> check_account() = 0;
};

// Whether the text is what the glob says: * is any text, ? is one character.
bool matches_glob(std::string_view glob, std::string_view text);

// Objects of one kind whose namespace and name match globs.
struct ObjectPattern {
  api::Kind kind = api::Kind::kPod;
  std::string namespace_;  // empty for kinds that have none
  std::string name;

  [[nodiscard]] bool matches(const api::ObjectKey& key) const;
  // "Job ml/train-*".
  [[nodiscard]] std::string text() const;
};

// "Job ml/train", "pods ml/*", "Node r0-*". Without a namespace a namespaced kind is in "default".
Result<ObjectPattern> parse_pattern(std::string_view text);

std::vector<Stored> find_objects(const Backend& backend, const ObjectPattern& pattern);
// Exactly one object must match.
Result<Stored> find_object(const Backend& backend, const ObjectPattern& pattern);

struct ApplyAction {
  std::vector<json::value> documents;
  std::optional<ObjectPattern> owner = {};  // which controls them
};

struct PatchAction {
  ObjectPattern object;
  json::value patch;
  bool status = false;
};

struct DeleteAction {
  ObjectPattern object;
  Propagation propagation = Propagation::kBackground;
};

enum class NodeState : uint8_t {
  kReady,
  kNotReady,
  kUnreachable,
  kCordoned,
  kUncordoned,
  kDrained,  // cordoned, and its pods deleted
  kDeleted,
};

struct NodeAction {
  std::string name;                           // a glob
  std::map<std::string, std::string> labels;  // nodes that have all of them
  NodeState becomes = NodeState::kReady;
};

struct PodAction {
  ObjectPattern pods;
  bool succeeds = true;
};

struct BindAction {
  ObjectPattern pods;
  std::string node;
};

struct RunAction {
  Duration duration{};
};

struct RestartAction {};

struct Action {
  std::variant<ApplyAction, PatchAction, DeleteAction, NodeAction, PodAction, BindAction, RunAction,
               RestartAction>
      what;
  std::optional<std::string> refused;  // what the refusal must contain
};

// Reads one action. Fields it does not have are errors, except those in `also`, which belong to
// whoever has the action (the time in a timeline). Errors begin with the field's path.
Result<Action> read_action(const json::value& step, std::span<const std::string_view> also = {});

// Carries it out. The error says which object was refused and why, or which one is missing, or that
// something was accepted that should not be. Nobody has reacted yet when it returns, except to the
// passing of time.
Result<void> perform(const Action& action, Backend& backend);

// One document, a list of them, or a text that holds some. `path` is for errors.
Result<std::vector<json::value>> read_documents(const json::value& value, const std::string& path);

// A field that is in neither list is an error, with the one that was probably meant.
Result<void> check_fields(const json::object& object, std::span<const std::string_view> fields,
                          std::span<const std::string_view> also = {});

}  // namespace phalanx::sim
