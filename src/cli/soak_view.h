// What the soak knows of its cluster: nodes, pods, Jobs and Workloads as the API server has them,
// cut down to what its checks and its report need, and kept up to date change by change.
//
// Cost: a change costs its own object and a few map operations.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "api/kind.h"
#include "base/json.h"
#include "base/time.h"
#include "sim/informer.h"
#include "sim/pod_resources.h"

namespace phalanx::cli {

// Levels of the soak's topology, coarsest first.
enum class SoakLevel : uint8_t { kBlock, kRack, kHost };
std::optional<SoakLevel> soak_level(std::string_view label);
std::string_view name_of(SoakLevel level);

struct SoakNode {
  bool exists = false;  // one that is gone is remembered: pods may still be bound to it
  bool ready = false;
  std::array<std::string, 3> domains = {};  // by level
  sim::NodeLoad load = {};                  // pods that are bound and have not ended
  int64_t gpus = 0;
};

struct SoakPod {
  std::string job = {};   // "namespace/name"; empty: of none
  std::string node = {};  // empty: not bound
  std::optional<int64_t> rank = {};
  api::ResourceAmounts demand = {};
  bool running = false;
  bool ended = false;
  bool deleted = false;
  Time running_since = {};
  int64_t gpus = 0;

  [[nodiscard]] bool bound() const { return !node.empty() && !ended; }
};

// A Job, and where it wants its pods.
struct SoakGang {
  bool exists = false;  // pods may be heard of before their Job is, and after
  Time created = {};
  int64_t parallelism = 0;
  int64_t completions = 0;
  int64_t succeeded = 0;
  bool finished = false;
  bool failed = false;  // and finished
  bool deleted = false;
  std::optional<SoakLevel> required = {};
  std::optional<SoakLevel> slice = {};
  int64_t slice_size = 1;
  std::set<api::ObjectKey> pods = {};
  std::string workload = {};
  std::optional<Time> first_admitted = {};

  [[nodiscard]] bool wants_to_run() const { return exists && !finished && !deleted; }
};

struct SoakWorkload {
  std::string job = {};
  Time created = {};
  bool active = true;
  bool finished = false;
  bool deleted = false;
  std::optional<Time> reserved = {};      // since when, by its condition; nullopt: it is not
  std::optional<Time> admitted = {};      // likewise
  std::optional<Time> evicted = {};       // likewise
  std::optional<Time> checks_ready = {};  // likewise, all of them; nullopt if one is not
  std::string deactivated_for = {};       // the reason of its last eviction
  std::map<std::string, int64_t> evictions = {};  // by reason
};

class SoakView {
 public:
  explicit SoakView(sim::ApiServer& server);

  // What the last follow() found changed.
  struct Touched {
    std::set<std::string> nodes = {};
    std::set<std::string> gangs = {};
    std::set<std::string> workloads = {};
    std::set<std::string> cluster_queues = {};

    [[nodiscard]] bool any() const {
      return !nodes.empty() || !gangs.empty() || !workloads.empty() || !cluster_queues.empty();
    }
  };
  // Reads up to the present.
  const Touched& follow();

  [[nodiscard]] Time now() const { return server_.clock().now(); }
  [[nodiscard]] const std::map<std::string, SoakNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::map<api::ObjectKey, SoakPod>& pods() const { return pods_; }
  [[nodiscard]] const std::map<std::string, SoakGang>& gangs() const { return gangs_; }
  [[nodiscard]] const std::map<std::string, SoakWorkload>& workloads() const { return workloads_; }
  [[nodiscard]] const std::map<std::string, sim::Stored>& cluster_queues() const {
    return cluster_queues_;
  }
  // nullptr: there is none of this name.
  [[nodiscard]] const SoakWorkload* workload_of(const SoakGang& gang) const;

  // Sums over everything that was ever seen.
  struct Sums {
    int64_t submitted = 0;
    int64_t finished = 0;
    int64_t failed = 0;
    int64_t removed = 0;  // deleted before they were finished
    int64_t admissions = 0;
    std::map<std::string, int64_t> evictions = {};  // by reason
    std::vector<Duration> waits = {};               // from creation to the first admission
    double lost_gpu_ms = 0;                         // of pods that ran and did not succeed
    double used_gpu_ms = 0;                         // of all pods that ran, and have ended
  };
  [[nodiscard]] const Sums& sums() const { return sums_; }
  [[nodiscard]] int64_t running_gpus() const { return running_gpus_; }
  [[nodiscard]] int64_t ready_gpus() const { return ready_gpus_; }

 private:
  void take_in(const sim::Change& change);
  void take_in_node(const std::string& name, const json::value* node);
  void take_in_pod(const api::ObjectKey& key, const json::value* pod);
  void take_in_job(const std::string& name, const json::value* job);
  void take_in_workload(const std::string& name, const json::value* workload);
  void read_topology(const json::value& job, SoakGang& gang);
  // What a pod counts for, with `sign` 1 or -1.
  void count(const api::ObjectKey& key, const SoakPod& pod, int sign);
  void note_end_of_run(const SoakPod& before, bool succeeded);
  void note_admission(const std::string& name, const SoakWorkload& workload);
  void drop_if_forgotten(const std::string& gang);

  sim::ApiServer& server_;
  sim::Informer informer_;
  Touched touched_;
  std::map<std::string, SoakNode> nodes_;
  std::map<api::ObjectKey, SoakPod> pods_;
  std::map<std::string, SoakGang> gangs_;  // by the Job's full name
  std::map<std::string, SoakWorkload> workloads_;
  std::map<std::string, sim::Stored> cluster_queues_;
  Sums sums_;
  int64_t running_gpus_ = 0;
  int64_t ready_gpus_ = 0;
};

}  // namespace phalanx::cli
