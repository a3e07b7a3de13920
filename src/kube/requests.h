// The requests of the Kubernetes API, as HTTP has them, and what its answers mean. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/kind.h"
#include "base/error.h"
#include "base/json.h"
#include "kube/transport.h"

namespace phalanx::kube {

// Where objects of a kind are. Kinds that the core reads have theirs by resource_of(); others (a
// Lease, a Secret) are spelled out by whoever uses them.
struct Resource {
  std::string_view group;  // "" for the core group
  std::string_view version;
  std::string_view plural;
  bool namespaced = true;
};
Resource resource_of(api::Kind kind);

// The path of a collection; without a namespace all of them.
std::string collection_path(const Resource& resource, std::string_view namespace_ = "");
std::string object_path(const Resource& resource, std::string_view namespace_,
                        std::string_view name);
std::string object_path(const api::ObjectKey& key);

// `continue_token`: where the last page ended; empty: the first page.
HttpRequest list_request(const Resource& resource, size_t page_size,
                         std::string_view continue_token);
struct WatchOptions {
  std::string resource_version = {};
  std::chrono::seconds lifetime{300};  // the server ends it then
  std::string_view namespace_ = "";
  std::string_view name = "";  // only this object
};
HttpRequest watch_request(const Resource& resource, const WatchOptions& options);

HttpRequest create_request(const Resource& resource, std::string_view namespace_,
                           const json::value& document);

enum class PatchKind : uint8_t { kMerge, kJson, kApply };
struct PatchOptions {
  PatchKind kind = PatchKind::kMerge;
  std::string_view subresource = "";  // "status"
  std::string_view field_manager = "phalanx";
  bool force = false;          // of an apply: takes fields over from others
  bool strict_fields = false;  // refuse unknown fields instead of dropping them
};
HttpRequest patch_request(std::string path, const json::value& patch,
                          const PatchOptions& options = {});

struct DeletePreconditions {
  std::string uid = {};
  uint64_t resource_version = 0;
  std::string_view propagation = "Background";
};
HttpRequest delete_request(std::string path, const DeletePreconditions& preconditions = {});

// Subresources of pods.
HttpRequest bind_request(const api::ObjectKey& pod, const std::string& uid,
                         const std::string& node);
HttpRequest evict_request(const api::ObjectKey& pod, const std::string& uid);

// A refusal: what the Status in the answer says, or what can be said without one.
struct Refusal {
  int code = 0;        // 0: there was no answer
  std::string reason;  // "Conflict", "AlreadyExists", ...; "" if the server gave none
  std::string message;

  // The same request may be accepted later, unchanged.
  [[nodiscard]] bool passing() const;
  // An object is stored in another version, and whoever converts it does not answer. The server
  // has no other word for that than its message.
  [[nodiscard]] bool nobody_converts() const { return message.contains("conversion webhook"); }
};
Refusal read_refusal(const HttpResponse& response);
// The document of a successful answer, or an error that says what was asked, and why not.
Result<json::value> read_document(const HttpResponse& response, std::string_view what);

}  // namespace phalanx::kube
