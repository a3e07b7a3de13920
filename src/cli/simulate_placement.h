// Where workloads went and how much room is left, in words and numbers for people.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resources.h"
#include "api/workload.h"
#include "base/time.h"
#include "core/state.h"

namespace phalanx::cli {

// What people call a level: "cloud.provider.com/topology-rack" is a rack, "kubernetes.io/hostname"
// a host.
std::string level_word(std::string_view key);

// Where an admitted Workload was put: "rack b1-r2: 4 hosts", "2 blocks, 5 racks, 20 hosts", "host
// h3", or the flavors if it was not placed by a topology. With several pod sets, each by its name.
std::string placement_summary(core::State& state, const api::Workload& workload);
// Which hosts it has left, and which it has got: "from h3 to h5"; empty: none.
std::string move_summary(const api::Workload& before, const api::Workload& after);

// How many pods of one kind fit into one domain of a level, at one moment or on average.
struct LevelRoom {
  std::string level;
  double largest = 0;           // in the domain that holds most of them
  double largest_if_empty = 0;  // the same, if no workload were admitted
  double total = 0;             // in all domains together
  // 0: a gang as large as the free room and the size of domains allow fits one domain. 1: none
  // does, although there is room.
  double fragmentation = 0;
};

// By level of the flavor's topology, coarsest first. Counts resources only: taints and selectors
// are left out of account.
std::vector<LevelRoom> room_of(core::State& state, const std::string& flavor,
                               const api::ResourceAmounts& pod);

// Follows the room in all topologies through a run: looks at most once a minute, and only if
// something has changed.
class RoomMeter {
 public:
  explicit RoomMeter(api::ResourceAmounts pod) : pod_(std::move(pod)) {}

  void observe(core::State& state, Time now);
  // Looks once more, and counts the time up to now.
  void close(core::State& state, Time now);

  struct OfFlavor {
    std::vector<LevelRoom> average;
    std::vector<LevelRoom> last;
  };
  [[nodiscard]] std::map<std::string, OfFlavor> by_flavor() const;
  [[nodiscard]] const api::ResourceAmounts& pod() const { return pod_; }

 private:
  struct Entry {
    uint64_t structure = 0;
    uint64_t position = 0;
    Time since;                  // of the last look
    std::vector<LevelRoom> sum;  // times milliseconds
    double milliseconds = 0;
    std::vector<LevelRoom> last;
  };

  void look(core::State& state, Time now);

  api::ResourceAmounts pod_;
  std::optional<Time> looked_;
  std::map<std::string, Entry> entries_;  // by flavor
};

}  // namespace phalanx::cli
