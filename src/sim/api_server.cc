#include "sim/api_server.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "base/json_patch.h"
#include "sim/apply.h"
#include "sim/document.h"
#include "sim/kind_rules.h"
#include "sim/managed_fields.h"
#include "sim/metadata.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kDefaultNamespace = "default";
constexpr std::string_view kSystemNamespace = "kube-system";

// Letters and digits of generated names: none that could spell a word.
constexpr std::string_view kSuffixCharacters = "bcdfghjklmnpqrstvwxz2456789";
constexpr size_t kSuffixLength = 5;
constexpr size_t kMaxGeneratedName = 63;
constexpr int kNameAttempts = 8;

std::string stale_version(const json::value& old_object, std::string_view version) {
  return fmt::format(
      "the object has changed: it is at resourceVersion {}, but the write is based on {}; read it "
      "again and repeat the change",
      string_at(old_object, {"metadata", "resourceVersion"}), version);
}

// The version and uid that the client saw, if it says so.
ApiResult<void> check_preconditions(const api::ObjectKey& key, const json::value& old_object,
                                    const json::value& document) {
  const std::string_view uid = uid_of(document);
  if (!uid.empty() && uid != uid_of(old_object)) {
    return conflict(key, fmt::format("the write is meant for the object with uid {}, but this one "
                                     "has uid {}: it was deleted and created anew",
                                     uid, uid_of(old_object)));
  }
  const std::string_view version = string_at(document, {"metadata", "resourceVersion"});
  if (!version.empty() && version != "0" &&
      version != string_at(old_object, {"metadata", "resourceVersion"})) {
    return conflict(key, stale_version(old_object, version));
  }
  return {};
}

// The old object with the status of the document, or the document with the status of the old one.
json::value join_status(const json::value& old_object, json::value document, bool write_status) {
  const json::value* new_status = find_at(document, {"status"});
  const json::value* old_status = find_at(old_object, {"status"});
  if (write_status) {
    json::value object = old_object;
    set_or_erase(object.get_object(), "status", new_status);
    return object;
  }
  set_or_erase(document.get_object(), "status", old_status);
  return document;
}

std::unexpected<ApiError> no_status(const api::ObjectKey& key) {
  return std::unexpected(ApiError{
      404, "NotFound", fmt::format("{}: has no status subresource; write it whole", key.text())});
}

// A patch is for the object at `key`, and leaves it that object.
ApiResult<void> check_key(const api::ObjectKey& key, const ApiResult<api::Kind>& kind,
                          const json::value& document) {
  if (!kind) return std::unexpected(kind.error());
  const api::ObjectKey patched = key_of(*kind, document);
  if (patched == key) return {};
  return bad_request(fmt::format("{}: a patch cannot make it {}", key.text(), patched.text()));
}

bool is_custom(api::Kind kind) {
  return api::info(kind).group.ends_with(".x-k8s.io");
}

}  // namespace

