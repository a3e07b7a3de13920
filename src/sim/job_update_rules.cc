#include <fmt/format.h>

#include <limits>

#include "sim/cluster_rules.h"
#include "sim/document.h"
#include "sim/job_rules.h"

namespace phalanx::sim {
namespace {

bool is_suspended(const json::value& job) {
  return true_at(job, {"spec", "suspend"});
}

// The template without what may change while a Job is suspended.
json::value fixed_part(const json::value* pod_template, bool may_move) {
  json::value fixed = pod_template == nullptr ? json::value() : *pod_template;
  if (!may_move) return fixed;
  erase_at(fixed, {"metadata", "labels"});
  erase_at(fixed, {"metadata", "annotations"});
  erase_at(fixed, {"spec", "nodeSelector"});
  erase_at(fixed, {"spec", "tolerations"});
  erase_at(fixed, {"spec", "schedulingGates"});
  erase_at(fixed, {"spec", "affinity", "nodeAffinity"});
  // An object that only held these is as good as none.
  const auto drop_if_empty = [&](FieldPath path) {
    const json::object* object = object_at(fixed, path);
    if (object != nullptr && object->empty()) erase_at(fixed, path);
  };
  drop_if_empty({"metadata"});
  drop_if_empty({"spec", "affinity"});
  return fixed;
}

// The first place where two values differ, as a path below `path`.
std::string first_difference(const json::value* a, const json::value* b, const std::string& path) {
  const json::object* before = a == nullptr ? nullptr : a->if_object();
  const json::object* after = b == nullptr ? nullptr : b->if_object();
  if (before == nullptr || after == nullptr) return path;
  for (const json::object* fields : {before, after}) {
    for (const auto& field : *fields) {
      const json::value* left = before->if_contains(field.key());
      const json::value* right = after->if_contains(field.key());
      if (same_value(left, right)) continue;
      return first_difference(left, right,
                              fmt::format("{}.{}", path, std::string_view(field.key())));
    }
  }
  return path;
}

void check_template_update(const json::value& old_job, const json::value& job, Problems& problems) {
  const bool started = find_at(old_job, {"status", "startTime"}) != nullptr;
  const bool may_move = is_suspended(old_job) && !started;
  const json::value before = fixed_part(find_at(old_job, {"spec", "template"}), may_move);
  const json::value after = fixed_part(find_at(job, {"spec", "template"}), may_move);
  if (before == after) return;
  problems.add(first_difference(&before, &after, "spec.template"),
               may_move ? "cannot be changed; of the template of a suspended Job only labels, "
                          "annotations, nodeSelector, node affinity, tolerations and "
                          "schedulingGates can be"
                        : "cannot be changed once the Job may have started; suspend it first and "
                          "clear status.startTime, or create a new Job");
}

void check_completions_update(const json::value& old_job, const json::value& job,
                              Problems& problems) {
  const json::value* before = find_at(old_job, {"spec", "completions"});
  const json::value* after = find_at(job, {"spec", "completions"});
  if (same_value(before, after)) return;
  const bool elastic = string_at(old_job, {"spec", "completionMode"}) == "Indexed" &&
                       before != nullptr && after != nullptr &&
                       same_value(before, find_at(old_job, {"spec", "parallelism"})) &&
                       same_value(after, find_at(job, {"spec", "parallelism"}));
  if (elastic) return;
  problems.add(
      "spec.completions",
      "cannot be changed; only an Indexed Job whose parallelism equals its completions can "
      "be scaled, by changing both to the same number");
}

bool is_finished(const json::value& job) {
  return condition_is_true(job, "Complete") || condition_is_true(job, "Failed");
}

void check_counters(const json::value& job, Problems& problems) {
  DecodeStatus decoding;
  const JsonReader status = JsonReader(&job, "", decoding).object("status");
  for (const std::string_view field : {"active", "ready", "succeeded", "failed", "terminating"}) {
    (void)status.optional_integer(field, 0, std::numeric_limits<int32_t>::max());
  }
  if (decoding.error()) problems.add("", decoding.error()->message);
}

void check_times(const json::value* old_job, const json::value& job, Problems& problems) {
  if (old_job != nullptr) {
    const json::value* before = find_at(*old_job, {"status", "startTime"});
    // The write that reports a Job as resumed is the one that restarts its time.
    const bool resumes = condition_is_true(*old_job, "Suspended");
    if (before != nullptr && !same_value(before, find_at(job, {"status", "startTime"})) &&
        !is_suspended(job) && !resumes) {
      problems.add("status.startTime", "cannot be changed or cleared unless the Job is suspended");
    }
  }
  const bool complete = condition_is_true(job, "Complete");
  if (find_at(job, {"status", "completionTime"}) != nullptr && !complete) {
    problems.add("status.completionTime", "can only be set once the condition Complete is True");
  }
}

}  // namespace

void check_job_update(const json::value& old_job, const json::value& job, Problems& problems) {
  for (const std::string_view field :
       {"selector", "completionMode", "managedBy", "manualSelector", "podFailurePolicy",
        "successPolicy", "backoffLimitPerIndex"}) {
    if (same_value(find_at(old_job, {"spec", field}), find_at(job, {"spec", field}))) continue;
    problems.add(fmt::format("spec.{}", field), "cannot be changed; create a new Job");
  }
  check_completions_update(old_job, job, problems);
  check_template_update(old_job, job, problems);
}

void check_job_status(const json::value* old_job, const json::value& job, Problems& problems) {
  check_counters(job, problems);
  check_conditions(job, problems);
  check_times(old_job, job, problems);
  if (condition_is_true(job, "Complete") && condition_is_true(job, "Failed")) {
    problems.add("status.conditions", "a Job cannot be both Complete and Failed");
  }
  if (old_job == nullptr || !is_finished(*old_job)) return;
  for (const std::string_view type : {"Complete", "Failed"}) {
    if (condition_is_true(*old_job, type) && !condition_is_true(job, type)) {
      problems.add("status.conditions",
                   fmt::format("a Job that is {} stays so; create a new Job", type));
    }
  }
}

}  // namespace phalanx::sim
