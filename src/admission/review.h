// The requests of an API server to webhooks, taken apart, and the answers put together:
// AdmissionReview (admission.k8s.io/v1) and ConversionReview (apiextensions.k8s.io/v1).
//
// - Strict: a request that lacks anything a decision is made of, or that contradicts itself, is an
//   Error and never half understood. Fields that nobody here asks for are ignored: newer servers
//   send more of them.
// - What the objects in a request hold beside their header is not looked at here.
//
// Cost: linear in the text. Which webhook gets a request, and what it answers, is
// admission/webhook.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "admission/problem.h"
#include "base/error.h"
#include "base/json.h"

namespace phalanx::admission {

enum class Operation : uint8_t { kCreate, kUpdate, kDelete };

struct Review {
  std::string uid;  // of the request, not of the object
  Operation operation = Operation::kCreate;
  // Of the objects as they stand here, which an API server may have converted to get there.
  std::string group;
  std::string version;
  std::string kind;
  std::string subresource;  // "status"; "": the object itself
  std::string namespace_;
  std::string name;        // empty of an object whose name is still to be generated
  bool dry_run = false;    // nothing will be stored; our webhooks have no side effects anyway
  json::value object;      // null if it is deleted
  json::value old_object;  // null if it is created

  // "Job ml/train", for people.
  [[nodiscard]] std::string text() const;
};

struct ConversionRequest {
  std::string uid;
  std::string group;    // "kueue.x-k8s.io"
  std::string version;  // the one that is wanted: "v1beta2"
  json::array objects;
};

Result<Review> read_review(std::string_view text);
Result<ConversionRequest> read_conversion(std::string_view text);

// What a webhook decided on an AdmissionReview.
struct Decision {
  std::vector<Problem> problems;      // none: it is allowed
  json::array patch;                  // RFC 6902; empty: the object stays as it is
  std::vector<std::string> warnings;  // shown to whoever made the request
};

// The AdmissionReview to send back.
std::string write_decision(const Review& review, const Decision& decision);
// The ConversionReview to send back: all objects as JSON, in the order of the request, or why there
// are none. As texts, because they take a fraction of the memory.
std::string write_conversion(const std::string& uid, Result<std::vector<std::string>> converted);

}  // namespace phalanx::admission
