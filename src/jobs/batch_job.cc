#include "jobs/batch_job.h"

#include "api/job.h"
#include "base/check.h"
#include "core/names.h"

namespace phalanx::jobs {
namespace {

constexpr std::string_view kBuiltInController = "kubernetes.io/job-controller";

void read_finish(const api::Job& read, core::Job& job) {
  job.finished = read.finished;
  job.succeeded = api::holds(read.conditions, "Complete");
  if (!job.finished) return;
  const api::Condition* failed = api::find_condition(read.conditions, "Failed");
  job.finish_message = job.succeeded || failed == nullptr ? "Job finished successfully"
                       : failed->message.empty()          ? "Job failed"
                                                          : failed->message;
}

}  // namespace

core::Job BatchJobAdapter::read(const JsonReader& object) const {
  DecodeStatus annotations;
  const api::Job read = api::read_job(object, annotations);
  core::Job job;
  job.meta = read.meta;
  job.managed_by = read.managed_by == kBuiltInController ? "" : read.managed_by;
  job.suspended = read.suspended;
  job.started = read.start_time.has_value();
  job.active_pods = read.active;
  read_finish(read, job);
  if (!annotations.ok()) job.problem = annotations.error()->message;
  core::JobPodSet pod_set;
  pod_set.name = core::names::kDefaultPodSet;
  pod_set.count = read.pod_count();
  pod_set.pod_template = read.pod_template;
  pod_set.topology = read.topology;
  pod_set.reclaimable = read.reclaimable();
  if (read.indexed && read.completions == read.parallelism) {
    pod_set.done_ranks = read.completed_indexes;
  }
  if (!job.finished) {
    if (const json::value* document = object.object("spec").find("template")) {
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
    const core::Job& job, std::span<const api::PodTemplate* const> originals) const {
  CHECK(originals.size() == 1 && job.pod_sets.size() == 1);
  auto pod_template = core::restore(job.pod_sets[0].pod_template, *originals[0]);
  if (!pod_template) return std::nullopt;
  return json::object{{"spec", json::object{{"template", std::move(*pod_template)}}}};
}

core::Adapters all_adapters() {
  core::Adapters adapters;
  adapters.add(std::make_unique<BatchJobAdapter>());
  return adapters;
}

}  // namespace phalanx::jobs
