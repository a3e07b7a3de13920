#include "admission/webhook.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "admission/conversion.h"
#include "admission/document.h"
#include "admission/lossless_conversion.h"
#include "admission/rules.h"
#include "base/json_patch.h"
#include "base/json_path.h"
#include "core/names.h"

namespace phalanx::admission {
namespace {

constexpr size_t kMebibyte = size_t{1} << 20;
// An API server takes writes of up to 3 MiB, and an update carries two such objects.
constexpr size_t kMostReviewBytes = 8 * kMebibyte;
// A page of a list is converted at once: 500 objects, if it was kubectl that asked.
constexpr size_t kMostConversionBytes = 64 * kMebibyte;

// Of all objects together. Assignments may be a hundred times as large in v1beta1, and one object
// may become two thirds of this.
constexpr size_t kMostAnswerBytes = 256 * kMebibyte;

// Of one object that is converted. In v1beta1 an assignment to 100 000 nodes of 16 levels has
// 1.9 million values; API servers write no object of more than 3 MiB, and those that people write
// have some thousands.
constexpr size_t kMostValuesOfObject = 2'500'000;
// Of one that is written: less in everything, because what is stored must stay readable in every
// version, and a ConversionReview has one level more around its objects than an AdmissionReview.
constexpr size_t kMostValuesOfWritten = 1'000'000;
constexpr size_t kDeepestOfWritten = 58;

constexpr std::string_view kBatchGroup = "batch";

struct Cluster {
  const JobContext& job;
  const KueueAdmission& kueue;
};

using Decide = Decision (*)(const Review& review, const Cluster& cluster);

const json::value* old_object_of(const Review& review) {
  return review.operation == Operation::kUpdate ? &review.old_object : nullptr;
}

bool is_being_deleted(const Place& object) {
  return !object["metadata"]["deletionTimestamp"].text().empty();
}

// Whether an update leaves everything but the metadata as it was. What another version says of the
// object stands in its metadata, too (lossless_conversion.h), and is more than that.
bool changes_metadata_only(const Review& review) {
  if (review.operation != Operation::kUpdate) return false;
  if (!same_notes(&review.old_object, &review.object)) return false;
  const json::object& before = review.old_object.get_object();
  const json::object& after = review.object.get_object();
  const auto others = [](const json::object& object) {
    return object.size() - object.count("metadata");
  };
  return others(before) == others(after) && std::ranges::all_of(before, [&](const auto& field) {
           const json::value* now = after.if_contains(field.key());
           return field.key() == "metadata" || (now != nullptr && same_value(&field.value(), now));
         });
}

Decision default_new_job(const Review& review, const Cluster& cluster) {
  Decision decision;
  if (review.operation != Operation::kCreate || !review.subresource.empty()) return decision;
  json::value job = review.object;
  default_job(job, cluster.job);
  decision.patch = json_difference(review.object, job);
  return decision;
}

Decision validate_job_change(const Review& review, const Cluster& /*cluster*/) {
  Decision decision;
  // The status is written by the Job's controller, and says nothing that we have rules for.
  if (review.operation == Operation::kDelete || !review.subresource.empty()) return decision;
  const Place job(&review.object);
  const Place old_job(&review.old_object);
  // It must be able to go, whatever is wrong with it. Who lets it go changes finalizers only.
  if (is_being_deleted(job) && changes_metadata_only(review) &&
      job["metadata"]["labels"].same_as(old_job["metadata"]["labels"])) {
    return decision;
  }
  decision.problems = validate_job(old_object_of(review), review.object);
  if (decision.problems.empty()) decision.warnings = job_warnings(review.object);
  return decision;
}

Decision keep_job_suspended(const Review& review, const Cluster& cluster) {
  Decision decision;
  if (review.operation != Operation::kUpdate || !review.subresource.empty()) return decision;
  decision.problems = check_start_by_hand(review.old_object, review.object, cluster.job);
  return decision;
}

Decision default_new_kueue_object(const Review& review, const Cluster& /*cluster*/) {
  Decision decision;
  if (review.operation != Operation::kCreate || !review.subresource.empty()) return decision;
  json::value object = review.object;
  default_kueue_object(review.kind, object);
  decision.patch = json_difference(review.object, object);
  return decision;
}

std::vector<Problem> check_extent(const json::value& object) {
  ProblemList problems;
  if (const size_t depth = depth_of(object); depth > kDeepestOfWritten) {
    problems.add("", fmt::format("is nested {} levels deep, but at most {} are allowed", depth,
                                 kDeepestOfWritten));
  }
  if (const size_t values = count_values(object); values > kMostValuesOfWritten) {
    problems.add(
        "", fmt::format("has {} values, but at most {} are allowed", values, kMostValuesOfWritten));
  }
  return std::move(problems).take();
}

Decision validate_kueue_change(const Review& review, const Cluster& cluster) {
  Decision decision;
  // Labels and finalizers are the API server's to check; and an object that was stored under older
  // rules must still be able to go.
  if (review.operation == Operation::kDelete || changes_metadata_only(review)) return decision;
  decision.problems = check_extent(review.object);
  if (!decision.problems.empty()) return decision;
  json::value before;
  if (review.operation == Operation::kUpdate) {
    auto stored = cluster.kueue.convert(review.kind, review.old_object, kStoredVersion);
    if (!stored) {
      decision.problems.push_back({"", "as it is stored: " + stored.error().message});
      return decision;
    }
    before = std::move(*stored);
  }
  const auto admitted =
      cluster.kueue.admit(review.kind, before.is_null() ? nullptr : &before, review.object,
                          {.strict_fields = false, .status = review.subresource == "status"});
  if (!admitted) decision.problems = admitted.error();
  return decision;
}

Decision keep_workload_status(const Review& review, const Cluster& /*cluster*/) {
  Decision decision;
  if (review.operation != Operation::kUpdate || review.subresource != "status" ||
      review.kind != "Workload") {
    return decision;
  }
  ProblemList problems;
  check_status_is_kept({Place(&review.old_object), Place(&review.object), true}, problems);
  decision.problems = std::move(problems).take();
  return decision;
}

Result<json::value> convert_object(const KueueAdmission& kueue, json::value object,
                                   const ConversionRequest& request) {
  const Place place(&object);
  const std::string kind(place["kind"].text());
  const std::string_view api_version = place["apiVersion"].text();
  const std::string_view version = version_of(object);
  if (api_version != fmt::format("{}/{}", request.group, version) || !kueue.covers(kind)) {
    return fail(fmt::format("{} {} is not converted here; only the kinds of {} are", api_version,
                            kind, core::names::kKueueGroup));
  }
  if (version != kStoredVersion && version != kOlderVersion) {
    return fail(fmt::format("{} has no version \"{}\"; use {} or {}", kind, version, kStoredVersion,
                            kOlderVersion));
  }
  const std::string name(place["metadata"]["name"].text());
  if (count_values(object) > kMostValuesOfObject) {
    return fail(fmt::format("{} {} has more than {} values", kind, name, kMostValuesOfObject));
  }
  auto converted = kueue.convert(kind, std::move(object), request.version);
  if (!converted) return within(kind + " " + name, std::move(converted).error());
  return converted;
}

// What becomes too large together is refused and not left out: each object alone is as it should
// be, and whoever got it without its assignments would write it back without them.
Result<std::vector<std::string>> convert_all(const KueueAdmission& kueue,
                                             ConversionRequest& request) {
  if (request.group != core::names::kKueueGroup) {
    return fail(
        fmt::format("desiredAPIVersion: {}/{} is not converted to here; only versions of "
                    "{} are",
                    request.group, request.version, core::names::kKueueGroup));
  }
  std::vector<std::string> all;
  all.reserve(request.objects.size());
  size_t bytes = 0;
  for (json::value& object : request.objects) {
    const auto converted = convert_object(kueue, std::exchange(object, nullptr), request);
    if (!converted) return within(fmt::format("objects[{}]", all.size()), converted.error());
    all.push_back(json::serialize(*converted));
    bytes += all.back().size();
    if (bytes > kMostAnswerBytes) {
      return fail(
          fmt::format("objects[{}]: makes the answer longer than {} bytes; ask for fewer "
                      "objects at a time",
                      all.size() - 1, kMostAnswerBytes));
    }
  }
  return all;
}

}  // namespace

struct Webhook {
  std::string_view path;
  size_t most_bytes;
  std::string_view group;  // of the kinds that are reviewed there
  Decide decide;           // nullptr: conversion
  // The reviews of Jobs for which the cluster's state is asked (JobContext).
  std::optional<Operation> about_jobs_on = std::nullopt;
};

namespace {

constexpr std::array kWebhooks{
    Webhook{kMutateJobPath, kMostReviewBytes, kBatchGroup, default_new_job, Operation::kCreate},
    Webhook{kValidateJobPath, kMostReviewBytes, kBatchGroup, validate_job_change},
    Webhook{kMutateKueuePath, kMostReviewBytes, core::names::kKueueGroup, default_new_kueue_object},
    Webhook{kValidateKueuePath, kMostReviewBytes, core::names::kKueueGroup, validate_kueue_change},
    Webhook{kKeepSuspendedPath, kMostReviewBytes, kBatchGroup, keep_job_suspended,
            Operation::kUpdate},
    Webhook{kKeepStatusPath, kMostReviewBytes, core::names::kKueueGroup, keep_workload_status},
    Webhook{kConvertPath, kMostConversionBytes, core::names::kKueueGroup, nullptr},
};

constexpr auto kPaths = [] {
  std::array<std::string_view, kWebhooks.size()> paths;
  std::ranges::transform(kWebhooks, paths.begin(), &Webhook::path);
  return paths;
}();

// API servers say how long they wait in a query: "/convert?timeout=30s".
const Webhook* find_webhook(std::string_view target) {
  const std::string_view path = target.substr(0, target.find('?'));
  const auto* found = std::ranges::find(kWebhooks, path, &Webhook::path);
  return found == kWebhooks.end() ? nullptr : found;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 400:
      return "BadRequest";
    case 404:
      return "NotFound";
    case 413:
      return "RequestEntityTooLarge";
    case 503:
      return "ServiceUnavailable";
    default:
      return "InternalError";
  }
}

}  // namespace

