// One soak: a cluster, its people and its mishaps, run from settled moment to settled moment in
// virtual time, and checked at each of them.
//
// The same plan gives the same run, decision for decision.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "cli/soak_autoscaler.h"
#include "cli/soak_disturbances.h"
#include "cli/soak_laws.h"
#include "cli/soak_users.h"
#include "cli/soak_view.h"
#include "cli/soak_world.h"
#include "sim/embedded_cluster.h"

namespace phalanx::cli {

class Soak {
 public:
  // Hears every line of the decision journal.
  using OnJournal = std::function<void(const std::string&)>;
  explicit Soak(const SoakPlan& plan, OnJournal on_journal = {});

  // What was broken first, with its time; nullopt: nothing was. `progress` is told the time now and
  // then.
  std::optional<std::string> run(const std::function<void(Duration passed)>& progress);

  // What happened; the same plan gives the same report.
  [[nodiscard]] json::object report() const;
  [[nodiscard]] const std::string& digest() const { return digest_; }

 private:
  using Broken = std::optional<std::string>;

  void create_world();
  // Up to the next thing that happens, or to the limit.
  Broken step(Time limit);
  Broken look();
  Broken settle_anew();
  Broken check_account();
  // Whether everybody who could be admitted is: of those that come first, or of everybody.
  Broken check_core(bool everybody);
  [[nodiscard]] Broken check_jobs() const;
  Broken run_until(Time end, const std::function<void(Duration)>& progress);
  Broken let_everybody_finish(const std::function<void(Duration)>& progress);
  // Somebody who has not finished yet; empty: everybody has.
  [[nodiscard]] std::string unfinished() const;
  void hear(const std::string& line);
  sim::WriteFate next_fate();
  [[nodiscard]] Time some_time_later(int64_t mean_seconds);

  SoakPlan plan_;
  OnJournal on_journal_;
  Random random_;
  std::unique_ptr<sim::EmbeddedCluster> cluster_;
  SoakView view_;
  SoakLaws laws_;
  SoakUsers* users_ = nullptr;  // these are owned by the simulation
  SoakDisturbances* disturbances_ = nullptr;
  SoakAutoscaler* autoscaler_ = nullptr;
  Time start_ = {};
  Time next_restart_ = {};
  Time next_account_ = {};
  bool faults_ = true;
  std::optional<Time> busy_since_ = {};  // the core, with a write
  bool crashed_ = false;                 // the account is to be compared
  std::map<std::string, int64_t> faults_seen_ = {};
  std::map<std::string, int64_t> decisions_ = {};  // lines of the journal, by what was decided
  int64_t lines_ = 0;
  int64_t account_checks_ = 0;
  int64_t steps_ = 0;
  int64_t core_checks_ = 0;
  double running_gpu_ms_ = 0;
  double ready_gpu_ms_ = 0;
  std::string batch_ = {};  // of the journal, not in the digest yet
  std::string digest_ = {};
  Duration tail_ = {};  // from the last arrival until everybody had finished
};

}  // namespace phalanx::cli
