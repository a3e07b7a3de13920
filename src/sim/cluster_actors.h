// The actors every cluster has, in the order in which they act: what makes the embedded cluster
// behave like Kubernetes without any scheduler of ours.
#pragma once

#include "sim/kubelet.h"
#include "sim/node_lifecycle.h"
#include "sim/pod_garbage_collector.h"
#include "sim/simulation.h"

namespace phalanx::sim {

struct ClusterOptions {
  KubeletOptions kubelet = {};
  NodeLifecycleOptions node_lifecycle = {};
  PodGarbageCollectorOptions pod_garbage_collector = {};
};

struct ClusterActors {
  ComponentId node_lifecycle;
  ComponentId garbage_collector;
  ComponentId pod_garbage_collector;
  ComponentId job_controller;
  ComponentId default_scheduler;
  ComponentId kubelets;
};

ClusterActors add_cluster_actors(Simulation& simulation, const ClusterOptions& options = {});
// Throws all of them away and starts them again from what the API server holds.
void restart_cluster_actors(Simulation& simulation, const ClusterActors& actors,
                            const ClusterOptions& options = {});

}  // namespace phalanx::sim
