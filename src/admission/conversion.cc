#include "admission/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_path.h"
#include "topology/assignment_encoding.h"

namespace phalanx::admission {
namespace {

constexpr std::string_view kGroup = "kueue.x-k8s.io";

json::object* find_object(json::object* parent, std::string_view name) {
  json::value* value = parent == nullptr ? nullptr : parent->if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

json::array* find_list(json::object* parent, std::string_view name) {
  json::value* value = parent == nullptr ? nullptr : parent->if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

void remove_field(json::object* object, std::string_view name) {
  if (object == nullptr) return;
  if (auto* field = object->find(name); field != object->end()) object->stable_erase(field);
}

// Gives the field another name. One that already has that name stays.
void rename_field(json::object* object, std::string_view from, std::string_view to) {
  if (object == nullptr) return;
  auto* field = object->find(from);
  if (field == object->end()) return;
  json::value value = std::move(field->value());
  object->stable_erase(field);
  object->emplace(to, std::move(value));
}

void replace_text(json::object* object, std::string_view name, std::string_view from,
                  std::string_view to) {
  if (object != nullptr && string_field(*object, name) == from) (*object)[name] = to;
}

// ClusterQueue: admission checks are a list of names or a strategy; only the strategy is left.
Result<void> admission_checks_to_strategy(json::object& spec) {
  const json::array* names = find_list(&spec, "admissionChecks");
  json::object* strategy = find_object(&spec, "admissionChecksStrategy");
  const json::array* checks = find_list(strategy, "admissionChecks");
  const bool has_checks = checks != nullptr && !checks->empty();
  if (names != nullptr && !names->empty()) {
    if (has_checks) {
      return fail(
          "spec.admissionChecks: excludes spec.admissionChecksStrategy; keep the strategy only");
    }
    json::array converted;
    for (const json::value& name : *names) converted.push_back(json::object{{"name", name}});
    spec["admissionChecksStrategy"] = json::object{{"admissionChecks", std::move(converted)}};
  } else if (!has_checks) {
    remove_field(&spec, "admissionChecksStrategy");  // v1beta2 has no empty one
  }
  remove_field(&spec, "admissionChecks");
  return {};
}

Result<void> cluster_queue_up(json::object& document) {
  json::object* status = find_object(&document, "status");
  remove_field(status, "pendingWorkloadsStatus");
  remove_field(find_object(status, "fairSharing"), "admissionFairSharingStatus");
  json::object* spec = find_object(&document, "spec");
  if (spec == nullptr) return {};
  rename_field(spec, "cohort", "cohortName");
  json::object* fungibility = find_object(spec, "flavorFungibility");
  replace_text(fungibility, "whenCanBorrow", "Borrow", "MayStopSearch");
  replace_text(fungibility, "whenCanPreempt", "Preempt", "MayStopSearch");
  return admission_checks_to_strategy(*spec);
}

Result<void> cluster_queue_down(json::object& document) {
  rename_field(find_object(&document, "spec"), "cohortName", "cohort");
  return {};
}

Result<void> cohort_up(json::object& document) {
  remove_field(find_object(find_object(&document, "status"), "fairSharing"),
               "admissionFairSharingStatus");
  return {};
}

Result<void> local_queue_up(json::object& document) {
  json::object* status = find_object(&document, "status");
  rename_field(status, "flavorUsage", "flavorsUsage");
  remove_field(status, "flavors");
  return {};
}

Result<void> local_queue_down(json::object& document) {
  rename_field(find_object(&document, "status"), "flavorsUsage", "flavorUsage");
  return {};
}

Result<void> admission_check_up(json::object& document) {
  remove_field(find_object(&document, "spec"), "retryDelayMinutes");
  return {};
}

// Where the priority of a workload comes from, in both spellings.
struct PrioritySource {
  std::string_view source;  // v1beta1
  std::string_view group;
  std::string_view kind;
};
constexpr std::array kPrioritySources{
    PrioritySource{"kueue.x-k8s.io/workloadpriorityclass", kGroup, "WorkloadPriorityClass"},
    PrioritySource{"scheduling.k8s.io/priorityclass", "scheduling.k8s.io", "PriorityClass"},
};

void priority_class_up(json::object& spec) {
  const std::string name(string_field(spec, "priorityClassName"));
  const std::string source(string_field(spec, "priorityClassSource"));
  remove_field(&spec, "priorityClassName");
  remove_field(&spec, "priorityClassSource");
  // A name without a source says nothing: the priority beside it is what counts.
  const auto* found = std::ranges::find(kPrioritySources, source, &PrioritySource::source);
  if (name.empty() || found == kPrioritySources.end()) return;
  spec["priorityClassRef"] =
      json::object{{"group", found->group}, {"kind", found->kind}, {"name", name}};
}

void priority_class_down(json::object& spec) {
  const json::object* reference = find_object(&spec, "priorityClassRef");
  if (reference == nullptr) return;
  const std::string name(string_field(*reference, "name"));
  const auto* found = std::ranges::find(kPrioritySources, string_field(*reference, "group"),
                                        &PrioritySource::group);
  remove_field(&spec, "priorityClassRef");
  spec["priorityClassName"] = name;
  if (found != kPrioritySources.end()) spec["priorityClassSource"] = found->source;
}

// Rewrites every topology assignment with `encode`.
template <typename Encode>
Result<void> convert_assignments(json::object* status, Encode encode) {
  json::array* assignments = find_list(find_object(status, "admission"), "podSetAssignments");
  if (assignments == nullptr) return {};
  for (size_t i = 0; i < assignments->size(); ++i) {
    json::object* assignment = (*assignments)[i].if_object();
    if (find_object(assignment, "topologyAssignment") == nullptr) continue;
    json::value& place = (*assignment)["topologyAssignment"];
    const std::string path =
        fmt::format("status.admission.podSetAssignments[{}].topologyAssignment", i);
    ASSIGN_OR_RETURN(const api::TopologyAssignment decoded,
                     topology::decode_assignment(place, path));
    Result<json::value> encoded = encode(decoded);
    if (!encoded) return within(path, std::move(encoded).error());
    place = std::move(*encoded);
  }
  return {};
}

// v1beta1 has this name misspelled for good.
constexpr std::string_view kMisspelled = "accumulatedPastExexcutionTimeSeconds";
constexpr std::string_view kWellSpelled = "accumulatedPastExecutionTimeSeconds";

Result<void> workload_up(json::object& document) {
  if (json::object* spec = find_object(&document, "spec")) priority_class_up(*spec);
  json::object* status = find_object(&document, "status");
  rename_field(status, kMisspelled, kWellSpelled);
  return convert_assignments(status, [](const api::TopologyAssignment& assignment) {
    return topology::encode_v1beta2(assignment);
  });
}

Result<void> workload_down(json::object& document) {
  if (json::object* spec = find_object(&document, "spec")) priority_class_down(*spec);
  json::object* status = find_object(&document, "status");
  rename_field(status, kWellSpelled, kMisspelled);
  return convert_assignments(status,
                             [](const api::TopologyAssignment& assignment) -> Result<json::value> {
                               return topology::encode_v1beta1(assignment);
                             });
}

using Convert = Result<void> (*)(json::object& document);
struct KindConversion {
  std::string_view kind;
  Convert up = nullptr;  // nullptr: only the apiVersion differs
  Convert down = nullptr;
};
constexpr std::array kConversions{
    KindConversion{"ClusterQueue", cluster_queue_up, cluster_queue_down},
    KindConversion{"Cohort", cohort_up, nullptr},
    KindConversion{"LocalQueue", local_queue_up, local_queue_down},
    KindConversion{"AdmissionCheck", admission_check_up, nullptr},
    KindConversion{"Workload", workload_up, workload_down},
};

Result<json::value> convert(std::string_view kind, json::value document, std::string_view version) {
  if (!document.is_object() || version_of(document) == version) return document;
  const auto* found = std::ranges::find(kConversions, kind, &KindConversion::kind);
  if (found != kConversions.end()) {
    const Convert step = version == kStoredVersion ? found->up : found->down;
    if (step != nullptr) RETURN_IF_ERROR(step(document.get_object()));
  }
  document.get_object()["apiVersion"] = fmt::format("{}/{}", kGroup, version);
  return document;
}

}  // namespace

std::string_view version_of(const json::value& document) {
  const std::string_view text = string_at(document, {"apiVersion"});
  const size_t slash = text.find('/');
  return slash == std::string_view::npos ? "" : text.substr(slash + 1);
}

Result<json::value> to_v1beta2(std::string_view kind, json::value document) {
  return convert(kind, std::move(document), kStoredVersion);
}

Result<json::value> to_v1beta1(std::string_view kind, json::value document) {
  return convert(kind, std::move(document), kOlderVersion);
}

}  // namespace phalanx::admission
