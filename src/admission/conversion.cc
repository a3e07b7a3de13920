#include "admission/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/json_path.h"
#include "core/names.h"

namespace phalanx::admission {
namespace {

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

// ClusterQueue: admission checks are a list of names or a strategy; only the strategy is left. If
// there are both, which nobody may write, the list counts, as it does in Kueue's conversion.
void admission_checks_to_strategy(json::object& spec) {
  const json::array* names = find_list(&spec, "admissionChecks");
  const json::array* checks =
      find_list(find_object(&spec, "admissionChecksStrategy"), "admissionChecks");
  json::array converted;
  if (names != nullptr) {
    for (const json::value& name : *names) converted.push_back(json::object{{"name", name}});
  }
  if (!converted.empty()) {
    spec["admissionChecksStrategy"] = json::object{{"admissionChecks", std::move(converted)}};
  } else if (checks == nullptr || checks->empty()) {
    remove_field(&spec, "admissionChecksStrategy");  // v1beta2 has no empty one
  }
  remove_field(&spec, "admissionChecks");
}

void cluster_queue_up(json::object& document) {
  json::object* status = find_object(&document, "status");
  remove_field(status, "pendingWorkloadsStatus");
  remove_field(find_object(status, "fairSharing"), "admissionFairSharingStatus");
  json::object* spec = find_object(&document, "spec");
  if (spec == nullptr) return;
  rename_field(spec, "cohort", "cohortName");
  json::object* fungibility = find_object(spec, "flavorFungibility");
  replace_text(fungibility, "whenCanBorrow", "Borrow", "MayStopSearch");
  replace_text(fungibility, "whenCanPreempt", "Preempt", "MayStopSearch");
  admission_checks_to_strategy(*spec);
}

void cluster_queue_down(json::object& document) {
  rename_field(find_object(&document, "spec"), "cohortName", "cohort");
}

void cohort_up(json::object& document) {
  remove_field(find_object(find_object(&document, "status"), "fairSharing"),
               "admissionFairSharingStatus");
}

void local_queue_up(json::object& document) {
  json::object* status = find_object(&document, "status");
  rename_field(status, "flavorUsage", "flavorsUsage");
  remove_field(status, "flavors");
}

void local_queue_down(json::object& document) {
  rename_field(find_object(&document, "status"), "flavorsUsage", "flavorUsage");
}

constexpr int kDefaultRetryDelayMinutes = 15;

void admission_check_up(json::object& document) {
  remove_field(find_object(&document, "spec"), "retryDelayMinutes");
}

void admission_check_down(json::object& document) {
  if (json::object* spec = find_object(&document, "spec")) {
    spec->emplace("retryDelayMinutes", kDefaultRetryDelayMinutes);
  }
}

// Where the priority of a workload comes from, in both spellings.
struct PrioritySource {
  std::string_view source;  // v1beta1
  std::string_view group;
  std::string_view kind;
};
constexpr std::array kPrioritySources{
    PrioritySource{"kueue.x-k8s.io/workloadpriorityclass", core::names::kKueueGroup,
                   "WorkloadPriorityClass"},
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

// A reference that v1beta1 could not give back is left out as a whole.
void priority_class_down(json::object& spec) {
  const json::object* reference = find_object(&spec, "priorityClassRef");
  std::string name;
  std::string_view source;
  if (reference != nullptr) {
    const auto* found = std::ranges::find(kPrioritySources, string_field(*reference, "group"),
                                          &PrioritySource::group);
    if (found != kPrioritySources.end() && found->kind == string_field(*reference, "kind")) {
      name = string_field(*reference, "name");
      source = name.empty() ? "" : found->source;
    }
  }
  remove_field(&spec, "priorityClassRef");
  if (!name.empty()) spec["priorityClassName"] = name;
  spec.emplace("priorityClassSource", source);
}

std::string path_of_assignment(size_t index) {
  return fmt::format("status.admission.podSetAssignments[{}].topologyAssignment", index);
}

// What one assignment may have where others have taken their part.
topology::AssignmentSize most_of_one(const topology::AssignmentSize& left) {
  topology::AssignmentSize most;
  most.domains = std::min(most.domains, left.domains);
  most.values = std::min(most.values, left.values);
  most.text_bytes = std::min(most.text_bytes, left.text_bytes);
  return most;
}

void take_from(topology::AssignmentSize& left, const topology::AssignmentSize& size) {
  left.domains -= size.domains;
  left.values -= size.values;
  left.text_bytes -= size.text_bytes;
}

void convert_assignments(json::object* status, std::string_view version,
                         topology::AssignmentSize& left) {
  json::array* assignments = find_list(find_object(status, "admission"), "podSetAssignments");
  if (assignments == nullptr) return;
  for (size_t i = 0; i < assignments->size(); ++i) {
    json::object* assignment = (*assignments)[i].if_object();
    if (find_object(assignment, "topologyAssignment") == nullptr) continue;
    json::value& place = (*assignment)["topologyAssignment"];
    auto converted = i < kMostPodSets ? convert_assignment(place, version, "", left)
                                      : fail("belongs to none of the pod sets");
    if (converted) {
      place = std::move(*converted);
    } else {
      remove_field(assignment, "topologyAssignment");
    }
  }
}

// v1beta1 has this name misspelled for good.
constexpr std::string_view kMisspelled = "accumulatedPastExexcutionTimeSeconds";
constexpr std::string_view kWellSpelled = "accumulatedPastExecutionTimeSeconds";

void workload_up(json::object& document) {
  if (json::object* spec = find_object(&document, "spec")) priority_class_up(*spec);
  json::object* status = find_object(&document, "status");
  rename_field(status, kMisspelled, kWellSpelled);
}

void workload_down(json::object& document) {
  if (json::object* spec = find_object(&document, "spec")) priority_class_down(*spec);
  json::object* status = find_object(&document, "status");
  rename_field(status, kWellSpelled, kMisspelled);
}

using Convert = void (*)(json::object& document);
struct KindConversion {
  std::string_view kind;
  Convert up;
  Convert down;  // nullptr: nothing has another name
};
constexpr std::array kConversions{
    KindConversion{"ClusterQueue", cluster_queue_up, cluster_queue_down},
    KindConversion{"Cohort", cohort_up, nullptr},
    KindConversion{"LocalQueue", local_queue_up, local_queue_down},
    KindConversion{"AdmissionCheck", admission_check_up, admission_check_down},
    KindConversion{"Workload", workload_up, workload_down},
};

const KindConversion* find_conversion(std::string_view kind) {
  const auto* found = std::ranges::find(kConversions, kind, &KindConversion::kind);
  return found == kConversions.end() ? nullptr : found;
}

bool has_elements(const json::value& document, FieldPath path) {
  const json::array* list = array_at(document, path);
  return list != nullptr && !list->empty();
}

}  // namespace

std::string_view version_of(const json::value& document) {
  const std::string_view text = string_at(document, {"apiVersion"});
  const size_t slash = text.find('/');
  return slash == std::string_view::npos ? "" : text.substr(slash + 1);
}

bool is_default_of_older(std::string_view field, const json::value& value) {
  if (field == "retryDelayMinutes") return value == kDefaultRetryDelayMinutes;
  return field == "priorityClassSource" && value == "";
}

bool versions_differ(std::string_view kind) {
  return find_conversion(kind) != nullptr;
}

json::value convert_plainly(std::string_view kind, json::value document, std::string_view version) {
  topology::AssignmentSize left = kMostAssignments;
  return convert_plainly(kind, std::move(document), version, left);
}

json::value convert_plainly(std::string_view kind, json::value document, std::string_view version,
                            topology::AssignmentSize& left) {
  if (!document.is_object() || version_of(document) == version) return document;
  if (const KindConversion* found = find_conversion(kind)) {
    const Convert step = version == kStoredVersion ? found->up : found->down;
    if (step != nullptr) step(document.get_object());
  }
  if (kind == "Workload") {
    convert_assignments(find_object(&document.get_object(), "status"), version, left);
  }
  document.get_object()["apiVersion"] = fmt::format("{}/{}", core::names::kKueueGroup, version);
  return document;
}

Result<json::value> convert_assignment(const json::value& assignment, std::string_view version,
                                       std::string_view path, topology::AssignmentSize& left) {
  ASSIGN_OR_RETURN(const api::TopologyAssignment decoded,
                   topology::decode_assignment(assignment, path, most_of_one(left)));
  take_from(left, topology::size_of(decoded));
  if (version == kOlderVersion) return topology::encode_v1beta1(decoded);
  auto encoded = topology::encode_v1beta2(decoded, topology::Slicing::kQuick);
  if (!encoded) return within(std::string(path), std::move(encoded).error());
  return encoded;
}

std::vector<Problem> problems_of_assignments(const json::value& document) {
  ProblemList problems;
  const json::array* assignments = array_at(document, {"status", "admission", "podSetAssignments"});
  topology::AssignmentSize left = kMostAssignments;
  for (size_t i = 0; assignments != nullptr && i < assignments->size() && !problems.full(); ++i) {
    const json::value* assignment = find_at((*assignments)[i], {"topologyAssignment"});
    if (assignment == nullptr) continue;
    const auto size =
        topology::measure_assignment(*assignment, path_of_assignment(i), most_of_one(left));
    if (size) {
      take_from(left, *size);
    } else {
      const std::string& text = size.error().message;  // "path: reason"
      const size_t colon = std::min(text.find(": "), text.size() - 2);
      problems.add(text.substr(0, colon), text.substr(colon + 2));
    }
  }
  return std::move(problems).take();
}

std::vector<Problem> problems_of_older(std::string_view kind, const json::value& document) {
  ProblemList problems;
  if (kind == "ClusterQueue" && has_elements(document, {"spec", "admissionChecks"}) &&
      has_elements(document, {"spec", "admissionChecksStrategy", "admissionChecks"})) {
    problems.add("spec.admissionChecks",
                 "excludes spec.admissionChecksStrategy; keep the strategy only");
  }
  if (kind == "Workload") problems.add_all(problems_of_assignments(document));
  return std::move(problems).take();
}

}  // namespace phalanx::admission
