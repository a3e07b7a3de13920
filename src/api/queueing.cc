#include "api/queueing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace phalanx::api {
namespace {

constexpr int64_t kMaxInt32 = std::numeric_limits<int32_t>::max();

int64_t read_nominal(const JsonReader& reader, std::string_view resource) {
  if (const auto amount = read_amount(reader, "nominalQuota", resource)) return *amount;
  reader.report("nominalQuota", "is required; write how much there is, such as \"8\" or 64Gi");
  return 0;
}

FlavorQuotas read_flavor_quotas(const JsonReader& reader) {
  FlavorQuotas quotas{reader.required_string("name"), {}};
  reader.each("resources", [&](const json::value& value, const std::string& path) {
    const JsonReader resource(&value, path, reader.status());
    const std::string name = resource.required_string("name");
    quotas.resources.push_back({name, read_nominal(resource, name),
                                read_amount(resource, "borrowingLimit", name),
                                read_amount(resource, "lendingLimit", name)});
  });
  return quotas;
}

ResourceGroup read_group(const JsonReader& reader) {
  ResourceGroup group{reader.strings("coveredResources"), {}};
  reader.each("flavors", [&](const json::value& value, const std::string& path) {
    group.flavors.push_back(read_flavor_quotas(JsonReader(&value, path, reader.status())));
  });
  return group;
}

std::vector<ResourceGroup> read_groups(const JsonReader& spec) {
  std::vector<ResourceGroup> groups;
  spec.each("resourceGroups", [&](const json::value& value, const std::string& path) {
    groups.push_back(read_group(JsonReader(&value, path, spec.status())));
  });
  return groups;
}

// Weights are quantities, of nothing in particular: thousandths, as cpu is counted.
int64_t read_weight(const JsonReader& spec) {
  return read_amount(spec.object("fairSharing"), "weight", "cpu").value_or(kDefaultWeightMilli);
}

template <typename Value>
struct Choice {
  std::string_view text;
  Value value;
};

// A field that holds one of a few words; the first is what is meant where nothing is said.
template <typename Value>
Value read_choice(const JsonReader& reader, std::string_view field,
                  std::initializer_list<Choice<Value>> choices) {
  const std::string text = reader.string(field, choices.begin()->text);
  std::vector<std::string_view> words;
  for (const Choice<Value>& choice : choices) {
    if (choice.text == text) return choice.value;
    words.push_back(choice.text);
  }
  const std::string_view last = words.back();
  words.pop_back();
  reader.report(field, fmt::format("\"{}\" is not {} or {}", text, fmt::join(words, ", "), last));
  return choices.begin()->value;
}

StopPolicy read_stop_policy(const JsonReader& spec) {
  return read_choice<StopPolicy>(spec, "stopPolicy",
                                 {{"None", StopPolicy::kNone},
                                  {"Hold", StopPolicy::kHold},
                                  {"HoldAndDrain", StopPolicy::kHoldAndDrain}});
}

Preemption read_preemption(const JsonReader& reader) {
  using enum PreemptionPolicy;
  Preemption preemption;
  preemption.within_cluster_queue =
      read_choice<PreemptionPolicy>(reader, "withinClusterQueue",
                                    {{"Never", kNever},
                                     {"LowerPriority", kLowerPriority},
                                     {"LowerOrNewerEqualPriority", kLowerOrNewerEqualPriority}});
  preemption.reclaim_within_cohort = read_choice<PreemptionPolicy>(
      reader, "reclaimWithinCohort",
      {{"Never", kNever}, {"LowerPriority", kLowerPriority}, {"Any", kAny}});
  const JsonReader borrow = reader.object("borrowWithinCohort");
  preemption.borrow_within_cohort =
      read_choice<bool>(borrow, "policy", {{"Never", false}, {"LowerPriority", true}});
  if (const auto threshold = borrow.optional_integer(
          "maxPriorityThreshold", std::numeric_limits<int32_t>::min(), kMaxInt32)) {
    preemption.max_priority_threshold = static_cast<int32_t>(*threshold);
  }
  return preemption;
}

FlavorFungibility read_fungibility(const JsonReader& reader) {
  return {
      read_choice<bool>(reader, "whenCanBorrow",
                        {{"MayStopSearch", false}, {"TryNextFlavor", true}}),
      read_choice<bool>(reader, "whenCanPreempt",
                        {{"TryNextFlavor", true}, {"MayStopSearch", false}}),
      read_choice<bool>(reader, "preference",
                        {{"BorrowingOverPreemption", false}, {"PreemptionOverBorrowing", true}})};
}

void read_admission_checks(const JsonReader& spec, ClusterQueue& queue) {
  spec.object("admissionChecksStrategy")
      .each("admissionChecks", [&](const json::value& value, const std::string& path) {
        const JsonReader check(&value, path, spec.status());
        queue.admission_checks.push_back(
            {check.required_string("name"), check.strings("onFlavors")});
      });
}

}  // namespace

