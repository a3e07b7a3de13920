// What happens to the nodes of a soak: kubelets that fall silent and come back, racks that are
// lost, nodes that are deleted and join again, cordons, drains and taints.
//
// Each node suffers from one thing at a time, and every thing ends. All of it is written to the API
// server as machines and administrators do.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "cli/soak_world.h"
#include "sim/component.h"
#include "sim/simulation.h"

namespace phalanx::cli {

class SoakDisturbances : public sim::Component {
 public:
  SoakDisturbances(sim::ApiServer& server, const SoakPlan& plan, uint64_t seed);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override;

  // Nothing more happens, and everything that did is over.
  void stop();
  [[nodiscard]] const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  enum class Kind : uint8_t {
    kFlap,
    kSilence,
    kNotReady,
    kRackLoss,
    kRemoval,
    kCordon,
    kDrain,
    kNoSchedule,
    kNoExecute,
  };
  struct Trouble {
    Kind kind = Kind::kFlap;
    std::string node = {};
  };
  struct Chance {
    Kind kind;
    std::string_view name;
    double per_day;  // of 500 nodes
    int64_t least_seconds;
    int64_t most_seconds;
  };
  static const std::vector<Chance>& chances();

  void begin(const Chance& chance);
  void begin_on(const Chance& chance, const std::string& node, Time end);
  void end(const Trouble& trouble);
  void drain(const std::string& node);
  void set_annotation(const std::string& node, std::string_view state);
  void set_unschedulable(const std::string& node, bool unschedulable);
  void set_taint(const std::string& node, std::string_view effect, bool present);
  void patch(const std::string& node, json::object change);
  void join_again(const std::string& node);
  [[nodiscard]] std::vector<std::string> victims(Kind kind);
  [[nodiscard]] Time next_of(const Chance& chance);

  sim::ApiServer& server_;
  SoakPlan plan_;
  Random random_;
  std::map<std::string, json::value> fixed_;  // documents by name
  std::vector<Time> next_;                    // by chance
  std::multimap<Time, Trouble> ends_;
  std::set<std::string> suffering_;  // nodes
  std::map<std::string, int64_t> counts_;
};

}  // namespace phalanx::cli
