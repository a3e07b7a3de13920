#include "sim/job_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "sim/object_fields.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kControllerName = "kubernetes.io/job-controller";
constexpr size_t kMaxHostname = 63;

std::optional<int64_t> completion_index(const json::value& pod) {
  std::string_view text = annotation_of(pod, kCompletionIndexKey);
  if (text.empty()) text = string_at(pod, {"metadata", "labels", kCompletionIndexKey});
  int64_t index = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (text.empty() || code != std::errc() || index < 0) return std::nullopt;
  return index;
}

// When the last container ended; when the pod stopped being ready if they do not say.
Time finish_time(const json::value& pod, Time now) {
  std::optional<Time> last;
  for (const json::value& container : list_field(pod, {"status", "containerStatuses"})) {
    const auto time = time_field(container, {"state", "terminated", "finishedAt"});
    if (time && (!last || *time > *last)) last = time;
  }
  if (last) return *last;
  if (const json::object* ready = find_condition(pod, "Ready")) {
    if (const auto time = parse_time(string_field(*ready, "lastTransitionTime"))) return *time;
  }
  return time_field(pod, {"metadata", "creationTimestamp"}).value_or(now);
}

// A copy of one object of the template's metadata, to add to.
json::object template_map(const json::value& job, std::string_view name) {
  const json::value* map = find_at(job, {"spec", "template", "metadata", name});
  return map != nullptr && map->is_object() ? map->get_object() : json::object();
}

int progress_of(const JobPod& pod) {
  if (string_at(*pod.document, {"spec", "nodeName"}).empty()) return 0;
  if (string_at(*pod.document, {"status", "phase"}) != "Running") return 1;
  return pod.ready ? 3 : 2;
}

}  // namespace

JobView view_job(const api::ObjectKey& key, const Stored& document) {
  const json::value& job = *document;
  const auto number = [&](std::string_view name) { return integer_at(job, {"spec", name}); };
  JobView view;
  view.key = key;
  view.document = document;
  view.uid = uid_of(job);
  view.parallelism = std::max<int64_t>(number("parallelism").value_or(1), 0);
  view.completions = number("completions");
  view.indexed = string_at(job, {"spec", "completionMode"}) == "Indexed";
  view.backoff_limit = number("backoffLimit").value_or(view.backoff_limit);
  view.suspended = true_at(job, {"spec", "suspend"});
  view.deleting = is_deleted(job);
  view.replaces_failed_only = string_at(job, {"spec", "podReplacementPolicy"}) == "Failed";
  view.restarts_in_place =
      string_at(job, {"spec", "template", "spec", "restartPolicy"}) == "OnFailure";
  view.ours = text_or(job, {"spec", "managedBy"}, kControllerName) == kControllerName;
  view.finished = condition_is_true(job, "Complete") || condition_is_true(job, "Failed");
  view.start_time = time_field(job, {"status", "startTime"});
  view.active_deadline_seconds = number("activeDeadlineSeconds");
  view.ttl_seconds_after_finished = number("ttlSecondsAfterFinished");
  return view;
}

JobPod view_pod(const api::ObjectKey& key, const Stored& document, const JobView& job, Time now) {
  const json::value& pod = *document;
  const bool ended = is_terminal(pod);
  const bool deleting = is_deleted(pod);
  JobPod view;
  view.key = key;
  view.document = document;
  view.uid = uid_of(pod);
  view.index = completion_index(pod);
  view.tracked = has_finalizer(pod, kJobTrackingFinalizer);
  view.succeeded = string_at(pod, {"status", "phase"}) == "Succeeded";
  view.active = !ended && !deleting;
  view.terminating = !ended && deleting;
  view.failed = (ended && !view.succeeded) || (view.terminating && !job.replaces_failed_only);
  view.ready = view.active && condition_is_true(pod, "Ready");
  view.finished_at = ended ? finish_time(pod, now) : deleted_at(pod).value_or(now);
  return view;
}

