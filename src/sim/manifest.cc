#include "sim/manifest.h"

#include <array>
#include <string_view>

#include "sim/document.h"
#include "sim/kubelet.h"

namespace phalanx::sim {
namespace {

constexpr std::array<std::string_view, 4> kGeneratedLabels{"batch.kubernetes.io/controller-uid",
                                                           "batch.kubernetes.io/job-name",
                                                           "controller-uid", "job-name"};

bool is_job(const json::value& document) {
  return string_at(document, {"apiVersion"}).starts_with("batch/") &&
         string_at(document, {"kind"}) == "Job";
}

void drop_generated_of_job(json::value& job) {
  erase_at(job, {"status"});
  if (true_at(job, {"spec", "manualSelector"})) return;
  erase_at(job, {"spec", "selector"});
  for (const std::string_view label : kGeneratedLabels) {
    erase_at(job, {"metadata", "labels", label});
    erase_at(job, {"spec", "template", "metadata", "labels", label});
  }
}

}  // namespace

void drop_generated_fields(json::value& document) {
  if (is_job(document) && !uid_of(document).empty()) drop_generated_of_job(document);
  for (const std::string_view field :
       {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"}) {
    erase_at(document, {"metadata", field});
  }
}

void complete_conditions(json::value& document, Time now) {
  json::array* conditions = array_at(document, {"status", "conditions"});
  if (conditions == nullptr) return;
  for (json::value& entry : *conditions) {
    json::object* condition = entry.if_object();
    if (condition == nullptr) continue;
    const auto complete = [&](std::string_view field, const std::string& value) {
      if (find_field(*condition, field) == nullptr) (*condition)[field] = value;
    };
    complete("reason", "Given");
    complete("message", "");
    complete("lastTransitionTime", format_time(now));
  }
}

Result<void> check_run_annotations(const json::value& document) {
  const std::string_view kind = string_at(document, {"kind"});
  if (kind == "Pod") {
    if (std::string problem = problem_of_run_annotations(document); !problem.empty()) {
      return fail(std::move(problem));
    }
  }
  const json::value* pods = find_at(document, {"spec", "template"});
  if (!is_job(document) || pods == nullptr) return {};
  if (const std::string problem = problem_of_run_annotations(*pods); !problem.empty()) {
    return fail("spec.template." + problem);
  }
  return {};
}

}  // namespace phalanx::sim