std::span<const std::string_view> webhook_paths() {
  return kPaths;
}

size_t most_body_bytes(std::string_view path) {
  const Webhook* webhook = find_webhook(path);
  return webhook == nullptr ? 0 : webhook->most_bytes;
}

HttpAnswer http_error(int status, std::string_view message) {
  return {status, json::serialize(json::object{{"apiVersion", "v1"},
                                               {"kind", "Status"},
                                               {"metadata", json::object()},
                                               {"status", "Failure"},
                                               {"message", message},
                                               {"reason", reason_of(status)},
                                               {"code", status}})};
}

const json::value* WebhookRequest::job() const {
  const Review* review = std::get_if<Review>(&content);
  const bool wanted = review != nullptr && webhook->about_jobs_on == review->operation &&
                      review->subresource.empty();
  return wanted ? &review->object : nullptr;
}

size_t WebhookRequest::document_bytes() const {
  constexpr size_t kBytesOfValue = 48;  // with the key of a field, without texts
  size_t values = 0;
  if (const Review* review = std::get_if<Review>(&content)) {
    values = count_values(review->object) + count_values(review->old_object);
  } else {
    for (const json::value& object : std::get<ConversionRequest>(content).objects) {
      values += count_values(object);
    }
  }
  return values * kBytesOfValue;
}

