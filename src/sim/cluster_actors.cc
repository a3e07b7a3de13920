#include "sim/cluster_actors.h"

#include <memory>

#include "sim/default_scheduler.h"
#include "sim/garbage_collector.h"
#include "sim/job_controller.h"

namespace phalanx::sim {

ClusterActors add_cluster_actors(Simulation& simulation, const ClusterOptions& options) {
  ClusterActors actors;
  actors.node_lifecycle = simulation.add("node lifecycle", nullptr);
  actors.garbage_collector = simulation.add("garbage collector", nullptr);
  actors.pod_garbage_collector = simulation.add("pod garbage collector", nullptr);
  actors.job_controller = simulation.add("job controller", nullptr);
  actors.default_scheduler = simulation.add("default scheduler", nullptr);
  actors.kubelets = simulation.add("kubelets", nullptr);
  restart_cluster_actors(simulation, actors, options);
  return actors;
}

void restart_cluster_actors(Simulation& simulation, const ClusterActors& actors,
                            const ClusterOptions& options) {
  ApiServer& server = simulation.server();
  simulation.replace(actors.node_lifecycle,
                     std::make_unique<NodeLifecycle>(server, options.node_lifecycle));
  simulation.replace(actors.garbage_collector, std::make_unique<GarbageCollector>(server));
  simulation.replace(actors.pod_garbage_collector,
                     std::make_unique<PodGarbageCollector>(server, options.pod_garbage_collector));
  simulation.replace(actors.job_controller, std::make_unique<JobController>(server));
  simulation.replace(actors.default_scheduler, std::make_unique<DefaultScheduler>(server));
  simulation.replace(actors.kubelets, std::make_unique<Kubelets>(server, options.kubelet));
}

}  // namespace phalanx::sim
