// A busy cluster to look at: the queues of three teams, and an endless stream of their jobs, all
// decided by a seed.
//
// Jobs are training gangs of many sizes, with every kind of topology request that the levels of the
// cluster allow; they run for minutes to hours. Those of the first moment nearly fill the cluster.
// After that each comes as much later than the one before as the cluster needs for that one, a bit
// less, so that the cluster stays full and something usually waits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/random.h"
#include "base/time.h"
#include "sim/node_generator.h"

namespace phalanx::sim {

class SampleJobs {
 public:
  SampleJobs(const NodePlan& nodes, uint64_t seed);

  // Topology, ResourceFlavor, queues and priorities, in an order in which they can be applied.
  [[nodiscard]] std::vector<json::value> setup() const;

  struct Arrival {
    Duration after{};  // the one before
    json::value job;
  };
  Arrival next();

  // What the jobs compete for: nvidia.com/gpu, say, or cpu if the hosts have nothing special.
  [[nodiscard]] const std::string& resource() const { return resource_; }

 private:
  // What one job asks for.
  struct Shape {
    std::string_view name;
    int64_t pods = 1;
    int64_t pods_per_host = 1;
    json::object topology;  // annotations of its pods
    int64_t minutes = 1;
    int64_t slice_size = 1;
  };

  [[nodiscard]] Shape small();
  [[nodiscard]] Shape within_rack();
  [[nodiscard]] Shape near_rack();
  [[nodiscard]] Shape near_block();
  [[nodiscard]] Shape sliced();
  [[nodiscard]] Shape anywhere();
  [[nodiscard]] Shape choose();
  [[nodiscard]] json::object requests(int64_t pods_per_host) const;
  [[nodiscard]] int64_t hosts_of_team(int64_t percent) const;
  [[nodiscard]] json::object cluster_queue(std::string_view team, int64_t percent) const;
  [[nodiscard]] json::value job(const Shape& shape, std::string_view team);

  NodePlan nodes_;
  Random random_;
  std::string resource_;
  int64_t hosts_ = 0;            // of a rack; of the cluster, if it has no racks
  int64_t units_ = 0;            // of the resource, of a host
  int64_t submitted_hosts_ = 0;  // while the cluster fills
  uint64_t number_ = 0;
};

}  // namespace phalanx::sim
