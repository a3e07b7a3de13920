#include "api/pod.h"

namespace phalanx::api {
namespace {

using Role = ContainerResources::Role;

// What one container asks for: its requests, else its limits, else what the namespace says.
ResourceAmounts needs_of(const ContainerResources& container, const ContainerDefaults& defaults) {
  ResourceAmounts needs = container.requests;
  needs.insert(container.limits.begin(), container.limits.end());
  needs.insert(defaults.requests.begin(), defaults.requests.end());
  return needs;
}

ResourceAmounts requests_or_limits(const JsonReader& resources) {
  ResourceAmounts amounts = read_resources(resources, "requests");
  amounts.merge(read_resources(resources, "limits"));
  return amounts;
}

}  // namespace

ResourceAmounts PodResources::effective(const ContainerDefaults& defaults) const {
  ResourceAmounts running;
  ResourceAmounts sidecars;
  ResourceAmounts peak_before_start;
  for (const ContainerResources& container : containers) {
    ResourceAmounts needs = needs_of(container, defaults);
    switch (container.role) {
      case Role::kMain:
        add_to(running, needs);
        break;
      case Role::kSidecar:
        add_to(sidecars, needs);
        raise_to(peak_before_start, sidecars);
        break;
      case Role::kInit:
        add_to(needs, sidecars);
        raise_to(peak_before_start, needs);
        break;
    }
  }
  add_to(running, sidecars);
  raise_to(running, peak_before_start);
  for (const auto& [name, amount] : of_pod) running[name] = amount;
  add_to(running, overhead);
  return running;
}

PodResources read_pod_resources(const JsonReader& spec) {
  PodResources resources;
  const auto read = [&](std::string_view field, bool init) {
    spec.each(field, [&](const json::value& value, const std::string& path) {
      const JsonReader container(&value, path, spec.status());
      const JsonReader amounts = container.object("resources");
      const bool sidecar = init && container.string("restartPolicy") == "Always";
      const Role role = sidecar ? Role::kSidecar : init ? Role::kInit : Role::kMain;
      resources.containers.push_back(
          {role, read_resources(amounts, "requests"), read_resources(amounts, "limits")});
    });
  };
  read("initContainers", true);
  read("containers", false);
  resources.of_pod = requests_or_limits(spec.object("resources"));
  resources.overhead = read_resources(spec, "overhead");
  return resources;
}

PodSpec read_pod_spec(const JsonReader& spec) {
  return {read_pod_resources(spec).effective(), spec.string_map("nodeSelector"),
          read_tolerations(spec, "tolerations"),
          read_node_affinity(spec.object("affinity").object("nodeAffinity"))};
}

Pod read_pod(const JsonReader& object) {
  const JsonReader metadata = object.object("metadata");
  const JsonReader spec = object.object("spec");
  return {metadata.required_string("name"),
          metadata.string("namespace", "default"),
          spec.string("nodeName"),
          object.object("status").string("phase"),
          metadata.string_map("labels"),
          metadata.string_map("annotations"),
          read_pod_resources(spec).effective()};
}

}  // namespace phalanx::api
