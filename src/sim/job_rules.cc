#include "sim/job_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "sim/document.h"
#include "sim/names.h"
#include "sim/pod_spec_rules.h"

namespace phalanx::sim {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxIndexedPods = 100'000;
constexpr size_t kMaxName = 63;

constexpr std::string_view kUidLabel = "batch.kubernetes.io/controller-uid";
constexpr std::string_view kNameLabel = "batch.kubernetes.io/job-name";
constexpr std::array<std::string_view, 2> kUidLabels = {kUidLabel, "controller-uid"};
constexpr std::array<std::string_view, 2> kNameLabels = {kNameLabel, "job-name"};

bool is_generated(std::string_view label) {
  return std::ranges::find(kUidLabels, label) != kUidLabels.end() ||
         std::ranges::find(kNameLabels, label) != kNameLabels.end();
}

bool is_indexed(const json::value& job) {
  return string_at(job, {"spec", "completionMode"}) == "Indexed";
}

void set_default(json::object& object, std::string_view field, json::value value) {
  if (find_field(object, field) == nullptr) object[field] = std::move(value);
}

// A Job without labels takes those that its author gave the template.
void default_labels(json::value& job) {
  const json::object* labels = object_at(job, {"metadata", "labels"});
  if (labels != nullptr && !labels->empty()) return;
  const json::object* of_template = object_at(job, {"spec", "template", "metadata", "labels"});
  if (of_template == nullptr) return;
  json::object copied;
  for (const auto& [key, value] : *of_template) {
    if (!is_generated(key)) copied.emplace(key, value);
  }
  if (!copied.empty()) ensure_object(job, {"metadata"})["labels"] = std::move(copied);
}

// Marks the pods as this Job's own, so that it can never count those of another.
void generate_selector(json::value& job) {
  if (true_at(job, {"spec", "manualSelector"})) return;
  const std::string uid(uid_of(job));
  const std::string name(string_at(job, {"metadata", "name"}));
  const json::value* given = find_at(job, {"spec", "template", "metadata", "labels"});
  if (given != nullptr && !given->is_object()) return;  // is refused later
  json::object& labels = ensure_object(job, {"spec", "template", "metadata", "labels"});
  for (const std::string_view label : kUidLabels) set_default(labels, label, json::value(uid));
  for (const std::string_view label : kNameLabels) set_default(labels, label, json::value(name));
  if (find_at(job, {"spec", "selector"}) == nullptr) {
    ensure_object(job, {"spec", "selector", "matchLabels"})[kUidLabel] = uid;
  }
}

void check_selector(const json::value& job, Problems& problems) {
  const json::object* selected = object_at(job, {"spec", "selector", "matchLabels"});
  const json::object* labels = object_at(job, {"spec", "template", "metadata", "labels"});
  if (true_at(job, {"spec", "manualSelector"})) {
    if (find_at(job, {"spec", "selector"}) == nullptr) {
      problems.add("spec.selector", "is required with manualSelector");
    }
  } else {
    const json::object generated{{kUidLabel, uid_of(job)}};
    if (selected == nullptr || *selected != generated) {
      problems.add("spec.selector",
                   "is generated; leave it out, or set manualSelector: true to choose it yourself");
      return;
    }
  }
  if (selected == nullptr) return;
  for (const auto& [key, value] : *selected) {
    if (labels != nullptr && same_value(labels->if_contains(key), &value)) continue;
    problems.add("spec.template.metadata.labels",
                 fmt::format("must have {}: {}, as spec.selector asks for", std::string_view(key),
                             json::serialize(value)));
  }
}

void check_numbers(const json::value& job, Problems& problems) {
  DecodeStatus status;
  const JsonReader spec = JsonReader(&job, "", status).object("spec");
  for (const std::string_view field :
       {"parallelism", "completions", "backoffLimit", "backoffLimitPerIndex", "maxFailedIndexes",
        "ttlSecondsAfterFinished"}) {
    (void)spec.optional_integer(field, 0, kMaxInt32);
  }
  (void)spec.optional_integer("activeDeadlineSeconds", 0, std::numeric_limits<int64_t>::max());
  (void)spec.boolean("suspend", false);
  (void)spec.boolean("manualSelector", false);
  if (status.error()) problems.add("", status.error()->message);
}

void check_mode(const json::value& job, Problems& problems) {
  const std::string_view mode = string_at(job, {"spec", "completionMode"});
  if (mode != "Indexed" && mode != "NonIndexed") {
    problems.add("spec.completionMode", fmt::format("\"{}\" is not NonIndexed or Indexed", mode));
  }
  if (!is_indexed(job)) return;
  if (find_at(job, {"spec", "completions"}) == nullptr) {
    problems.add("spec.completions", "is required when the completion mode is Indexed");
  }
  if (integer_at(job, {"spec", "parallelism"}).value_or(0) > kMaxIndexedPods) {
    problems.add("spec.parallelism", fmt::format("must be at most {} when the completion mode is "
                                                 "Indexed",
                                                 kMaxIndexedPods));
  }
}

void check_managed_by(const json::value& job, Problems& problems) {
  const json::value* value = find_at(job, {"spec", "managedBy"});
  if (value == nullptr) return;
  const std::string_view name = string_at(job, {"spec", "managedBy"});
  if (name.find('/') == std::string_view::npos || name.size() > kMaxName ||
      !problem_of_qualified_name(name).empty()) {
    problems.add("spec.managedBy",
                 "must name the controller with its domain, such as example.com/controller, in at "
                 "most 63 characters");
  }
}

void check_template(const json::value& job, Problems& problems) {
  if (find_at(job, {"spec", "template"}) == nullptr) {
    problems.add("spec.template", "is required: the pods that the Job creates");
    return;
  }
  check_template_metadata(find_at(job, {"spec", "template", "metadata"}), "spec.template.metadata",
                          problems);
  check_pod_spec(find_at(job, {"spec", "template", "spec"}), "spec.template.spec", problems);
  const std::string_view policy = string_at(job, {"spec", "template", "spec", "restartPolicy"});
  if (policy == "Always") {
    problems.add("spec.template.spec.restartPolicy",
                 "\"Always\" (which is the default) would never complete; use Never or OnFailure");
  }
}

}  // namespace

