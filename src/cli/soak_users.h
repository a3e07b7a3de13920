// The people of a soak: they submit Jobs, now and then delete one or a pod of one, hold a queue for
// a while, and bring deactivated workloads back, or give up on those that ran for too long.
#pragma once

#include <map>
#include <string>

#include "cli/soak_jobs.h"
#include "cli/soak_view.h"
#include "sim/component.h"

namespace phalanx::cli {

class SoakUsers : public sim::Component {
 public:
  SoakUsers(sim::ApiServer& server, const SoakView& view, const SoakPlan& plan, uint64_t seed);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override;

  // From now on nothing new comes, and nobody deletes anything; what is held is let go.
  void stop();
  // Of each kind of thing that they did, beside submitting.
  [[nodiscard]] const std::map<std::string, int64_t>& deeds() const { return deeds_; }
  // Jobs that ran for longer than they may, and were given up.
  [[nodiscard]] int64_t given_up() const { return given_up_; }

 private:
  void submit();
  void meddle();
  void delete_job();
  void delete_pod();
  void toggle_activity();
  void hold_queue();
  void release_queue();
  void look_after_deactivated();
  void set_active(const std::string& workload, bool active);
  void stop_queue(std::string_view policy);
  [[nodiscard]] Duration some_time(int64_t low_seconds, int64_t high_seconds);

  sim::ApiServer& server_;
  const SoakView& view_;
  SoakJobs jobs_;
  Random random_;
  SoakJobs::Arrival next_job_ = {};
  std::optional<Time> submit_at_ = {};
  std::optional<Time> meddle_at_ = {};
  std::optional<Time> release_at_ = {};
  Time look_at_ = {};
  std::string held_queue_ = {};
  std::map<std::string, Time> deactivated_ = {};  // when somebody will see to it
  std::map<std::string, int64_t> deeds_ = {};
  int64_t given_up_ = 0;
};

}  // namespace phalanx::cli
