// A refusal of the API server, as metav1.Status has it.
//
// The message is for a person: it names the object, the field and what to do. Code and reason are
// for programs and follow Kubernetes.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "api/kind.h"

namespace phalanx::sim {

struct ApiError {
  int code = 0;  // 400, 403, 404, 409, 410, 413, 422, 504
  // BadRequest, Forbidden, NotFound, AlreadyExists, Conflict, Expired, RequestEntityTooLarge,
  // Invalid, Timeout
  std::string reason;
  std::string message;
};

template <typename T>
using ApiResult = std::expected<T, ApiError>;

// What is wrong with one document, by field path. Collects instead of stopping at the first, so
// that a person repairs a manifest in one go; bounded, so that a hopeless one stays readable.
class Problems {
 public:
  void add(const std::string& path, const std::string& text);
  [[nodiscard]] bool none() const { return texts_.empty(); }
  // "spec.completions: must not be negative; spec.selector: ...".
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::string> texts_;
  size_t more_ = 0;  // beyond the bound
};

std::unexpected<ApiError> bad_request(std::string message);
std::unexpected<ApiError> forbidden(const api::ObjectKey& key, const std::string& why);
std::unexpected<ApiError> not_found(const api::ObjectKey& key);
std::unexpected<ApiError> already_exists(const api::ObjectKey& key);
std::unexpected<ApiError> conflict(const api::ObjectKey& key, const std::string& why);
std::unexpected<ApiError> invalid(const api::ObjectKey& key, const std::string& why);

// Nothing, or Invalid with all the problems.
ApiResult<void> refuse_if_any(const api::ObjectKey& key, const Problems& problems);

}  // namespace phalanx::sim