// The kinds of a path, by which its rules are chosen.
Result<void> Webhooks::check_kind(const Webhook& webhook, const Review& review) const {
  const bool is_job = review.group == kBatchGroup && review.version == "v1" && review.kind == "Job";
  const bool is_kueue = review.group == core::names::kKueueGroup && kueue_.covers(review.kind) &&
                        (review.version == kStoredVersion || review.version == kOlderVersion);
  if (webhook.group == kBatchGroup ? is_job : is_kueue) return {};
  return fail(
      fmt::format("request.kind: {}/{} {} is not reviewed at {}; send it only the kinds of "
                  "deploy/webhooks.yaml",
                  review.group, review.version, review.kind, webhook.path));
}

std::expected<WebhookRequest, HttpAnswer> Webhooks::read(std::string_view path,
                                                         std::string_view body) const {
  const Webhook* webhook = find_webhook(path);
  if (webhook == nullptr) {
    return std::unexpected(http_error(404, fmt::format("{}: there is no such webhook", path)));
  }
  if (body.size() > webhook->most_bytes) {
    return std::unexpected(
        http_error(413, fmt::format("{}: the request has {} bytes, but may have at most {}", path,
                                    body.size(), webhook->most_bytes)));
  }
  const auto refuse = [&](const Error& error) {
    return std::unexpected(http_error(400, fmt::format("{}: {}", path, error.message)));
  };
  if (webhook->decide == nullptr) {
    auto conversion = read_conversion(body);
    if (!conversion) return refuse(conversion.error());
    return WebhookRequest{webhook, std::move(*conversion)};
  }
  auto review = read_review(body);
  if (!review) return refuse(review.error());
  if (auto checked = check_kind(*webhook, *review); !checked) return refuse(checked.error());
  return WebhookRequest{webhook, std::move(*review)};
}

HttpAnswer Webhooks::answer(WebhookRequest request, const JobContext& job_context) const {
  if (auto* conversion = std::get_if<ConversionRequest>(&request.content)) {
    return {200, write_conversion(conversion->uid, convert_all(kueue_, *conversion))};
  }
  const Review& review = std::get<Review>(request.content);
  return {200, write_decision(review, request.webhook->decide(review, {job_context, kueue_}))};
}

}  // namespace phalanx::admission
