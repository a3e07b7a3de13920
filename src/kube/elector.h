// Leader election by a Lease: of several replicas one decides, and another takes over when it
// stops.
//
// What keeps two from writing at once does not depend on clocks that agree. The leader measures
// from before it asked for its last renewal; the others from when they saw it, which is later, and
// they wait longer (the lease's duration) than the leader goes on (the renew deadline). Writes that
// were sent before that and arrive after it carry preconditions.
//
// - may_write() is false from the renew deadline on, whatever the network does.
// - Followers watch the Lease, so that a leader that gives it up is followed at once; one that dies
//   is followed when its lease runs out.
// - A leader that finds somebody else in its Lease stops at once.
// - A Lease that somebody deletes is no lease given up: its leader writes nothing until it has made
//   it anew, and the others wait for as long as they would have.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/random.h"
#include "base/time.h"
#include "kube/backoff.h"
#include "kube/transport.h"

namespace phalanx::kube {

struct ElectionOptions {
  std::string identity = {};  // of this process, like no other
  std::string namespace_ = "phalanx-system";
  std::string name = "phalanx-manager";
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
};

class Elector {
 public:
  struct Listener {
    std::function<void()> elected;
    std::function<void(const std::string& why)> lost;
    std::function<void()> renewed;                     // may_write() may be true again
    std::function<void(const std::string&)> observed;  // who leads now; "": nobody
    std::function<void(const std::string&)> trouble;   // a sentence for the log
    std::function<void()> unanswered = {};             // the network may be dead
  };
  using WallClock = std::function<Time()>;

  Elector(Transport& transport, ElectionOptions options, Listener listener, WallClock wall_clock,
          uint64_t seed);
  ~Elector();
  Elector(const Elector&) = delete;
  Elector& operator=(const Elector&) = delete;

  void start() { look(); }
  [[nodiscard]] bool leads() const { return leads_; }
  // Whether the lease is certain to be ours at this moment.
  [[nodiscard]] bool may_write() const {
    return leads_ && transport_.now() < renewed_at_ + options_.renew_deadline;
  }
  // Gives the lease up and takes no part any more. `done` when the others know, or could not be
  // told in that time: then the lease runs out by itself.
  void resign(Duration patience, std::function<void(bool told)> done);

 private:
  struct Record {
    std::string holder;
    Duration duration{};
    int64_t transitions = 0;
    std::string acquired;
    std::string renewed;
    std::string version;
    bool operator==(const Record&) const = default;
  };

  void look();
  void found(const HttpResponse& response);
  void observe(const json::value& lease);
  [[nodiscard]] bool newer(const json::value& lease) const;
  void decide();
  void claim();
  void lease_is_gone();
  void written(const HttpResponse& response, Instant sent);
  void failed(const HttpResponse& response, const Error& error);
  void next_look(Duration delay);
  void step_down(const std::string& why);
  void watch();
  void take_data(std::string_view data);
  [[nodiscard]] json::object lease_of(const std::string& holder) const;
  HttpRequest write_request(const std::string& holder) const;
  void give_up();
  void give_up_if_ours();
  void give_up_again();
  // The leader's time is over unless it is renewed before.
  void watch_deadline();

  Transport& transport_;
  const ElectionOptions options_;
  const Listener listener_;
  const WallClock wall_clock_;
  Backoff backoff_;
  Random random_;
  std::optional<Record> record_;  // as last seen
  bool absent_ = false;           // the Lease was deleted since
  Instant observed_at_{};         // when it last changed
  bool leads_ = false;
  bool resigning_ = false;
  bool crossed_ = false;     // its end and a renewal have
  Instant resigns_until_{};  // nothing is tried again after that
  std::function<void(bool told)> resigned_;
  Instant renewed_at_{};  // when the last renewal that succeeded was sent
  std::optional<std::string> announced_;
  Transport::Id exchange_ = 0;
  Transport::Id timer_ = 0;
  Transport::Id deadline_timer_ = 0;
  Transport::Id watch_ = 0;
  bool busy_ = false;  // an exchange is under way
  std::string rest_;
};

}  // namespace phalanx::kube
