#include "cli/cluster_bookings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <set>

namespace phalanx::cli {
namespace {

class Booking {
 public:
  Booking(topology::Cluster& cluster, TreeId tree, const ClusterInput& input)
      : cluster_(cluster), tree_(tree), input_(input) {}

  Bookings run(Admitted admitted) {
    for (const InputWorkload& workload : input_.workloads) book(workload, admitted);
    book_pods();
    return std::move(bookings_);
  }

 private:
  // The tree that an assignment is booked in; nullopt if its levels are not to be found in any.
  std::optional<TreeId> tree_for(const api::TopologyAssignment& assignment) {
    const topology::DomainTree& view = cluster_.tree(tree_);
    if (assignment.levels.back() == api::kHostnameLabel) {
      if (view.by_host()) return tree_;
      // Usage of a host counts in every tree, so any tree of hosts will do.
      if (!host_tree_) {
        host_tree_ = cluster_.add_tree({"hosts", {std::string(api::kHostnameLabel)}, {}, {}});
      }
      return host_tree_;
    }
    if (assignment.levels == view.spec().levels) return tree_;
    return std::nullopt;
  }

  void book(const InputWorkload& workload, Admitted admitted) {
    const std::string name = full_name(workload.object);
    for (const BookedPodSet& pod_set : workload.booked) {
      const auto tree = tree_for(pod_set.assignment);
      if (!tree) {
        bookings_.remarks.push_back(fmt::format(
            "Workload {}: its assignment has the levels {}, which are not those of the chosen "
            "topology; its pods are counted where they run instead",
            name, fmt::join(pod_set.assignment.levels, ", ")));
        continue;
      }
      if (admitted == Admitted::kBooked) {
        std::vector<topology::DomainUsage> usage;
        for (const auto& domain : pod_set.assignment.domains) {
          usage.push_back({domain.values, domain.count});
        }
        cluster_.add_usage(name, *tree, cluster_.make_usage(pod_set.requests), usage);
      }
      accounted_.insert({name, pod_set.pod_set});
      accounted_.insert({name, ""});
    }
  }

  // Whether the pod is part of a workload that is accounted for as a whole.
  [[nodiscard]] bool accounted(const api::Pod& pod) const {
    const auto workload = pod.annotations.find("kueue.x-k8s.io/workload");
    if (workload == pod.annotations.end()) return false;
    const std::string name = pod.namespace_ + "/" + workload->second;
    const auto pod_set = pod.labels.find("kueue.x-k8s.io/podset");
    return accounted_.contains({name, pod_set == pod.labels.end() ? "" : pod_set->second});
  }

  void book_pods() {
    std::set<std::string_view> nodes;
    for (const api::Node& node : input_.nodes) nodes.insert(node.name);
    size_t elsewhere = 0;
    for (const api::Pod& pod : input_.pods) {
      if (!pod.occupies_node()) continue;
      count_for_job(pod);
      if (!nodes.contains(pod.node_name)) ++elsewhere;
      if (!accounted(pod)) cluster_.put_pod(full_name(pod), pod.node_name, pod.requests);
    }
    if (elsewhere > 0) {
      bookings_.remarks.push_back(fmt::format(
          "{} on nodes that are not in the input",
          elsewhere == 1 ? std::string("1 pod is") : fmt::format("{} pods are", elsewhere)));
    }
  }

  void count_for_job(const api::Pod& pod) {
    for (const char* key : {"batch.kubernetes.io/job-name", "job-name"}) {
      const auto job = pod.labels.find(key);
      if (job == pod.labels.end()) continue;
      ++bookings_.running_pods[pod.namespace_ + "/" + job->second];
      return;
    }
  }

  topology::Cluster& cluster_;
  TreeId tree_;
  const ClusterInput& input_;
  std::optional<TreeId> host_tree_;
  std::set<std::pair<std::string, std::string>> accounted_;  // workload, pod set; "": any of them
  Bookings bookings_;
};

}  // namespace

Result<TreeId> put_nodes(topology::Cluster& cluster, const ClusterInput& input,
                         const topology::TreeSpec& spec) {
  for (const api::Node& node : input.nodes) RETURN_IF_ERROR(cluster.put_node(node));
  return cluster.add_tree(spec);
}

Bookings book_usage(topology::Cluster& cluster, TreeId tree, const ClusterInput& input,
                    Admitted admitted) {
  return Booking(cluster, tree, input).run(admitted);
}

}  // namespace phalanx::cli