ApiServer::ApiServer(const Clock& clock, uint64_t seed) : clock_(clock), random_(seed) {
  for (const std::string_view name : {kDefaultNamespace, kSystemNamespace}) {
    const auto created = create(json::object{
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", name}}}});
    CHECK(created.has_value());
  }
}

void ApiServer::add_mutating_hook(AdmissionHook hook, bool for_status) {
  mutating_.push_back({std::move(hook), for_status});
}

void ApiServer::add_validating_hook(AdmissionHook hook, bool for_status) {
  validating_.push_back({std::move(hook), for_status});
}

void ApiServer::set_converter(Converter converter) {
  converter_ = std::move(converter);
}

// Which kind a document is, in its stored version and with metadata that can be read.
ApiResult<api::Kind> ApiServer::identify(json::value& document) const {
  if (!document.is_object()) {
    return bad_request("a document must be an object with apiVersion, kind and metadata");
  }
  if (!json_size(document)) {
    return bad_request("the document is nested too deeply to be an object of the API");
  }
  const std::string api_version(string_at(document, {"apiVersion"}));
  const std::string name(string_at(document, {"kind"}));
  const auto kind = api::find_kind(api_version, name);
  if (!kind) {
    return std::unexpected(
        ApiError{404, "NotFound",
                 fmt::format("this cluster knows no kind \"{}\" of apiVersion \"{}\"; check both",
                             name, api_version)});
  }
  if (api_version != api::api_version(*kind)) {
    if (!converter_) {
      return bad_request(fmt::format("{}: apiVersion {} is not stored; write it as {}", name,
                                     api_version, api::api_version(*kind)));
    }
    RETURN_IF_ERROR(converter_(*kind, document));
    CHECK(string_at(document, {"apiVersion"}) == api::api_version(*kind));
  }
  drop_nulls(document);
  const json::value* metadata = find_at(document, {"metadata"});
  if (metadata != nullptr && !metadata->is_object()) {
    return bad_request(name + ": metadata: must be an object");
  }
  for (const std::string_view field :
       {"name", "generateName", "namespace", "uid", "resourceVersion"}) {
    const json::value* value = find_at(document, {"metadata", field});
    if (value != nullptr && !value->is_string()) {
      return bad_request(
          fmt::format("{}: metadata.{}: must be a string; put it in quotes", name, field));
    }
  }
  json::object& present = ensure_object(document, {"metadata"});
  if (api::info(*kind).namespaced && string_field(present, "namespace").empty()) {
    present["namespace"] = kDefaultNamespace;
  }
  return *kind;
}

ApiResult<void> ApiServer::check_namespace(const api::ObjectKey& key) const {
  if (key.namespace_.empty()) return {};
  const api::ObjectKey namespace_key{api::Kind::kNamespace, "", key.namespace_};
  const Stored found = store_.find(namespace_key);
  if (!found) {
    auto error = not_found(namespace_key);
    return std::unexpected(
        ApiError{404, "NotFound",
                 fmt::format("{}: {}; create it first", key.text(), error.error().message)});
  }
  if (is_deleted(*found)) {
    return forbidden(key, fmt::format("namespace {} is being deleted, nothing can be created in it",
                                      key.namespace_));
  }
  return {};
}

ApiResult<void> ApiServer::choose_name(api::Kind kind, json::value& document) {
  json::object& metadata = ensure_object(document, {"metadata"});
  if (!string_field(metadata, "name").empty()) return {};
  const std::string prefix(string_field(metadata, "generateName"));
  if (prefix.empty()) {
    return bad_request(fmt::format("{}: metadata.name: is required, or metadata.generateName",
                                   api::info(kind).name));
  }
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string name = prefix.substr(0, kMaxGeneratedName - kSuffixLength);
    for (size_t i = 0; i < kSuffixLength; ++i) {
      name += kSuffixCharacters[random_.below(kSuffixCharacters.size())];
    }
    metadata["name"] = name;
    if (!store_.find(key_of(kind, document))) break;
  }
  return {};
}

std::string ApiServer::new_uid() {
  const uint64_t high = random_.next();
  const uint64_t low = random_.next();
  // Version 4, variant 10 in binary.
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFF, 0x8000 | ((low >> 48) & 0x3FFF), low & 0xFFFF'FFFF'FFFF);
}

ApiResult<void> ApiServer::run_hooks(const std::vector<Hook>& hooks, AdmissionRequest& request) {
  for (const Hook& hook : hooks) {
    if (request.status && !hook.for_status) continue;
    RETURN_IF_ERROR(hook.run(request));
  }
  return {};
}

ApiResult<void> ApiServer::admit(const api::ObjectKey& key, const json::value* old_object,
                                 json::value& object, const WriteOptions& options) {
  const RuleInput input{store_, clock_.now(), options.status, old_object};
  AdmissionRequest request{old_object == nullptr ? Operation::kCreate : Operation::kUpdate,
                           key.kind,
                           options.status,
                           old_object,
                           &object,
                           options.strict_fields};
  RETURN_IF_ERROR(check_fields(key, object, options.strict_fields));
  RETURN_IF_ERROR(apply_defaults(input, key.kind, object));
  RETURN_IF_ERROR(run_hooks(mutating_, request));
  RETURN_IF_ERROR(apply_defaults(input, key.kind, object));
  CHECK(object.is_object());
  drop_nulls(object);
  Problems problems;
  check_metadata(key.kind, object, problems);
  if (old_object != nullptr) check_metadata_update(*old_object, object, problems);
  check_object(input, key.kind, object, problems);
  RETURN_IF_ERROR(refuse_if_any(key, problems));
  RETURN_IF_ERROR(check_size(key, object));
  RETURN_IF_ERROR(enforce_policies(input, key, object));
  RETURN_IF_ERROR(run_hooks(validating_, request));
  CHECK(key_of(key.kind, object) == key);
  return {};
}

Stored ApiServer::commit(const api::ObjectKey& key, json::value document) {
  ensure_object(document, {"metadata"})["resourceVersion"] = std::to_string(store_.next_version());
  auto stored = std::make_shared<const json::value>(std::move(document));
  if (may_go(*stored)) {
    store_.erase(key, stored);
  } else {
    store_.put(key, stored);
  }
  return stored;
}

void ApiServer::erase(const api::ObjectKey& key, json::value last) {
  ensure_object(last, {"metadata"})["resourceVersion"] = std::to_string(store_.next_version());
  store_.erase(key, std::make_shared<const json::value>(std::move(last)));
}

