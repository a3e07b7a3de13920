#include "kube/requests.h"

#include <fmt/format.h>

#include "base/json_path.h"
#include "core/hosting.h"

namespace phalanx::kube {
namespace {

// Names are made of characters that need no escaping in a path; whatever else somebody wrote must
// not become another path.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  // "." and ".." mean other places.
  if (result == "." || result == "..") return fmt::format("%2E{}", result == "." ? "" : "%2E");
  return result;
}

std::string_view content_type_of(PatchKind kind) {
  switch (kind) {
    case PatchKind::kMerge:
      return "application/merge-patch+json";
    case PatchKind::kJson:
      return "application/json-patch+json";
    case PatchKind::kApply:
      return "application/apply-patch+yaml";  // JSON is YAML
  }
  return "";
}

}  // namespace

std::string_view name_of(Method method) {
  switch (method) {
    case Method::kGet:
      return "GET";
    case Method::kPost:
      return "POST";
    case Method::kPut:
      return "PUT";
    case Method::kPatch:
      return "PATCH";
    case Method::kDelete:
      return "DELETE";
  }
  return "";
}

Resource resource_of(api::Kind kind) {
  const api::KindInfo& about = api::info(kind);
  return {about.group, about.version, about.plural, about.namespaced};
}

std::string collection_path(const Resource& resource, std::string_view namespace_) {
  std::string path = resource.group.empty()
                         ? fmt::format("/api/{}", resource.version)
                         : fmt::format("/apis/{}/{}", resource.group, resource.version);
  if (resource.namespaced && !namespace_.empty()) path += "/namespaces/" + escaped(namespace_);
  return fmt::format("{}/{}", path, resource.plural);
}

std::string object_path(const Resource& resource, std::string_view namespace_,
                        std::string_view name) {
  return collection_path(resource, namespace_) + "/" + escaped(name);
}

std::string object_path(const api::ObjectKey& key) {
  return object_path(resource_of(key.kind), key.namespace_, key.name);
}

HttpRequest list_request(const Resource& resource, size_t page_size,
                         std::string_view continue_token) {
  HttpRequest request;
  request.target = fmt::format("{}?limit={}", collection_path(resource), page_size);
  if (!continue_token.empty()) request.target += "&continue=" + escaped(continue_token);
  request.timeout = std::chrono::seconds(60);
  return request;
}

HttpRequest watch_request(const Resource& resource, const WatchOptions& options) {
  HttpRequest request;
  request.target =
      fmt::format("{}?watch=1&allowWatchBookmarks=true&resourceVersion={}&timeoutSeconds={}",
                  collection_path(resource, options.namespace_), escaped(options.resource_version),
                  options.lifetime.count());
  if (!options.name.empty()) {
    request.target += "&fieldSelector=metadata.name%3D" + escaped(options.name);
  }
  // Longer than the server's own end of it: only a connection that hangs gets there.
  request.timeout = options.lifetime + std::chrono::seconds(30);
  return request;
}

HttpRequest create_request(const Resource& resource, std::string_view namespace_,
                           const json::value& document) {
  return {.method = Method::kPost,
          .target = collection_path(resource, namespace_) + "?fieldManager=phalanx",
          .content_type = "application/json",
          .body = json::serialize(document)};
}

HttpRequest patch_request(std::string path, const json::value& patch, const PatchOptions& options) {
  if (!options.subresource.empty()) path += fmt::format("/{}", options.subresource);
  path += "?fieldManager=" + escaped(options.field_manager);
  if (options.force) path += "&force=true";
  if (options.strict_fields) path += "&fieldValidation=Strict";
  return {.method = Method::kPatch,
          .target = std::move(path),
          .content_type = std::string(content_type_of(options.kind)),
          .body = json::serialize(patch)};
}

HttpRequest delete_request(std::string path, const DeletePreconditions& preconditions) {
  json::object options{{"apiVersion", "v1"},
                       {"kind", "DeleteOptions"},
                       {"propagationPolicy", preconditions.propagation}};
  json::object conditions;
  if (!preconditions.uid.empty()) conditions["uid"] = preconditions.uid;
  if (preconditions.resource_version != 0) {
    conditions["resourceVersion"] = std::to_string(preconditions.resource_version);
  }
  if (!conditions.empty()) options["preconditions"] = std::move(conditions);
  return {.method = Method::kDelete,
          .target = std::move(path),
          .content_type = "application/json",
          .body = json::serialize(options)};
}

HttpRequest bind_request(const api::ObjectKey& pod, const std::string& uid,
                         const std::string& node) {
  const json::object binding{
      {"apiVersion", "v1"},
      {"kind", "Binding"},
      {"metadata", json::object{{"namespace", pod.namespace_}, {"name", pod.name}, {"uid", uid}}},
      {"target", json::object{{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}}}};
  return {.method = Method::kPost,
          .target = object_path(pod) + "/binding",
          .content_type = "application/json",
          .body = json::serialize(binding)};
}

HttpRequest evict_request(const api::ObjectKey& pod, const std::string& uid) {
  json::object eviction{
      {"apiVersion", "policy/v1"},
      {"kind", "Eviction"},
      {"metadata", json::object{{"namespace", pod.namespace_}, {"name", pod.name}}}};
  if (!uid.empty()) {
    eviction["deleteOptions"] = json::object{{"preconditions", json::object{{"uid", uid}}}};
  }
  return {.method = Method::kPost,
          .target = object_path(pod) + "/eviction",
          .content_type = "application/json",
          .body = json::serialize(eviction)};
}

bool Refusal::passing() const {
  return core::is_passing(code);
}

Refusal read_refusal(const HttpResponse& response) {
  if (!response.answered()) return {0, "", response.error};
  Refusal refusal{response.status, "", ""};
  boost::system::error_code failed;
  const json::value body = json::parse(response.body, failed);
  if (!failed && body.is_object() && string_field(body.get_object(), "kind") == "Status") {
    refusal.reason = string_field(body.get_object(), "reason");
    refusal.message = string_field(body.get_object(), "message");
  }
  if (refusal.message.empty()) {
    refusal.message = fmt::format("the API server answered {}{}{}", response.status,
                                  response.body.empty() ? "" : ": ", response.body.substr(0, 200));
  }
  return refusal;
}

Result<json::value> read_document(const HttpResponse& response, std::string_view what) {
  if (!response.ok()) {
    return fail(fmt::format("{}: {}", what, read_refusal(response).message));
  }
  boost::system::error_code failed;
  json::value body = json::parse(response.body, failed);
  if (failed) {
    return fail(
        fmt::format("{}: the answer of the API server is no JSON: {}", what, failed.message()));
  }
  return body;
}

}  // namespace phalanx::kube