void default_job(const RuleInput& input, json::value& job) {
  const json::value* given = find_at(job, {"spec"});
  if (given == nullptr || !given->is_object()) return;  // is refused later
  json::object& spec = ensure_object(job, {"spec"});
  const bool neither =
      find_field(spec, "completions") == nullptr && find_field(spec, "parallelism") == nullptr;
  if (neither && input.old_object == nullptr) spec["completions"] = 1;
  set_default(spec, "parallelism", 1);
  // With a limit for each index the Job as a whole has none.
  const bool per_index = find_field(spec, "backoffLimitPerIndex") != nullptr;
  set_default(spec, "backoffLimit", per_index ? kMaxInt32 : 6);
  set_default(spec, "completionMode", "NonIndexed");
  set_default(spec, "suspend", false);
  set_default(spec, "manualSelector", false);
  const bool fails_pods = find_field(spec, "podFailurePolicy") != nullptr;
  set_default(spec, "podReplacementPolicy", fails_pods ? "Failed" : "TerminatingOrFailed");
  if (json::object* pod_spec = object_at(job, {"spec", "template", "spec"})) {
    default_pod_spec(*pod_spec);
  }
  if (input.old_object == nullptr) {
    default_labels(job);
    if (find_at(job, {"spec", "template"}) != nullptr) generate_selector(job);
  }
}

void check_job(const RuleInput& input, const json::value& job, Problems& problems) {
  if (input.status) {
    check_job_status(input.old_object, job, problems);
    return;
  }
  const json::value* spec = find_at(job, {"spec"});
  if (spec == nullptr || !spec->is_object()) {
    problems.add("spec", "is required and must be an object");
    return;
  }
  if (string_at(job, {"metadata", "name"}).size() > kMaxName) {
    problems.add("metadata.name",
                 fmt::format("is too long for a Job, whose name becomes a label of "
                             "its pods; use at most {} characters",
                             kMaxName));
  }
  check_numbers(job, problems);
  check_mode(job, problems);
  check_managed_by(job, problems);
  check_template(job, problems);
  // Without a template nothing was generated that could be compared.
  if (find_at(job, {"spec", "template"}) != nullptr) check_selector(job, problems);
  if (input.old_object != nullptr) check_job_update(*input.old_object, job, problems);
}

}  // namespace phalanx::sim
