// The manager's side to the API server, on a thread of its own: follows all kinds, carries out
// writes, takes part in the election. What it learns goes to the deciding thread as messages.
//
// A life is what one core lives: it begins with listing everything. When a new one begins, what is
// under way for the old one is dropped, and its messages are told apart by their number.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/mailbox.h"
#include "core/adapter.h"
#include "core/event.h"
#include "kube/access_review.h"
#include "kube/curl_transport.h"
#include "kube/elector.h"
#include "kube/event_recorder.h"
#include "kube/reflector.h"
#include "kube/writer.h"
#include "manager/meters.h"
#include "manager/role.h"
#include "manager/settings.h"

namespace phalanx::core {
class Core;
}

namespace phalanx::manager {

// Something that the core is to hear.
struct Arrived {
  uint64_t life = 0;
  kube::Instant at{};
  core::Event event;
};
// Every kind has been listed.
struct AllListed {
  uint64_t life = 0;
};
// Everything has been told that a leader before us can have promised.
struct CaughtUp {
  uint64_t life = 0;
  uint64_t term = 0;
};
struct Elected {
  // The network had trouble a short time ago: what is known may be older than what the leader
  // before us did.
  bool doubtful = false;
};
struct Deposed {
  std::string why;
};
// How this replica stands.
struct Standing {
  bool ready = false;
  Role role = Role::kFollower;
};
// Somebody wants to know something that only the deciding thread can tell.
struct Question {
  std::function<void(core::Core&, const Standing&)> ask;
};
// A kind cannot be listed because nobody converts what is stored in an older version.
struct NobodyConverts {};
// The webhooks can be called.
struct Listening {};
// Nothing is being written, and nothing will be until another life begins.
struct Settled {};
// The last writes are over, and the lease is given up.
struct Retired {};
struct Stop {
  std::optional<Error> why = {};  // none: somebody wants it
};
using Message = std::variant<Arrived, AllListed, CaughtUp, NobodyConverts, Elected, Deposed,
                             Question, Listening, Settled, Retired, Stop>;

// At this moment.
struct ApiGauges {
  size_t unfinished_writes = 0;
  std::map<api::Kind, Duration> blind;  // for how long a kind has been without a watch that works
};

struct ApiSideOptions {
  ProcessSettings process;
  std::string identity;
  uint64_t seed = 0;
};

class ApiSide {
 public:
  ApiSide(const kube::ClusterAccess& access, const core::Adapters& adapters, ApiSideOptions options,
          Meters& meters, Mailbox<Message>& decider);
  ~ApiSide();
  ApiSide(const ApiSide&) = delete;
  ApiSide& operator=(const ApiSide&) = delete;

  // From any thread.
  void begin_life(uint64_t life, std::vector<api::Kind> kinds);
  // Lists the Workloads as they are from now on, and watches everything on new connections.
  // `term` tells one election from another.
  void catch_up(uint64_t life, uint64_t term);
  // `caused_at`: when the first of the events arrived that led to these writes.
  void carry_out(uint64_t life, std::vector<core::Write> writes, std::vector<core::Notice> notices,
                 std::optional<kube::Instant> caused_at);
  void start_election();
  // Lets writes end that are under way, for whoever wants to list what they have done.
  void settle();
  // Lets writes end that are under way, and gives the lease up, which may take so long if nobody
  // answers. From then on it only follows.
  void retire(Duration patience);
  // The same, and ends the thread.
  void stop();
  // By the API server's clock, from any thread.
  [[nodiscard]] Time now() const { return transport_.clock().now(); }
  // These two call back on the thread of this object; not at all once it has stopped.
  void with_gauges(std::function<void(ApiGauges)> use);
  void review_access(kube::AccessQuestion question, kube::AccessReviewer::Decided decided);

 private:
  struct Life {
    uint64_t number = 0;
    size_t listed = 0;
    std::map<api::Kind, std::unique_ptr<kube::Reflector>> reflectors;
    std::unique_ptr<kube::Writer> writer;
    // Versions that answers to writes told first, and when, until the watch tells them.
    std::map<api::Kind, std::deque<std::pair<uint64_t, kube::Instant>>> answered;
  };

  void begin(uint64_t number, const std::vector<api::Kind>& kinds);
  void follow(api::Kind kind);
  void suspect_connections();
  void reopen_connections();
  [[nodiscard]] bool doubtful() const;
  void make_writer();
  void make_elector();
  void look_at_clock();
  void tell(core::Event event);
  // The watch of a kind has told this much.
  void measure_lag(api::Kind kind, uint64_t seen);
  void run();
  // `answered`: all of them were, by the deadline. Whoever waited before is not called any more.
  void let_writes_end(kube::Instant deadline, std::function<void(bool answered)> done);
  void begin_to_retire(Duration patience);
  void end();
  [[nodiscard]] bool may_write() const;

  const core::Adapters& adapters_;
  const ApiSideOptions options_;
  Mailbox<Message>& decider_;
  Meters& meters_;
  kube::CurlTransport transport_;
  kube::ObjectDecoder decoder_;
  kube::EventRecorder recorder_;
  kube::AccessReviewer reviewer_;
  Life life_;
  std::unique_ptr<kube::Elector> elector_;
  std::optional<kube::Instant> troubled_at_;  // the last time that something had no answer
  std::optional<kube::Instant> reopened_at_;
  bool reopens_ = false;     // soon
  Duration clock_offset_{};  // as last told
  bool retiring_ = false;
  bool sends_no_more_ = false;
  uint64_t ending_ = 0;  // tells those who wait for the end of writes from each other
  bool retired_ = false;
  bool ends_ = false;  // as soon as it has retired
  bool over_ = false;
  std::jthread thread_;
};

}  // namespace phalanx::manager
