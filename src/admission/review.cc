#include "admission/review.h"

#include <fmt/format.h>

#include <utility>

#include "base/base64.h"
#include "base/json_path.h"
#include "base/printable.h"
#include "base/strict_json.h"

namespace phalanx::admission {
namespace {

constexpr std::string_view kAdmissionVersion = "admission.k8s.io/v1";
constexpr std::string_view kAdmissionKind = "AdmissionReview";
constexpr std::string_view kConversionVersion = "apiextensions.k8s.io/v1";
constexpr std::string_view kConversionKind = "ConversionReview";
constexpr int kUnprocessable = 422;

// Long enough for any uid, and short enough to be sent back.
constexpr size_t kLongestUid = 256;

// The document in a review's envelope: the header must say what it is.
Result<json::value> read_envelope(std::string_view text, std::string_view api_version,
                                  std::string_view kind) {
  ASSIGN_OR_RETURN(json::value document, parse_strict_json(text));
  DecodeStatus status;
  const JsonReader root(&document, "", status);
  const auto must_be = [&](std::string_view field, std::string_view wanted) {
    const std::string found = root.required_string(field);
    if (found == wanted) return;
    root.report(field, fmt::format("is \"{}\", but must be {}", found, wanted));
  };
  if (!document.is_object())
    return fail(fmt::format("is no object, but must be of the kind {}", kind));
  must_be("kind", kind);
  must_be("apiVersion", api_version);
  if (!root.has("request")) root.report("request", "is required");
  if (!status.ok()) return std::unexpected(*status.error());
  return document;
}

std::string read_uid(const JsonReader& request) {
  std::string uid = request.required_string("uid");
  if (uid.empty()) request.report("uid", "must not be empty");
  if (uid.size() > kLongestUid) {
    request.report("uid", fmt::format("must have at most {} bytes", kLongestUid));
  }
  return uid;
}

void must_not_be_empty(const JsonReader& reader, std::string_view field) {
  if (reader.required_string(field).empty()) reader.report(field, "must not be empty");
}

Operation read_operation(const JsonReader& request) {
  const std::string text = request.required_string("operation");
  if (text == "CREATE") return Operation::kCreate;
  if (text == "UPDATE") return Operation::kUpdate;
  if (text == "DELETE") return Operation::kDelete;
  request.report(
      "operation",
      fmt::format("\"{}\" is not answered here; send CREATE, UPDATE and DELETE only", text));
  return Operation::kCreate;
}

// An object must be what the request says it is: rules are chosen by what the request says.
void check_object(const JsonReader& request, std::string_view field, const Review& review) {
  const JsonReader object = request.object(field);
  if (!object.present()) {
    request.report(field, "is required");
    return;
  }
  const std::string api_version =
      review.group.empty() ? review.version : review.group + "/" + review.version;
  if (object.required_string("apiVersion") != api_version) {
    object.report("apiVersion", fmt::format("must be {}, as the request says", api_version));
  }
  if (object.required_string("kind") != review.kind) {
    object.report("kind", fmt::format("must be {}, as the request says", review.kind));
  }
  [[maybe_unused]] const JsonReader metadata = object.object("metadata");  // an object, or absent
}

// Takes the value out of a document that is read no more.
json::value take(json::value& document, std::string_view field) {
  json::value* found = document.at("request").get_object().if_contains(field);
  return found == nullptr ? json::value() : std::move(*found);
}

Review read_request(const JsonReader& request) {
  Review review;
  review.uid = read_uid(request);
  review.operation = read_operation(request);
  const JsonReader kind = request.object("kind");
  if (!kind.present()) request.report("kind", "is required");
  review.group = kind.string("group");
  review.version = kind.required_string("version");
  review.kind = kind.required_string("kind");
  const JsonReader resource = request.object("resource");
  if (!resource.present()) request.report("resource", "is required");
  must_not_be_empty(resource, "version");
  must_not_be_empty(resource, "resource");
  if (resource.string("group") != review.group) {
    resource.report("group", "must be that of the kind");
  }
  review.subresource = request.string("subResource");
  review.namespace_ = request.string("namespace");
  review.name = request.string("name");
  review.dry_run = request.boolean("dryRun", false);
  if (review.operation != Operation::kDelete) check_object(request, "object", review);
  const bool old_is_there = request.has("oldObject");
  if (review.operation == Operation::kUpdate || old_is_there) {
    check_object(request, "oldObject", review);
  }
  return review;
}

std::string message_of(const Review& review, const Decision& decision) {
  // It is shown on terminals as it is.
  return printable(review.text() + ": " + texts_of(decision.problems));
}

}  // namespace

std::string Review::text() const {
  const json::value& document = object.is_null() ? old_object : object;
  std::string shown = name;
  if (shown.empty()) shown = string_at(document, {"metadata", "name"});
  if (shown.empty()) shown = std::string(string_at(document, {"metadata", "generateName"})) + "*";
  return fmt::format("{} {}{}{}", kind, namespace_, namespace_.empty() ? "" : "/", shown);
}

Result<Review> read_review(std::string_view text) {
  ASSIGN_OR_RETURN(json::value document, read_envelope(text, kAdmissionVersion, kAdmissionKind));
  DecodeStatus status;
  Review review = read_request(JsonReader(&document, "", status).object("request"));
  if (!status.ok()) return std::unexpected(*status.error());
  if (review.operation != Operation::kDelete) review.object = take(document, "object");
  if (review.operation != Operation::kCreate) review.old_object = take(document, "oldObject");
  return review;
}

Result<ConversionRequest> read_conversion(std::string_view text) {
  ASSIGN_OR_RETURN(json::value document, read_envelope(text, kConversionVersion, kConversionKind));
  DecodeStatus status;
  const JsonReader request = JsonReader(&document, "", status).object("request");
  ConversionRequest conversion;
  conversion.uid = read_uid(request);
  const std::string wanted = request.required_string("desiredAPIVersion");
  const size_t slash = wanted.find('/');
  if (slash == std::string::npos || slash == 0 || slash + 1 == wanted.size()) {
    request.report("desiredAPIVersion", fmt::format("\"{}\" must be a group and a version, such as "
                                                    "kueue.x-k8s.io/v1beta2",
                                                    wanted));
  } else {
    conversion.group = wanted.substr(0, slash);
    conversion.version = wanted.substr(slash + 1);
  }
  if (!request.has("objects")) request.report("objects", "is required");
  request.each("objects", [&](const json::value& object, const std::string& path) {
    if (!object.is_object()) status.report(path, "must be an object");
  });
  if (!status.ok()) return std::unexpected(*status.error());
  conversion.objects = std::move(take(document, "objects").get_array());
  return conversion;
}

std::string write_decision(const Review& review, const Decision& decision) {
  json::object response{{"uid", review.uid}, {"allowed", decision.problems.empty()}};
  if (!decision.problems.empty()) {
    response["status"] = json::object{
        {"code", kUnprocessable}, {"reason", "Invalid"}, {"message", message_of(review, decision)}};
  } else if (!decision.patch.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = to_base64(json::serialize(decision.patch));
  }
  if (!decision.warnings.empty()) {
    response["warnings"] = json::array(decision.warnings.begin(), decision.warnings.end());
  }
  return json::serialize(json::object{{"apiVersion", kAdmissionVersion},
                                      {"kind", kAdmissionKind},
                                      {"response", std::move(response)}});
}

std::string write_conversion(const std::string& uid, Result<std::vector<std::string>> converted) {
  json::object result{{"status", converted ? "Success" : "Failed"}};
  if (!converted) result["message"] = converted.error().message;
  std::string text =
      fmt::format(R"({{"apiVersion":"{}","kind":"{}","response":{{"uid":{},"convertedObjects":[)",
                  kConversionVersion, kConversionKind, json::serialize(json::value(uid)));
  for (size_t i = 0; converted && i < converted->size(); ++i) {
    if (i > 0) text += ',';
    text += std::exchange((*converted)[i], {});
  }
  return text.append(R"(],"result":)").append(json::serialize(result)).append("}}");
}

}  // namespace phalanx::admission
