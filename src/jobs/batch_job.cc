#include "jobs/batch_job.h"

#include <fmt/format.h>

#include <charconv>

#include "api/job.h"
#include "base/check.h"
#include "base/crowded_object.h"
#include "base/printable.h"
#include "core/names.h"

namespace phalanx::jobs {
namespace {

constexpr std::string_view kBuiltInController = "kubernetes.io/job-controller";
// Of one object in a pod template. A Workload holds a copy of it, the managers of its fields hold
// another, and what reads strangers' documents takes only so much of objects with more than that
// (base/strict_json.h): one Workload beyond it, and lists of Workloads could not be converted.
constexpr size_t kMostFields = 1000;

void read_finish(const api::Job& read, core::Job& job) {
  job.finished = read.finished;
  job.succeeded = api::holds(read.conditions, "Complete");
  if (!job.finished) return;
  const api::Condition* failed = api::find_condition(read.conditions, "Failed");
  job.finish_message = job.succeeded || failed == nullptr ? "Job finished successfully"
                       : failed->message.empty()          ? "Job failed"
                                                          : failed->message;
}

std::optional<int32_t> read_count(const std::string& text) {
  int32_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, count);
  if (code != std::errc() || stop != end) return std::nullopt;
  return count;
}

std::optional<int32_t> min_parallelism(const api::ObjectMeta& meta) {
  const std::string* text = meta.annotation(core::names::kMinParallelismAnnotation);
  return text == nullptr ? std::nullopt : read_count(*text);
}

bool completions_follow(const api::ObjectMeta& meta) {
  const std::string* text = meta.annotation(core::names::kCompletionsEqualParallelismAnnotation);
  return text != nullptr && *text == "true";
}

// API servers let completions change only together with the parallelism that they equal.
void put_count(const core::Job& job, std::optional<int32_t> count, json::object& spec) {
  if (!count) return;
  spec["parallelism"] = *count;
  if (completions_follow(job.meta)) spec["completions"] = *count;
}

}  // namespace

std::string partial_admission_problem(const api::Job& job, const api::ObjectMeta& meta) {
  const auto about = [](std::string_view annotation, const std::string& what) {
    return fmt::format("metadata.annotations[{}]: {}", annotation, what);
  };
  constexpr std::string_view kLeast = core::names::kMinParallelismAnnotation;
  constexpr std::string_view kFollow = core::names::kCompletionsEqualParallelismAnnotation;
  if (const std::string* text = meta.annotation(kLeast)) {
    const auto least = read_count(*text);
    if (!least || *least < 1) {
      return about(kLeast, fmt::format("\"{}\" is no number of pods from 1 on", excerpt(*text)));
    }
    if (*least > job.pod_count()) {
      return about(kLeast, fmt::format("is {}, but only {} pods run at a time; write at most that",
                                       *least, job.pod_count()));
    }
  }
  const std::string* follow = meta.annotation(kFollow);
  if (follow == nullptr || *follow == "false") return "";
  if (*follow != "true") {
    return about(kFollow, fmt::format("\"{}\" is not \"true\" or \"false\"", excerpt(*follow)));
  }
  if (!job.indexed || job.completions != job.parallelism) {
    return about(kFollow,
                 "is only for an Indexed Job whose completions equal its parallelism: of others "
                 "completions cannot be changed");
  }
  return "";
}

std::string template_problem(const json::value& pod_template) {
  const auto crowded = find_crowded_object(pod_template, kMostFields);
  if (!crowded) return "";
  return fmt::format("spec.template{}{}: has more than {} entries; leave some out",
                     crowded->empty() ? "" : ".", excerpt(*crowded), kMostFields);
}

core::Job BatchJobAdapter::read(const JsonReader& object) const {
  DecodeStatus annotations;
  const api::Job read = api::read_job(object, annotations);
  core::Job job;
  job.meta = read.meta;
  job.managed_by = read.managed_by == kBuiltInController ? "" : read.managed_by;
  job.suspended = read.suspended;
  job.started = read.start_time.has_value();
  job.active_pods = read.active;
  // Pods that have just succeeded are not ready any more and not counted yet: they are counted
  // here, or the answer would flicker.
  job.pods_ready =
      int64_t{read.ready} + read.uncounted_succeeded + read.succeeded >= int64_t{read.pod_count()};
  read_finish(read, job);
  job.problem =
      annotations.ok() ? partial_admission_problem(read, read.meta) : annotations.error()->message;
  core::JobPodSet pod_set;
  pod_set.name = core::names::kDefaultPodSet;
  pod_set.count = read.pod_count();
  if (job.problem.empty()) pod_set.min_count = min_parallelism(read.meta);
  pod_set.pod_template = read.pod_template;
  pod_set.topology = read.topology;
  pod_set.reclaimable = read.reclaimable();
  if (read.indexed && read.completions == read.parallelism) {
    pod_set.done_ranks = read.completed_indexes;
  }
  if (!job.finished) {
    if (const json::value* document = object.object("spec").find("template")) {
      // What a start has put in does not count.
      if (job.problem.empty() && job.suspended) job.problem = template_problem(*document);
      pod_set.document = *document;
    }
  }
  job.pod_sets.push_back(std::move(pod_set));
  return job;
}

json::object BatchJobAdapter::start_patch(const core::Job& job,
                                          std::span<const core::Injection> injections) const {
  CHECK(injections.size() == 1 && job.pod_sets.size() == 1);
  json::object spec{{"suspend", false}};
  put_count(job, injections[0].count, spec);
  json::object pod_template = core::inject(job.pod_sets[0].pod_template, injections[0]);
  if (!pod_template.empty()) spec["template"] = std::move(pod_template);
  return {{"spec", std::move(spec)}};
}

json::object BatchJobAdapter::suspend_patch() const {
  return {{"spec", json::object{{"suspend", true}}}};
}

json::object BatchJobAdapter::reset_patch() const {
  return {{"status", json::object{{"startTime", nullptr}}}};
}

std::optional<json::object> BatchJobAdapter::restore_patch(
    const core::Job& job, std::span<const core::Original> originals) const {
  CHECK(originals.size() == 1 && job.pod_sets.size() == 1);
  json::object spec;
  put_count(job, originals[0].count, spec);
  auto pod_template = core::restore(job.pod_sets[0].pod_template, *originals[0].pod_template);
  if (pod_template) spec["template"] = std::move(*pod_template);
  if (spec.empty()) return std::nullopt;
  return json::object{{"spec", std::move(spec)}};
}

core::Adapters all_adapters() {
  core::Adapters adapters;
  adapters.add(std::make_unique<BatchJobAdapter>());
  return adapters;
}

}  // namespace phalanx::jobs
