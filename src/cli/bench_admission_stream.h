// The workloads of `phalanx bench admission`: what they are, when they come, how long they run.
//
// Each arrives at its time, runs once it is admitted, and is finished and removed when it has run
// its time. One that is preempted starts over when it is admitted again.
#pragma once

#include <array>
#include <map>
#include <queue>
#include <string>
#include <string_view>

#include "sim/component.h"
#include "sim/informer.h"

namespace phalanx::cli {

constexpr int kQueues = 30;
constexpr uint32_t kRackSize = 64;

struct WorkloadClass {
  std::string_view name;
  int per_queue;
  int pods;
  std::string_view cpu;  // of each pod
  int64_t cpu_milli;     // of all pods
  int priority;
  Duration runs;
  Duration every;  // between arrivals, in each queue
};

constexpr std::array kClasses{
    WorkloadClass{"small", 350, 2, "500m", 1'000, 50, Duration(200), Duration(100)},
    WorkloadClass{"medium", 100, 4, "1250m", 5'000, 100, Duration(500), Duration(500)},
    WorkloadClass{"large", 50, 8, "2500m", 20'000, 200, Duration(1000), Duration(1200)},
};

// What limits: the quota of each queue (the nodes have plenty), or the nodes.
struct AdmissionPreset {
  std::string_view name;
  std::string_view node_cpu;
  int64_t node_cpu_milli;
  std::string_view quota;  // cpu of each queue
  int64_t quota_milli;
  int speed;  // arrivals come so many times as fast
  bool few;   // only so many racks are of use, however many there are
  // Of queues that share: so many of a cohort lend each other what they do not use, up to a limit,
  // and take it back.
  int queues_of_cohort = 0;
  std::string_view borrowing_limit = {};

  [[nodiscard]] bool preempts() const { return queues_of_cohort > 0; }
};

constexpr std::array kAdmissionPresets{
    AdmissionPreset{"quota", "96", 96'000, "20", 20'000, 1, false},
    AdmissionPreset{"nodes", "4", 4'000, "1000", 1'000'000, 4, true},
    AdmissionPreset{"cohorts", "96", 96'000, "20", 20'000, 1, false, 6, "100"}};

// In a large cluster where nodes are the limit most are full: ten racks, spread over the cluster,
// have room.
bool has_room(uint32_t node, uint32_t nodes, const AdmissionPreset& preset);

void create_queues(sim::ApiServer& server, const AdmissionPreset& preset);
void create_nodes(sim::ApiServer& server, uint32_t count, const AdmissionPreset& preset);
json::object workload_document(const WorkloadClass& size, int queue, int index);

// Submits the workloads as time passes, and finishes each when it has run.
class Stream : public sim::Component {
 public:
  // `percent` of the workloads: those that come first.
  Stream(sim::ApiServer& server, const AdmissionPreset& preset, int percent);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override;

  // How long those of one class waited until they were admitted.
  struct Waits {
    Duration total{};
    Duration longest{};
    int count = 0;

    void add(Duration wait) {
      total += wait;
      ++count;
      longest = std::max(longest, wait);
    }
  };
  [[nodiscard]] size_t finished() const { return finished_; }
  [[nodiscard]] const std::array<Waits, kClasses.size()>& first_waits() const { return first_; }
  // Until the admission after which they ran to their end.
  [[nodiscard]] const std::array<Waits, kClasses.size()>& last_waits() const { return last_; }
  // CPU milliseconds times thousandths of a CPU that ran so far.
  [[nodiscard]] double busy(Time until);
  // By the reason of the condition Preempted.
  [[nodiscard]] const std::map<std::string, size_t>& preemptions() const { return preemptions_; }
  // Likewise, of what was preempted and had to start over.
  [[nodiscard]] double lost() const { return lost_; }

 private:
  struct Due {
    Time at;
    size_t size = 0;
    int queue = 0;
    int index = 0;
    int run = 0;  // the how manieth ends; 0: it arrives

    bool operator<(const Due& other) const {  // of a heap: the earliest comes first
      return std::tuple(other.at, other.run > 0, other.size, other.queue, other.index) <
             std::tuple(at, run > 0, size, queue, index);
    }
  };
  // What became of one that has arrived and is not finished.
  struct Life {
    Due arrival;
    int runs = 0;                      // begun
    std::optional<Time> running = {};  // since when
  };

  void submit(const Due& due, Time now);
  void observe(const sim::Change& change, Time now);
  void begin(Life& life, Time now);
  void lose(Life& life, const json::value& workload, Time now);
  void finish(const Due& due, Time now);
  void integrate(Time now);

  sim::ApiServer& server_;
  sim::Informer informer_;
  const AdmissionPreset& preset_;
  int percent_;
  std::priority_queue<Due> due_;
  std::map<std::string, Life> lives_;  // by name
  std::array<Waits, kClasses.size()> first_{};
  std::array<Waits, kClasses.size()> last_{};
  size_t finished_ = 0;
  std::map<std::string, size_t> preemptions_;
  int64_t running_milli_ = 0;
  double busy_ = 0;
  double lost_ = 0;
  Time integrated_to_;
};

}  // namespace phalanx::cli
