// The API for programs that do one thing after another: a command line, a test. The manager has its
// own way (manager/api_side.h).
#pragma once

#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/kind.h"
#include "base/error.h"
#include "base/json.h"
#include "kube/curl_transport.h"
#include "kube/requests.h"

namespace phalanx::kube {

template <typename T>
using Answer = std::expected<T, Refusal>;

class ApiClient {
 public:
  explicit ApiClient(ClusterAccess access) : transport_(std::move(access)) {}

  // The path of the object in a document, in the version that it is written in. Which resource a
  // kind is, the server is asked; the error is for a person.
  Result<std::string> path_of(const json::value& document);
  Result<std::string> collection_of(const json::value& document);

  Answer<json::value> get(const std::string& path);
  Answer<json::value> create(const std::string& collection, const json::value& document,
                             bool strict_fields = false);
  Answer<json::value> patch(const std::string& path, const json::value& patch,
                            const PatchOptions& options = {});
  Answer<json::value> remove(const std::string& path,
                             const DeletePreconditions& preconditions = {});
  Answer<json::value> send(HttpRequest request);
  // From any thread: nothing is answered any more.
  void interrupt() { transport_.interrupt(); }

  // Everything of a kind, with kind and apiVersion in each document.
  Answer<std::vector<json::value>> list(api::Kind kind);

  // As kubectl apply --server-side does, for somebody who owns the object.
  Result<json::value> apply(const json::value& document);

  // By the API server's clock, as soon as it has answered something.
  [[nodiscard]] Time now() const { return transport_.clock().now(); }
  [[nodiscard]] const ClusterAccess& access() const { return transport_.access(); }

 private:
  struct Found {
    std::string plural;
    bool namespaced = false;
  };
  Result<Found> find_resource(const std::string& api_version, const std::string& kind);

  CurlTransport transport_;
  std::map<std::string, std::map<std::string, Found>> resources_;  // by apiVersion, then kind
};

}  // namespace phalanx::kube
