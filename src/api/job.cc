#include "api/job.h"

#include <limits>

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

bool is_finished(const JsonReader& status) {
  bool finished = false;
  status.each("conditions", [&](const json::value& value, const std::string& path) {
    const JsonReader condition(&value, path, status.status());
    const std::string type = condition.string("type");
    const bool holds = condition.string("status") == "True";
    finished |= holds && (type == "Complete" || type == "Failed");
  });
  return finished;
}

}  // namespace

Job read_job(const JsonReader& object) {
  Job job;
  const JsonReader metadata = object.object("metadata");
  read_job_name(metadata, job);
  job.labels = metadata.string_map("labels");
  const JsonReader spec = object.object("spec");
  job.parallelism = static_cast<int32_t>(spec.integer("parallelism", 1, 0, kMaxPods));
  if (const auto completions = spec.optional_integer("completions", 0, kMaxPods)) {
    job.completions = static_cast<int32_t>(*completions);
  }
  if (!spec.has("template")) spec.report("template", "is required; it says what each pod needs");
  const JsonReader pod_template = spec.object("template");
  job.pod_template = read_pod_template(pod_template);
  job.topology = topology_request_from_annotations(
      job.pod_template.annotations, pod_template.path() + ".metadata.annotations", object.status());
  job.finished = is_finished(object.object("status"));
  return job;
}

}  // namespace phalanx::api
