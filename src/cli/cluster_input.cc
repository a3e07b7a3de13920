#include "cli/cluster_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "cli/manifests.h"
#include "topology/assignment_encoding.h"

namespace phalanx::cli {
namespace {

class DocumentReader {
 public:
  explicit DocumentReader(ClusterInput& input) : input_(input) {}

  Result<void> add(const Manifest& manifest) {
    return add_object(manifest.value, manifest.origin, manifest.header);
  }

 private:
  Result<void> add_object(const json::value& value, const std::string& place,
                          const ManifestHeader& header) {
    const std::string group = header.group();
    if (group.empty() && header.kind == "Node") {
      return read(value, place, api::read_node, [&](api::Node node) {
        return once("Node " + node.name, place, node.name, input_.nodes, std::move(node));
      });
    }
    if (group.empty() && header.kind == "Pod") {
      return read(value, place, api::read_pod, [&](api::Pod pod) {
        return once("Pod " + full_name(pod), place, pod.name, input_.pods, std::move(pod));
      });
    }
    if (group == "batch" && header.kind == "Job") {
      return read(
          value, place, [](const JsonReader& job) { return api::read_job(job); },
          [&](api::Job job) {
            if (job.name_is_prefix) {
              job.name += std::to_string(++generated_["Job " + full_name(job)]);
            }
            return once("Job " + full_name(job), place, job.name, input_.jobs, std::move(job));
          });
    }
    if (header.kind == "Topology" && (group == "kueue.x-k8s.io" || group == "kai.scheduler")) {
      return read(value, place, api::read_topology,
                  [&](api::Topology topology) { return add_topology(std::move(topology), place); });
    }
    if (group == "kueue.x-k8s.io" && header.kind == "Workload") {
      return read(value, place, api::read_workload,
                  [&](api::Workload workload) { return add_workload(std::move(workload), place); });
    }
    if (group == "phalanx.dev" && header.kind == "Gang") {
      return once(header.text(), place, header.name, input_.gangs, {value, place});
    }
    ++input_.skipped[header.kind];
    return {};
  }

  template <typename Read, typename Add>
  static Result<void> read(const json::value& value, const std::string& place, Read read_object,
                           Add add) {
    DecodeStatus status;
    auto object = read_object(JsonReader(&value, "", status));
    if (status.error()) return within(place, *status.error());
    return add(std::move(object));
  }

  // Takes the object by reference, so that `name` may be a part of it.
  template <typename Object>
  Result<void> once(const std::string& key, const std::string& place, const std::string& name,
                    std::vector<Object>& objects, std::type_identity_t<Object>&& object) {
    if (name.empty()) return fail(place + ": metadata.name: is required");
    if (const auto [entry, is_new] = seen_.emplace(key, place); !is_new) {
      return fail(fmt::format("{}: stands twice in the input, first at {}; remove one of them",
                              place, entry->second));
    }
    objects.push_back(std::move(object));
    return {};
  }

  // Kueue and KAI may describe the same topology on one cluster: that is one, not two.
  Result<void> add_topology(api::Topology topology, const std::string& place) {
    const auto known = std::ranges::find(input_.topologies, topology.name, &api::Topology::name);
    if (known != input_.topologies.end() && known->levels == topology.levels) return {};
    return once("Topology " + topology.name, place, topology.name, input_.topologies,
                std::move(topology));
  }

  Result<void> add_workload(api::Workload workload, const std::string& place) {
    InputWorkload result{std::move(workload), {}};
    const api::Workload& object = result.object;
    if (object.holds_capacity()) {
      for (const api::PodSetAssignment& assignment : *object.admission) {
        if (!assignment.topology_assignment) continue;
        const api::WorkloadPodSet* pod_set = object.find_pod_set(assignment.pod_set);
        if (pod_set == nullptr) {
          return fail(
              fmt::format("{}: {}: belongs to the pod set \"{}\", which spec.podSets does not hold",
                          place, assignment.path, assignment.pod_set));
        }
        auto decoded =
            topology::decode_assignment(*assignment.topology_assignment, assignment.path);
        if (!decoded) return within(place, decoded.error());
        result.booked.push_back(
            {assignment.pod_set, pod_set->pod_template.spec.requests, std::move(*decoded)});
      }
    }
    return once("Workload " + full_name(object), place, object.name, input_.workloads,
                std::move(result));
  }

  ClusterInput& input_;
  std::map<std::string, std::string> seen_;  // "Kind namespace/name" to its place
  std::map<std::string, size_t> generated_;  // Jobs that have a generateName, by prefix
};

}  // namespace

Result<ClusterInput> read_cluster_input(const std::vector<std::string>& paths,
                                        const std::function<void(const std::string&)>& progress) {
  ClusterInput input;
  DocumentReader reader(input);
  RETURN_IF_ERROR(read_manifests(paths, progress,
                                 [&](const Manifest& manifest) { return reader.add(manifest); }));
  return input;
}

Result<ClusterInput> read_cluster_input(const LiveArguments& live,
                                        const std::vector<std::string>& paths,
                                        const std::function<void(const std::string&)>& progress) {
  ClusterInput input;
  DocumentReader reader(input);
  const auto add = [&](const Manifest& manifest) { return reader.add(manifest); };
  // Jobs are what is to be placed: those of the cluster have their place, or wait for one.
  constexpr std::array kKinds{api::Kind::kNode, api::Kind::kPod, api::Kind::kTopology,
                              api::Kind::kWorkload};
  RETURN_IF_ERROR(read_live(live, kKinds, add));
  RETURN_IF_ERROR(read_manifests(paths, progress, add));
  return input;
}

Result<ClusterInput> parse_cluster_input(std::string_view text, const std::string& name) {
  ClusterInput input;
  DocumentReader reader(input);
  RETURN_IF_ERROR(
      parse_manifests(text, name, [&](const Manifest& manifest) { return reader.add(manifest); }));
  return input;
}

std::string skipped_remark(const ClusterInput& input) {
  constexpr size_t kMaxKinds = 8;
  size_t total = 0;
  size_t named = 0;
  std::string kinds;
  for (const auto& [kind, count] : input.skipped) {
    total += count;
    if (named++ < kMaxKinds) {
      kinds += fmt::format("{}{} {}", kinds.empty() ? "" : ", ", count, kind);
    }
  }
  if (total == 0) return "";
  if (named > kMaxKinds) kinds += fmt::format(" and {} other kinds", named - kMaxKinds);
  return fmt::format("skipped {} object{} that placement does not read: {}", total,
                     total == 1 ? "" : "s", kinds);
}

}  // namespace phalanx::cli
