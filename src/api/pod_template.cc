#include "api/pod_template.h"

namespace phalanx::api {

PodTemplate read_pod_template(const JsonReader& object) {
  const JsonReader metadata = object.object("metadata");
  const JsonReader spec = object.object("spec");
  size_t containers = 0;
  spec.each("containers", [&](const json::value&, const std::string&) { ++containers; });
  PodTemplate result{metadata.string_map("labels"), metadata.string_map("annotations"),
                     read_pod_spec(spec)};
  if (containers == 0) {
    spec.report("containers", "must hold at least one container; its resources say what fits");
  }
  return result;
}

}  // namespace phalanx::api
