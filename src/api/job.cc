#include "api/job.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <string_view>
#include <tuple>

namespace phalanx::api {
namespace {

constexpr int64_t kMaxPods = std::numeric_limits<int32_t>::max();

void read_job_name(const JsonReader& metadata, Job& job) {
  job.namespace_ = metadata.string("namespace", "default");
  job.name = metadata.string("name");
  if (!job.name.empty()) return;
  job.name = metadata.string("generateName");
  job.name_is_prefix = true;
  if (job.name.empty()) metadata.report("name", "is required (or generateName); name the Job");
}

// "0-3,5": what an API server writes; anything else ends the list. In order, and each once,
// whatever the text says.
std::vector<int32_t> read_indexes(std::string_view text) {
  constexpr size_t kMost = 1'000'000;
  std::vector<int32_t> indexes;
  const char* at = std::to_address(text.begin());
  const char* end = std::to_address(text.end());
  while (at < end) {
    int32_t first = 0;
    auto [stop, code] = std::from_chars(at, end, first);
    int32_t last = first;
    if (code == std::errc() && stop < end && *stop == '-') {
      std::tie(stop, code) = [&] {
        const auto result = std::from_chars(stop + 1, end, last);
        return std::pair(result.ptr, result.ec);
      }();
    }
    if (code != std::errc() || first < 0) break;
    for (int64_t index = first; index <= last && indexes.size() < kMost; ++index) {
      indexes.push_back(static_cast<int32_t>(index));
    }
    at = stop < end ? stop + 1 : end;
  }
  std::ranges::sort(indexes);
  indexes.erase(std::ranges::unique(indexes).begin(), indexes.end());
  return indexes;
}

void read_job_status(const JsonReader& status, Job& job) {
  job.conditions = read_conditions(status);
  job.finished = holds(job.conditions, "Complete") || holds(job.conditions, "Failed");
  job.start_time = read_time(status, "startTime");
  job.active = static_cast<int32_t>(status.integer("active", 0, 0, kMaxPods));
  job.ready = static_cast<int32_t>(status.integer("ready", 0, 0, kMaxPods));
  job.uncounted_succeeded =
      static_cast<int32_t>(status.object("uncountedTerminatedPods").strings("succeeded").size());
  job.succeeded = static_cast<int32_t>(status.integer("succeeded", 0, 0, kMaxPods));
  job.completed_indexes = read_indexes(status.string("completedIndexes"));
}

// What only an API server can have put there; a manifest without it reads as nothing.
ObjectMeta read_meta_if_named(const JsonReader& object) {
  return object.object("metadata").has("name") ? read_object_meta(object) : ObjectMeta();
}

}  // namespace

Job read_job(const JsonReader& object) {
  return read_job(object, object.status());
}

Job read_job(const JsonReader& object, DecodeStatus& of_annotations) {
  Job job;
  const JsonReader metadata = object.object("metadata");
  read_job_name(metadata, job);
  job.labels = metadata.string_map("labels");
  job.meta = read_meta_if_named(object);
  const JsonReader spec = object.object("spec");
  job.parallelism = static_cast<int32_t>(spec.integer("parallelism", 1, 0, kMaxPods));
  if (const auto completions = spec.optional_integer("completions", 0, kMaxPods)) {
    job.completions = static_cast<int32_t>(*completions);
  }
  if (!spec.has("template")) spec.report("template", "is required; it says what each pod needs");
  const JsonReader pod_template = spec.object("template");
  job.pod_template = read_pod_template(pod_template);
  job.topology = topology_request_from_annotations(
      job.pod_template.annotations, pod_template.path() + ".metadata.annotations", of_annotations);
  job.indexed = spec.string("completionMode") == "Indexed";
  job.suspended = spec.boolean("suspend", false);
  job.managed_by = spec.string("managedBy");
  read_job_status(object.object("status"), job);
  return job;
}

}  // namespace phalanx::api