ApiResult<Stored> ApiServer::create(json::value document, const WriteOptions& options) {
  return insert(std::move(document), options, false);
}

ApiResult<Stored> ApiServer::insert(json::value document, const WriteOptions& options, bool apply) {
  ASSIGN_OR_RETURN(const api::Kind kind, identify(document));
  if (!string_at(document, {"metadata", "resourceVersion"}).empty()) {
    return bad_request(fmt::format(
        "{}: metadata.resourceVersion: must not be set on an object to be created; remove it",
        key_of(kind, document).text()));
  }
  RETURN_IF_ERROR(choose_name(kind, document));
  const api::ObjectKey key = key_of(kind, document);
  RETURN_IF_ERROR(check_namespace(key));
  if (store_.find(key)) return already_exists(key);
  drop_system_metadata(document);
  // Nodes register with what they have; everything else begins without a status.
  if (api::info(kind).has_status && kind != api::Kind::kNode) {
    document.get_object().stable_erase("status");
  }
  const Writer writer{options.field_manager, apply, false};
  FieldSet applied;
  if (apply) applied = tracked_fields(kind, false, document);
  json::object& metadata = ensure_object(document, {"metadata"});
  metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = format_time(clock_.now());
  metadata["generation"] = 1;
  RETURN_IF_ERROR(admit(key, nullptr, document, options));
  if (!writer.manager.empty()) {
    ManagedFields managers;
    managers.set(writer, apply ? applied : tracked_fields(kind, false, document),
                 api::api_version(kind), format_time(clock_.now()));
    managers.write(document);
  }
  return commit(key, std::move(document));
}

ApiResult<Stored> ApiServer::replace(const api::ObjectKey& key, const Stored& old,
                                     json::value document, const WriteOptions& options,
                                     const ManagedFields* applied) {
  const bool has_status = api::info(key.kind).has_status;
  if (options.status && !has_status) return no_status(key);
  RETURN_IF_ERROR(check_preconditions(key, *old, document));
  if (has_status) document = join_status(*old, std::move(document), options.status);
  keep_system_metadata(*old, document);
  RETURN_IF_ERROR(admit(key, old.get(), document, options));
  // Both have the old managedFields, so this compares what the objects say.
  if (document == *old && (applied == nullptr || applied->same_fields(ManagedFields::read(*old)))) {
    return old;
  }
  if (specification_changed(*old, document)) grow_generation(document);
  if (applied != nullptr) {
    applied->write(document);
  } else if (!options.field_manager.empty() || find_at(*old, {"metadata", "managedFields"})) {
    const Writer writer{options.field_manager.empty() ? "unknown" : options.field_manager, false,
                        options.status};
    ManagedFields managers = ManagedFields::read(*old);
    managers.record_update(writer, tracked_changes(key.kind, options.status, *old, document),
                           api::api_version(key.kind), format_time(clock_.now()));
    managers.write(document);
  }
  return commit(key, std::move(document));
}

ApiResult<Stored> ApiServer::update(json::value document, const WriteOptions& options) {
  ASSIGN_OR_RETURN(const api::Kind kind, identify(document));
  const api::ObjectKey key = key_of(kind, document);
  const Stored old = store_.find(key);
  if (!old) return not_found(key);
  if (is_custom(kind) && string_at(document, {"metadata", "resourceVersion"}).empty()) {
    return invalid(key,
                   "metadata.resourceVersion: must be specified for an update; read the object, "
                   "change it and write it back, or use a patch");
  }
  return replace(key, old, std::move(document), options, nullptr);
}

ApiResult<Stored> ApiServer::patch(const api::ObjectKey& key, PatchType type,
                                   const json::value& patch, const WriteOptions& options) {
  if (type == PatchType::kApply) return apply(key, patch, options);
  const Stored old = store_.find(key);
  if (!old) return not_found(key);
  json::value document = *old;
  if (type == PatchType::kMerge) {
    if (!patch.is_object()) return bad_request(key.text() + ": a merge patch must be an object");
    apply_merge_patch(document, patch);
  } else if (auto patched = apply_json_patch(document, patch); !patched) {
    return invalid(key, "the patch cannot be applied: " + patched.error().message);
  }
  RETURN_IF_ERROR(check_key(key, identify(document), document));
  return replace(key, old, std::move(document), options, nullptr);
}

