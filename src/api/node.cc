#include "api/node.h"

#include "api/object_meta.h"

namespace phalanx::api {

Node read_node(const JsonReader& object) {
  Node node;
  const JsonReader metadata = object.object("metadata");
  node.name = metadata.required_string("name");
  node.labels = metadata.string_map("labels");
  const JsonReader spec = object.object("spec");
  node.unschedulable = spec.boolean("unschedulable", false);
  node.taints = read_taints(spec, "taints");
  const JsonReader status = object.object("status");
  node.allocatable = read_resources(status, "allocatable");
  node.ready = false;
  node.reports = false;
  status.each("conditions", [&](const json::value& value, const std::string& path) {
    const JsonReader condition(&value, path, object.status());
    if (condition.string("type") != "Ready") return;
    node.ready = condition.string("status") == "True";
    node.reports = true;
    node.ready_changed = read_time(condition, "lastTransitionTime");
  });
  return node;
}

}  // namespace phalanx::api
