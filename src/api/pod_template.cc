#include "api/pod_template.h"

#include <string_view>

namespace phalanx::api {
namespace {

uint64_t fingerprint_of(const JsonReader& spec) {
  json::object content;
  for (const std::string_view field :
       {"containers", "initContainers", "resources", "overhead", "runtimeClassName"}) {
    if (const json::value* value = spec.find(field)) content[field] = *value;
  }
  return json_fingerprint(content);
}

json::array list_of(const JsonReader& spec, std::string_view field) {
  const json::value* value = spec.find(field);
  return value != nullptr && value->is_array() ? value->get_array() : json::array();
}

}  // namespace

PodTemplate read_pod_template(const JsonReader& object) {
  const JsonReader metadata = object.object("metadata");
  const JsonReader spec = object.object("spec");
  size_t containers = 0;
  spec.each("containers", [&](const json::value&, const std::string&) { ++containers; });
  PodTemplate result{metadata.string_map("labels"),
                     metadata.string_map("annotations"),
                     read_pod_spec(spec),
                     read_pod_resources(spec),
                     spec.string("priorityClassName"),
                     spec.string("runtimeClassName"),
                     list_of(spec, "tolerations"),
                     list_of(spec, "schedulingGates"),
                     fingerprint_of(spec)};
  if (containers == 0) {
    spec.report("containers", "must hold at least one container; its resources say what fits");
  }
  return result;
}

}  // namespace phalanx::api