ApiResult<Stored> ApiServer::apply(const api::ObjectKey& key, json::value document,
                                   const WriteOptions& options) {
  if (options.field_manager.empty()) {
    return bad_request(key.text() + ": an apply must name its field manager");
  }
  RETURN_IF_ERROR(check_key(key, identify(document), document));
  if (find_at(document, {"metadata", "managedFields"}) != nullptr) {
    return bad_request(key.text() + ": metadata.managedFields: must not be applied; remove it");
  }
  const Stored old = store_.find(key);
  if (!old) {
    if (options.status) return not_found(key);
    if (!uid_of(document).empty()) {
      return conflict(key, fmt::format("the apply is meant for the object with uid {}, which does "
                                       "not exist any more",
                                       uid_of(document)));
    }
    return insert(std::move(document), options, true);
  }
  if (options.status && !api::info(key.kind).has_status) return no_status(key);
  RETURN_IF_ERROR(check_preconditions(key, *old, document));
  ASSIGN_OR_RETURN(Applied applied,
                   apply_patch(key, *old, document, {options.field_manager, true, options.status},
                               options.force, clock_.now()));
  return replace(key, old, std::move(applied.document), options, &applied.managers);
}

ApiResult<void> ApiServer::remove(const api::ObjectKey& key, const DeleteOptions& options) {
  const Stored old = store_.find(key);
  if (!old) return not_found(key);
  if (!options.uid.empty() && options.uid != uid_of(*old)) {
    return conflict(key, fmt::format("the deletion is meant for the object with uid {}, but this "
                                     "one has uid {}",
                                     options.uid, uid_of(*old)));
  }
  if (options.resource_version != 0 && options.resource_version != resource_version_of(*old)) {
    return conflict(key, stale_version(*old, std::to_string(options.resource_version)));
  }
  const bool is_namespace = key.kind == api::Kind::kNamespace;
  if (is_namespace && (key.name == kDefaultNamespace || key.name == kSystemNamespace)) {
    return forbidden(key, "this namespace is part of every cluster and cannot be deleted");
  }
  AdmissionRequest request{Operation::kDelete, key.kind, false, old.get(), nullptr, false};
  RETURN_IF_ERROR(run_hooks(validating_, request));
  json::value object = *old;
  mark_deleted(key.kind, options, clock_.now(), is_namespace && !store_.any_in(key.name), object);
  if (may_go(object)) {
    erase(key, *old);
  } else if (object != *old) {
    if (!is_deleted(*old)) grow_generation(object);
    commit(key, std::move(object));
  }
  return {};
}

ApiResult<void> ApiServer::bind(const api::ObjectKey& pod, const std::string& node_name) {
  const Stored old = store_.find(pod);
  if (!old) return not_found(pod);
  if (pod.kind != api::Kind::kPod) return bad_request(pod.text() + ": only pods can be bound");
  if (node_name.empty()) return invalid(pod, "target.name: the node is required");
  if (is_deleted(*old)) return conflict(pod, "is being deleted and cannot be bound to a node");
  const std::string_view bound = string_at(*old, {"spec", "nodeName"});
  if (!bound.empty()) return conflict(pod, fmt::format("is already bound to node {}", bound));
  const json::array* gates = array_at(*old, {"spec", "schedulingGates"});
  if (gates != nullptr && !gates->empty()) {
    return conflict(pod,
                    "has scheduling gates (spec.schedulingGates); remove them before it can "
                    "be bound");
  }
  json::value object = *old;
  ensure_object(object, {"spec"})["nodeName"] = node_name;
  set_condition(object, {"PodScheduled", "True", "", ""}, format_time(clock_.now()));
  grow_generation(object);
  commit(pod, std::move(object));
  return {};
}

Stored ApiServer::get(const api::ObjectKey& key) const {
  return store_.find(key);
}

Listing ApiServer::list(api::Kind kind) const {
  return store_.list(kind);
}

Listing ApiServer::list(api::Kind kind, const std::string& namespace_name) const {
  return store_.list(kind, namespace_name);
}

uint64_t ApiServer::resource_version() const {
  return store_.version();
}

const Clock& ApiServer::clock() const {
  return clock_;
}

ApiResult<std::vector<WatchEvent>> ApiServer::read(WatchCursor& cursor, size_t at_most) {
  return store_.read(cursor, at_most);
}

void ApiServer::compact(uint64_t up_to) {
  store_.compact(up_to);
}

void ApiServer::set_history_limit(size_t events) {
  store_.set_history_limit(events);
}

ClusterState ApiServer::state() const {
  return {clock_.now(), store_.version(), random_.state(), store_.objects()};
}

void ApiServer::restore(ClusterState state) {
  CHECK(clock_.now() == state.now);
  random_ = Random(state.random_state);
  store_.restore(std::move(state.objects), state.resource_version);
}

}  // namespace phalanx::sim
