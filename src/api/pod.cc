#include "api/pod.h"

namespace phalanx::api {
namespace {

ResourceAmounts requests_or_limits(const JsonReader& resources) {
  ResourceAmounts amounts = read_resources(resources, "limits");
  for (auto& [name, amount] : read_resources(resources, "requests")) amounts[name] = amount;
  return amounts;
}

ResourceAmounts effective_requests(const JsonReader& spec) {
  ResourceAmounts running;
  spec.each("containers", [&](const json::value& value, const std::string& path) {
    const JsonReader container(&value, path, spec.status());
    add_to(running, requests_or_limits(container.object("resources")));
  });
  ResourceAmounts sidecars;
  ResourceAmounts peak_before_start;
  spec.each("initContainers", [&](const json::value& value, const std::string& path) {
    const JsonReader container(&value, path, spec.status());
    ResourceAmounts amounts = requests_or_limits(container.object("resources"));
    if (container.string("restartPolicy") == "Always") {
      add_to(sidecars, amounts);
      raise_to(peak_before_start, sidecars);
    } else {
      add_to(amounts, sidecars);
      raise_to(peak_before_start, amounts);
    }
  });
  add_to(running, sidecars);
  raise_to(running, peak_before_start);
  for (auto& [name, amount] : requests_or_limits(spec.object("resources"))) running[name] = amount;
  add_to(running, read_resources(spec, "overhead"));
  return running;
}

}  // namespace

PodSpec read_pod_spec(const JsonReader& spec) {
  return {effective_requests(spec), spec.string_map("nodeSelector"),
          read_tolerations(spec, "tolerations"),
          read_node_affinity(spec.object("affinity").object("nodeAffinity"))};
}

Pod read_pod(const JsonReader& object) {
  const JsonReader metadata = object.object("metadata");
  const JsonReader spec = object.object("spec");
  return {metadata.required_string("name"), metadata.string("namespace", "default"),
          spec.string("nodeName"),          object.object("status").string("phase"),
          metadata.string_map("labels"),    metadata.string_map("annotations"),
          effective_requests(spec)};
}

}  // namespace phalanx::api
