#include "kube/api_client.h"

#include <fmt/format.h>

namespace phalanx::kube {
namespace {

constexpr size_t kPageSize = 500;
constexpr int kNotFound = 404;
// A definition that is in use may take a busy API server long: it ends what is under way first.
constexpr Duration kApplyPatience = std::chrono::minutes(2);

struct Header {
  std::string api_version;
  std::string kind;
  std::string namespace_;
  std::string name;
};

Result<Header> header_of(const json::value& document) {
  DecodeStatus status;
  const JsonReader reader(&document, "", status);
  const JsonReader metadata = reader.object("metadata");
  Header header{reader.required_string("apiVersion"), reader.required_string("kind"),
                metadata.string("namespace"), metadata.string("name")};
  if (status.error()) return std::unexpected(*status.error());
  return header;
}

std::string base_of(const std::string& api_version) {
  return (api_version.find('/') == std::string::npos ? "/api/" : "/apis/") + api_version;
}

}  // namespace

Result<ApiClient::Found> ApiClient::find_resource(const std::string& api_version,
                                                  const std::string& kind) {
  auto known = resources_.find(api_version);
  if (known == resources_.end() || !known->second.contains(kind)) {
    auto answer = get(base_of(api_version));
    if (!answer) {
      return fail(fmt::format("{}: the API server does not have it: {}", api_version,
                              answer.error().message));
    }
    DecodeStatus status;
    std::map<std::string, Found> found;
    JsonReader(&*answer, "", status)
        .each("resources", [&](const json::value& value, const std::string& path) {
          const JsonReader resource(&value, path, status);
          const std::string name = resource.string("name");
          if (name.find('/') != std::string::npos) return;  // a subresource
          found[resource.string("kind")] = {name, resource.boolean("namespaced", false)};
        });
    known = resources_.insert_or_assign(api_version, std::move(found)).first;
  }
  const auto resource = known->second.find(kind);
  if (resource == known->second.end()) {
    return fail(fmt::format("{} {}: the API server does not have this kind", api_version, kind));
  }
  return resource->second;
}

Result<std::string> ApiClient::collection_of(const json::value& document) {
  ASSIGN_OR_RETURN(const Header header, header_of(document));
  ASSIGN_OR_RETURN(const Found found, find_resource(header.api_version, header.kind));
  std::string path = base_of(header.api_version);
  if (found.namespaced) {
    path += "/namespaces/" + (header.namespace_.empty() ? "default" : header.namespace_);
  }
  return path + "/" + found.plural;
}

Result<std::string> ApiClient::path_of(const json::value& document) {
  ASSIGN_OR_RETURN(const Header header, header_of(document));
  ASSIGN_OR_RETURN(const std::string collection, collection_of(document));
  return collection + "/" + header.name;
}

Answer<json::value> ApiClient::send(HttpRequest request) {
  const HttpResponse response = transport_.ask(std::move(request));
  if (!response.ok()) return std::unexpected(read_refusal(response));
  // Definitions of kinds with pod templates in them are nested deeper than parsers take by default.
  auto body = parse_json(response.body);
  if (!body)
    return std::unexpected(Refusal{0, "", "the answer cannot be read: " + body.error().message});
  return std::move(*body);
}

Answer<json::value> ApiClient::get(const std::string& path) {
  HttpRequest request;
  request.target = path;
  return send(std::move(request));
}

Answer<json::value> ApiClient::create(const std::string& collection, const json::value& document,
                                      bool strict_fields) {
  return send({.method = Method::kPost,
               .target = collection + "?fieldManager=phalanx" +
                         (strict_fields ? "&fieldValidation=Strict" : ""),
               .content_type = "application/json",
               .body = json::serialize(document)});
}

Answer<json::value> ApiClient::patch(const std::string& path, const json::value& patch,
                                     const PatchOptions& options) {
  return send(patch_request(path, patch, options));
}

Answer<json::value> ApiClient::remove(const std::string& path,
                                      const DeletePreconditions& preconditions) {
  return send(delete_request(path, preconditions));
}

Answer<std::vector<json::value>> ApiClient::list(api::Kind kind) {
  std::vector<json::value> documents;
  std::string token;
  do {
    auto answer = send(list_request(resource_of(kind), kPageSize, token));
    if (!answer && answer.error().code == kNotFound && api::info(kind).optional) return documents;
    if (!answer) return std::unexpected(answer.error());
    DecodeStatus status;
    const JsonReader reader(&*answer, "", status);
    token = reader.object("metadata").string("continue");
    json::value* items = answer->is_object() ? answer->get_object().if_contains("items") : nullptr;
    if (items == nullptr || !items->is_array()) continue;
    for (json::value& item : items->get_array()) {
      if (!item.is_object()) continue;
      item.get_object()["apiVersion"] = api::api_version(kind);
      item.get_object()["kind"] = api::info(kind).name;
      documents.push_back(std::move(item));
    }
  } while (!token.empty());
  return documents;
}

Result<json::value> ApiClient::apply(const json::value& document) {
  ASSIGN_OR_RETURN(const std::string path, path_of(document));
  HttpRequest request = patch_request(path, document, {.kind = PatchKind::kApply, .force = true});
  request.timeout = kApplyPatience;
  auto answer = send(std::move(request));
  if (!answer) return fail(fmt::format("{}: {}", path, answer.error().message));
  return std::move(*answer);
}

}  // namespace phalanx::kube
