#include "sim/api_error.h"

#include <fmt/format.h>

namespace phalanx::sim {
namespace {

constexpr size_t kMaxProblems = 20;

}  // namespace

void Problems::add(const std::string& path, const std::string& text) {
  if (texts_.size() == kMaxProblems) {
    ++more_;
    return;
  }
  texts_.push_back(path.empty() ? text : path + ": " + text);
}

std::string Problems::text() const {
  std::string all = fmt::format("{}", fmt::join(texts_, "; "));
  if (more_ > 0) all += fmt::format("; and {} more", more_);
  return all;
}

std::unexpected<ApiError> bad_request(std::string message) {
  return std::unexpected(ApiError{400, "BadRequest", std::move(message)});
}

std::unexpected<ApiError> forbidden(const api::ObjectKey& key, const std::string& why) {
  return std::unexpected(ApiError{403, "Forbidden", key.text() + ": " + why});
}

std::unexpected<ApiError> not_found(const api::ObjectKey& key) {
  return std::unexpected(ApiError{404, "NotFound", key.text() + " does not exist"});
}

std::unexpected<ApiError> already_exists(const api::ObjectKey& key) {
  return std::unexpected(
      ApiError{409, "AlreadyExists",
               key.text() + " exists already; choose another name, or update or patch it"});
}

std::unexpected<ApiError> conflict(const api::ObjectKey& key, const std::string& why) {
  return std::unexpected(ApiError{409, "Conflict", key.text() + ": " + why});
}

std::unexpected<ApiError> invalid(const api::ObjectKey& key, const std::string& why) {
  return std::unexpected(ApiError{422, "Invalid", key.text() + ": " + why});
}

ApiResult<void> refuse_if_any(const api::ObjectKey& key, const Problems& problems) {
  if (problems.none()) return {};
  return invalid(key, problems.text());
}

}  // namespace phalanx::sim
