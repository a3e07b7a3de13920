// What must hold at every settled moment of a soak, checked on the objects of the API server alone:
//
//   - no node is over-committed
//   - pods of a gang that run, or are bound to, sit in one domain of the required level; and the
//     ranks of one slice in one domain of the slice's level
//   - nobody who is admitted goes on for long with some of its pods missing
//   - nobody keeps what it has to give back, or waits for places that were found long ago
//   - no queue and no cohort uses more than its quota
//
// Cost: what changed since the last look, and those that something is wrong with for the moment.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "cli/soak_view.h"

namespace phalanx::cli {

// How long things may take before somebody has to be told.
struct SoakLimits {
  Duration start = std::chrono::minutes(5);        // until all pods run
  Duration recovery = std::chrono::minutes(10);    // until they do again
  Duration second_pass = std::chrono::minutes(5);  // until places are found, or given up
  Duration provisioning = std::chrono::hours(2);   // until an autoscaler has answered
  Duration leaving = std::chrono::minutes(2);      // until an eviction is over
  Duration tolerance = std::chrono::minutes(1);    // of all of them
};

class SoakLaws {
 public:
  SoakLaws(const SoakView& view, SoakLimits limits) : view_(view), limits_(limits) {}

  // What is broken, naming who and since when; nullopt: nothing is. To be called after each
  // follow() of the view.
  std::optional<std::string> check(const SoakView::Touched& touched);

 private:
  using Broken = std::optional<std::string>;

  [[nodiscard]] Broken check_node(const std::string& name) const;
  [[nodiscard]] Broken check_domains(const std::string& name) const;
  [[nodiscard]] Broken check_slices(const std::string& name, const SoakGang& gang) const;
  void follow_wholeness(const std::string& name);
  [[nodiscard]] Broken check_wholeness() const;
  void follow_workload(const std::string& name);
  [[nodiscard]] Broken check_workloads() const;
  [[nodiscard]] Broken check_quota() const;

  // Since when pods of an admitted gang are missing.
  struct Incomplete {
    Time since = {};
    bool had_started = false;
  };

  const SoakView& view_;
  SoakLimits limits_;
  std::map<std::string, Incomplete> incomplete_;  // by gang
  std::set<std::string> started_;                 // gangs that were whole in this admission
  std::set<std::string> watched_;  // workloads that hold quota and are not admitted, or evicted
};

// Of the pods of a gang: those that run, against those that should.
struct SoakWholeness {
  int64_t running = 0;
  int64_t wanted = 0;

  [[nodiscard]] bool whole() const { return running >= wanted; }
};
SoakWholeness wholeness_of(const SoakView& view, const SoakGang& gang);

}  // namespace phalanx::cli
