#include "admission/job_admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "admission/document.h"
#include "admission/names.h"
#include "api/job.h"
#include "base/json_path.h"
#include "core/job_controller.h"
#include "core/names.h"
#include "jobs/batch_job.h"

namespace phalanx::admission {
namespace {

constexpr std::string_view kBuiltInController = "kubernetes.io/job-controller";

bool run_by_another_controller(const Place& job) {
  const std::string_view manager = job["spec"]["managedBy"].text();
  return !manager.empty() && manager != kBuiltInController;
}

std::string_view queue_of(const Place& job) {
  return job["metadata"]["labels"][core::names::kQueueLabel].text();
}

bool is_suspended(const Place& job) {
  const json::value* suspended = job["spec"]["suspend"].value();
  return suspended != nullptr && *suspended == json::value(true);
}

std::string label_path(std::string_view label) {
  return fmt::format("metadata.labels[{}]", label);
}

json::object& object_in(json::object& parent, std::string_view field) {
  json::value& value = parent[field];
  if (!value.is_object()) value = json::object();
  return value.get_object();
}

// Slices are whole: their size divides the number of pods.
void check_slices(const api::Job& job, ProblemList& problems) {
  if (!job.topology) return;
  const auto constraints = job.topology->constraints();
  if (constraints.empty() || constraints.front().size <= 0) return;
  for (size_t i = 1; i < constraints.size(); ++i) {
    const int32_t above = constraints[i - 1].size;
    if (constraints[i].size <= 0 || above % constraints[i].size == 0) continue;
    problems.add(
        "spec.template.metadata.annotations",
        fmt::format("the slice size {} of the layer {} must be a multiple of the {} of the "
                    "layer {} below it",
                    above, constraints[i - 1].topology, constraints[i].size,
                    constraints[i].topology));
  }
  const int32_t size = constraints.front().size;
  if (job.pod_count() % size == 0) return;
  problems.add("spec.template.metadata.annotations",
               fmt::format("the slice size {} does not divide the {} pods that run at a time; "
                           "choose a size that does, or another parallelism",
                           size, job.pod_count()));
}

// Levels are label keys; which of them a topology has is found out when the Job is placed.
void check_level_names(const json::value& document, ProblemList& problems) {
  const Place annotations = Place(&document)["spec"]["template"]["metadata"]["annotations"];
  for (const std::string_view name :
       {"kueue.x-k8s.io/podset-required-topology", "kueue.x-k8s.io/podset-preferred-topology",
        "kueue.x-k8s.io/podset-slice-required-topology"}) {
    const Place level = annotations[name];
    if (!level.present() || is_label_key(level.text())) continue;
    problems.add(fmt::format("spec.template.metadata.annotations[{}]", name),
                 fmt::format("\"{}\" is no level; name the node label of one, such as "
                             "cloud.provider.com/topology-rack",
                             level.text()));
  }
}

// What the Job asks for beside a queue: places, and how few pods will do.
void check_wishes(const json::value& document, ProblemList& problems) {
  check_level_names(document, problems);
  DecodeStatus status;
  DecodeStatus annotations;
  const api::Job job = api::read_job(JsonReader(&document, "", status), annotations);
  if (!annotations.ok()) {
    problems.add("", annotations.error()->message);
  } else if (status.ok()) {
    check_slices(job, problems);
    const api::ObjectMeta meta = api::read_object_meta(JsonReader(&document, "", status));
    const std::string problem = jobs::partial_admission_problem(job, meta);
    if (!problem.empty()) problems.add("", problem);
  }
}

// What was let in before can be changed in other ways, and be finished and removed.
void check_template(const Place& old_job, const Place& job, ProblemList& problems) {
  const auto problem_of = [](const Place& each) -> std::string {
    const Place pod_template = each["spec"]["template"];
    return pod_template.present() ? jobs::template_problem(*pod_template.value()) : "";
  };
  const std::string problem = problem_of(job);
  if (!problem.empty() && problem_of(old_job).empty()) problems.add("", problem);
}

// By these a Job that runs with fewer pods is brought back to what it was.
void check_kept_annotations(const Place& old_job, const Place& job, ProblemList& problems) {
  for (const std::string_view name : {core::names::kMinParallelismAnnotation,
                                      core::names::kCompletionsEqualParallelismAnnotation}) {
    const Place before = old_job["metadata"]["annotations"][name];
    const Place after = job["metadata"]["annotations"][name];
    if (before.present() == after.present() && before.text() == after.text()) continue;
    problems.add(fmt::format("metadata.annotations[{}]", name),
                 "may change only while the Job is suspended");
  }
}

}  // namespace

JobFacts job_facts(const json::value& document) {
  const auto short_text = [](std::string_view text) {
    return std::string(text.size() > JobFacts::kLongestText ? "" : text);
  };
  const Place job(&document);
  JobFacts facts;
  facts.namespace_ = short_text(job["metadata"]["namespace"].text());
  facts.uid = short_text(job["metadata"]["uid"].text());
  facts.has_queue = !queue_of(job).empty();
  facts.run_by_another = run_by_another_controller(job);
  const json::array* owners = array_at(document, {"metadata", "ownerReferences"});
  if (owners == nullptr) return facts;
  const auto* const controller = std::ranges::find_if(
      *owners, [](const json::value& owner) { return true_at(owner, {"controller"}); });
  if (controller == owners->end()) return facts;
  const Place owner(controller);
  facts.controller = {short_text(owner["apiVersion"].text()), short_text(owner["kind"].text()),
                      short_text(owner["name"].text()), short_text(owner["uid"].text()), true};
  return facts;
}

JobContext job_context(const core::State& state, const JobFacts& facts,
                       const core::Adapters& adapters) {
  if (adapters.find(api::Kind::kJob) == nullptr) return {};
  const api::ObjectKey key{api::Kind::kJob, facts.namespace_, ""};
  core::Job job;
  job.meta.namespace_ = facts.namespace_;
  job.meta.uid = facts.uid;
  if (facts.run_by_another) job.managed_by = "another";
  if (facts.controller) job.meta.owners.push_back(*facts.controller);
  core::Job queued = job;
  queued.meta.labels[std::string(core::names::kQueueLabel)] = "any";
  const bool managed_if_queued = core::is_managed(state, key, queued);
  JobContext context;
  context.default_queue_exists = state.local_queues.contains(
      facts.namespace_ + "/" + std::string(core::names::kDefaultLocalQueue));
  // A queue name decides by itself; what is left is the configuration and the owner.
  context.manage_without_queue =
      facts.has_queue ? managed_if_queued : core::is_managed(state, key, job);
  context.owned_by_managed = !managed_if_queued;
  return context;
}

void default_job(json::value& document, const JobContext& context) {
  if (!document.is_object()) return;
  const Place job(&document);
  if (run_by_another_controller(job) || context.owned_by_managed) return;
  if (queue_of(job).empty() && context.default_queue_exists) {
    json::object& metadata = object_in(document.get_object(), "metadata");
    object_in(metadata, "labels")[core::names::kQueueLabel] = core::names::kDefaultLocalQueue;
  }
  if (queue_of(Place(&document)).empty() && !context.manage_without_queue) return;
  object_in(document.get_object(), "spec")["suspend"] = true;
}

std::vector<Problem> validate_job(const json::value* old_document, const json::value& document) {
  ProblemList problems;
  const Place job(&document);
  const Place old_job(old_document);
  const std::string_view queue = queue_of(job);
  if (queue.empty() && queue_of(old_job).empty()) return {};  // not ours, or not yet
  if (!queue.empty() && !is_dns_subdomain(queue)) {
    problems.add(label_path(core::names::kQueueLabel),
                 fmt::format("\"{}\" is no name of a LocalQueue; use lower case letters, digits, "
                             "'-' and '.'",
                             queue));
  }
  if (const Place label = job["metadata"]["labels"][core::names::kMaximumExecutionLabel];
      label.present()) {
    api::ObjectMeta meta;
    meta.labels[std::string(core::names::kMaximumExecutionLabel)] = label.text();
    if (!core::maximum_execution_seconds(meta)) {
      problems.add(label_path(core::names::kMaximumExecutionLabel),
                   fmt::format("\"{}\" is no number of seconds; write a whole one, 1 or more",
                               label.text()));
    }
  }
  const bool was_running = old_job.present() && !is_suspended(old_job);
  if (was_running && queue != queue_of(old_job)) {
    problems.add(label_path(core::names::kQueueLabel),
                 fmt::format("may change only while the Job is suspended; it runs in the queue "
                             "\"{}\"",
                             queue_of(old_job)));
  }
  if (was_running) check_kept_annotations(old_job, job, problems);
  check_template(old_job, job, problems);
  check_wishes(document, problems);
  return std::move(problems).take();
}

std::vector<Problem> check_start_by_hand(const json::value& old_document,
                                         const json::value& document, const JobContext& context) {
  const Place job(&document);
  if (!is_suspended(Place(&old_document)) || is_suspended(job) || run_by_another_controller(job)) {
    return {};
  }
  if (queue_of(job).empty()) {
    if (!context.manage_without_queue) return {};
    return {{"spec.suspend",
             fmt::format("Jobs without a queue are held back here; name a queue by the label {}, "
                         "and the Job is started when that admits it",
                         core::names::kQueueLabel)}};
  }
  return {{"spec.suspend",
           fmt::format("the Job is started when its queue \"{}\" admits it; remove the label {} to "
                       "start it without a queue",
                       queue_of(job), core::names::kQueueLabel)}};
}

std::vector<std::string> job_warnings(const json::value& document) {
  const Place job(&document);
  if (queue_of(job).empty() || !run_by_another_controller(job)) return {};
  return {fmt::format("spec.managedBy: {} runs this Job, so the queue \"{}\" has no effect",
                      job["spec"]["managedBy"].text(), queue_of(job))};
}

}  // namespace phalanx::admission