RemovalOrder removal_order(const JobView& job, const std::vector<JobPod>& pods) {
  const auto least_first = [](const JobPod* pod) {
    return std::tuple(progress_of(*pod), -pod->index.value_or(0));
  };
  std::vector<const JobPod*> active;
  for (const JobPod& pod : pods) {
    if (pod.active) active.push_back(&pod);
  }
  // Equal ones: the youngest first. Creation times sort as text.
  std::ranges::sort(active, [&](const JobPod* a, const JobPod* b) {
    const auto rank_a = least_first(a);
    const auto rank_b = least_first(b);
    if (rank_a != rank_b) return rank_a < rank_b;
    const std::string_view born_a = string_at(*a->document, {"metadata", "creationTimestamp"});
    const std::string_view born_b = string_at(*b->document, {"metadata", "creationTimestamp"});
    return std::tuple(born_b, b->key) < std::tuple(born_a, a->key);
  });
  if (!job.indexed) return {std::move(active), 0};

  // Of each index the pod that came farthest is kept; all others go before anything else.
  const int64_t bound = job.completions.value_or(std::numeric_limits<int64_t>::max());
  std::set<int64_t> kept;
  std::vector<const JobPod*> surplus;
  std::vector<const JobPod*> useful;
  for (auto pod = active.rbegin(); pod != active.rend(); ++pod) {
    const auto index = (*pod)->index;
    const bool is_useful = index && *index < bound && kept.insert(*index).second;
    (is_useful ? useful : surplus).push_back(*pod);
  }
  std::ranges::reverse(useful);
  std::ranges::reverse(surplus);
  RemovalOrder order{std::move(surplus), 0};
  order.surplus = static_cast<int64_t>(order.pods.size());
  order.pods.insert(order.pods.end(), useful.begin(), useful.end());
  return order;
}

json::value new_pod(const JobView& job, std::optional<int64_t> index) {
  const json::value& document = *job.document;
  const std::string& name = job.key.name;
  json::object labels = template_map(document, "labels");
  // An API server adds these to the template of new Jobs; imported Jobs may lack them.
  for (const std::string_view label : {"batch.kubernetes.io/controller-uid", "controller-uid"}) {
    if (!labels.contains(label)) labels[label] = job.uid;
  }
  for (const std::string_view label : {"batch.kubernetes.io/job-name", "job-name"}) {
    if (!labels.contains(label)) labels[label] = name;
  }
  json::object annotations = template_map(document, "annotations");
  const json::value* template_spec = find_at(document, {"spec", "template", "spec"});
  json::value spec = template_spec == nullptr ? json::object() : *template_spec;
  std::string prefix = name + "-";
  if (index) {
    const std::string number = std::to_string(*index);
    prefix += number + "-";
    labels[kCompletionIndexKey] = number;
    annotations[kCompletionIndexKey] = number;
    const std::string hostname = fmt::format("{}-{}", name, number);
    if (spec.is_object() && !spec.get_object().contains("hostname") &&
        hostname.size() <= kMaxHostname) {
      spec.get_object()["hostname"] = hostname;
    }
  }
  json::object metadata;
  metadata["generateName"] = prefix;
  metadata["namespace"] = job.key.namespace_;
  metadata["labels"] = std::move(labels);
  if (!annotations.empty()) metadata["annotations"] = std::move(annotations);
  json::array finalizers;
  for (const json::value& finalizer :
       list_field(document, {"spec", "template", "metadata", "finalizers"})) {
    finalizers.push_back(finalizer);
  }
  finalizers.emplace_back(kJobTrackingFinalizer);
  metadata["finalizers"] = std::move(finalizers);
  metadata["ownerReferences"] = json::array{json::object{{"apiVersion", "batch/v1"},
                                                         {"kind", "Job"},
                                                         {"name", name},
                                                         {"uid", job.uid},
                                                         {"controller", true},
                                                         {"blockOwnerDeletion", true}}};
  return json::object{{"apiVersion", "v1"},
                      {"kind", "Pod"},
                      {"metadata", std::move(metadata)},
                      {"spec", std::move(spec)}};
}

}  // namespace phalanx::sim
