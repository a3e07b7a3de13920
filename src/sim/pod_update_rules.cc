#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/document.h"
#include "sim/pod_rules.h"
#include "sim/pod_spec_rules.h"

namespace phalanx::sim {
namespace {

bool contains_all(const json::array* whole, const json::array* part) {
  if (part == nullptr) return true;
  return std::ranges::all_of(*part, [&](const json::value& each) {
    return whole != nullptr && std::ranges::find(*whole, each) != whole->end();
  });
}

const json::array* list_of(const json::value* value) {
  return value == nullptr ? nullptr : value->if_array();
}

// The same containers, where only images may differ.
bool same_but_images(const json::value* before, const json::value* after) {
  const json::array* old_list = list_of(before);
  const json::array* new_list = list_of(after);
  if (old_list == nullptr || new_list == nullptr || old_list->size() != new_list->size()) {
    return false;
  }
  const auto without_image = [](json::value container) {
    erase_at(container, {"image"});
    return container;
  };
  return std::ranges::equal(*old_list, *new_list, {}, without_image, without_image);
}

// Further tolerations, and other tolerationSeconds of those that are there.
bool only_more_tolerations(const json::value* before, const json::value* after) {
  const json::array* old_list = list_of(before);
  const json::array* new_list = list_of(after);
  if (old_list == nullptr) return true;
  const auto without_time = [](json::value toleration) {
    erase_at(toleration, {"tolerationSeconds"});
    return toleration;
  };
  return std::ranges::all_of(*old_list, [&](const json::value& toleration) {
    return new_list != nullptr &&
           std::ranges::find(*new_list, without_time(toleration), without_time) != new_list->end();
  });
}

bool only_more_labels(const json::value* before, const json::value* after) {
  if (before == nullptr) return true;
  const json::object* old_labels = before->if_object();
  const json::object* new_labels = after == nullptr ? nullptr : after->if_object();
  if (old_labels == nullptr || old_labels->empty()) return true;
  return new_labels != nullptr &&
         std::ranges::all_of(*old_labels, [&](const json::key_value_pair& label) {
           return same_value(&label.value(), new_labels->if_contains(label.key()));
         });
}

// Terms are alternatives: a further one would widen the choice, a further requirement narrows it.
bool only_narrower_terms(const json::value& before, const json::value& after) {
  const json::array* old_terms = array_at(before, {"nodeSelectorTerms"});
  const json::array* new_terms = array_at(after, {"nodeSelectorTerms"});
  if (old_terms == nullptr) return true;
  if (new_terms == nullptr || old_terms->size() != new_terms->size()) return false;
  for (size_t i = 0; i < old_terms->size(); ++i) {
    for (const std::string_view field : {"matchExpressions", "matchFields"}) {
      if (!contains_all(array_at((*new_terms)[i], {field}), array_at((*old_terms)[i], {field}))) {
        return false;
      }
    }
  }
  return true;
}

bool only_narrower_affinity(const json::value& old_pod, const json::value& pod) {
  constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  for (const std::string_view other : {"podAffinity", "podAntiAffinity"}) {
    if (!same_value(find_at(old_pod, {"spec", "affinity", other}),
                    find_at(pod, {"spec", "affinity", other}))) {
      return false;
    }
  }
  const json::value* before = find_at(old_pod, {"spec", "affinity", "nodeAffinity", kRequired});
  const json::value* after = find_at(pod, {"spec", "affinity", "nodeAffinity", kRequired});
  if (before == nullptr) return true;
  return after != nullptr && only_narrower_terms(*before, *after);
}

bool only_shorter_deadline(const json::value& old_pod, const json::value& pod) {
  const auto before = integer_at(old_pod, {"spec", "activeDeadlineSeconds"});
  const auto after = integer_at(pod, {"spec", "activeDeadlineSeconds"});
  return after && (!before || *after <= *before);
}

// Why this field of the spec may not change as it did; empty if it may.
std::string problem_of_change(const json::value& old_pod, const json::value& pod,
                              std::string_view field) {
  const json::value* before = find_at(old_pod, {"spec", field});
  const json::value* after = find_at(pod, {"spec", field});
  const bool gated = is_gated(old_pod);
  if (field == "containers" || field == "initContainers") {
    return same_but_images(before, after) ? "" : "only the images can be changed";
  }
  if (field == "activeDeadlineSeconds") {
    return only_shorter_deadline(old_pod, pod) ? "" : "can only be set or lowered";
  }
  if (field == "tolerations") {
    return only_more_tolerations(before, after) ? "" : "can only be added to";
  }
  if (field == "schedulingGates") {
    return contains_all(list_of(before), list_of(after))
               ? ""
               : "gates can only be removed once the pod exists";
  }
  if (field == "nodeSelector" || field == "affinity") {
    if (!gated) return "can only be changed while the pod has scheduling gates";
    const bool narrower = field == "nodeSelector" ? only_more_labels(before, after)
                                                  : only_narrower_affinity(old_pod, pod);
    return narrower ? "" : "can only be narrowed: add to it, remove or change nothing";
  }
  if (field == "nodeName") return "is set by binding the pod (pods/binding), not by a write";
  return "cannot be changed; delete the pod and create it anew";
}

}  // namespace

void check_pod_update(const json::value& old_pod, const json::value& pod, Problems& problems) {
  std::set<std::string_view> fields;
  for (const json::value* each : {&old_pod, &pod}) {
    const json::object* spec = object_at(*each, {"spec"});
    if (spec == nullptr) continue;
    for (const auto& field : *spec) fields.insert(field.key());
  }
  for (const std::string_view field : fields) {
    if (same_value(find_at(old_pod, {"spec", field}), find_at(pod, {"spec", field}))) continue;
    const std::string problem = problem_of_change(old_pod, pod, field);
    if (!problem.empty()) problems.add(fmt::format("spec.{}", field), problem);
  }
}

}  // namespace phalanx::sim