const ResourceQuota* FlavorQuotas::find(std::string_view resource) const {
  const auto found = std::ranges::find(resources, resource, &ResourceQuota::resource);
  return found == resources.end() ? nullptr : &*found;
}

bool ResourceGroup::covers(std::string_view resource) const {
  return std::ranges::find(covered_resources, resource) != covered_resources.end();
}

const ResourceGroup* ClusterQueue::group_of(std::string_view resource) const {
  const auto found =
      std::ranges::find_if(groups, [&](const ResourceGroup& g) { return g.covers(resource); });
  return found == groups.end() ? nullptr : &*found;
}

Namespace read_namespace(const JsonReader& object) {
  return {read_object_meta(object)};
}

PriorityClass read_priority_class(const JsonReader& object) {
  return {read_object_meta(object),
          static_cast<int32_t>(object.integer("value", 0, std::numeric_limits<int32_t>::min(),
                                              std::numeric_limits<int32_t>::max())),
          object.boolean("globalDefault", false)};
}

ResourceFlavor read_resource_flavor(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  ResourceFlavor flavor{read_object_meta(object),
                        spec.string_map("nodeLabels"),
                        read_taints(spec, "nodeTaints"),
                        read_tolerations(spec, "tolerations"),
                        {},
                        spec.string("topologyName")};
  if (const json::value* list = spec.find("tolerations"); list != nullptr && list->is_array()) {
    flavor.toleration_documents = list->get_array();
  }
  return flavor;
}

ClusterQueue read_cluster_queue(const JsonReader& object) {
  ClusterQueue queue;
  queue.meta = read_object_meta(object);
  const JsonReader spec = object.object("spec");
  queue.cohort = spec.string("cohortName");
  queue.groups = read_groups(spec);
  queue.preemption = read_preemption(spec.object("preemption"));
  queue.fungibility = read_fungibility(spec.object("flavorFungibility"));
  queue.weight_milli = read_weight(spec);
  queue.usage_based_admission = read_choice<bool>(
      spec.object("admissionScope"), "admissionMode",
      {{"NoAdmissionFairSharing", false}, {"UsageBasedAdmissionFairSharing", true}});
  queue.strategy =
      read_choice<QueueingStrategy>(spec, "queueingStrategy",
                                    {{"BestEffortFIFO", QueueingStrategy::kBestEffortFifo},
                                     {"StrictFIFO", QueueingStrategy::kStrictFifo}});
  queue.namespace_selector = read_label_selector(spec, "namespaceSelector");
  queue.stop_policy = read_stop_policy(spec);
  read_admission_checks(spec, queue);
  queue.status = read_queue_status(object.object("status"));
  return queue;
}

LocalQueue read_local_queue(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  return {read_object_meta(object), spec.string("clusterQueue"), read_stop_policy(spec),
          read_queue_status(object.object("status")), read_weight(spec)};
}

Cohort read_cohort(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  return {read_object_meta(object), spec.string("parentName"), read_groups(spec), read_weight(spec),
          read_queue_status(object.object("status")).weighted_share};
}

AdmissionCheck read_admission_check(const JsonReader& object) {
  const JsonReader spec = object.object("spec");
  const JsonReader parameters = spec.object("parameters");
  return {read_object_meta(object),
          spec.required_string("controllerName"),
          parameters.string("apiGroup"),
          parameters.string("name"),
          read_conditions(object.object("status")),
          parameters.string("kind")};
}

RuntimeClass read_runtime_class(const JsonReader& object) {
  return {read_object_meta(object), read_resources(object.object("overhead"), "podFixed")};
}

}  // namespace phalanx::api
