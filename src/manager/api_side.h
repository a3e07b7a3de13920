// The manager's side to the API server, on a thread of its own: follows all kinds, carries out
// writes, takes part in the election. What it learns goes to the deciding thread as messages.
//
// A life is what one core lives: it begins with listing everything. When a new one begins, what is
// under way for the old one is dropped, and its messages are told apart by their number.
#pragma once

#include <cstdint>
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
#include "kube/curl_transport.h"
#include "kube/elector.h"
#include "kube/event_recorder.h"
#include "kube/reflector.h"
#include "kube/writer.h"
#include "manager/latency.h"
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
struct Elected {};
struct Deposed {
  std::string why;
};
// Somebody wants to know something that only the deciding thread can tell.
struct Question {
  std::function<void(core::Core&, bool ready)> ask;
};
// The webhooks can be called.
struct Listening {};
struct Stop {
  std::optional<Error> why = {};  // none: somebody wants it
};
using Message = std::variant<Arrived, AllListed, Elected, Deposed, Question, Listening, Stop>;

// Since the start.
struct ApiMeasures {
  Latency own;          // from an event's arrival to a write being ready to go
  Latency write_queue;  // from there until it was sent
  Latency round_trip;   // from there until it was answered
  std::map<std::pair<std::string, int>, uint64_t> writes;  // by what and code
  uint64_t events_received = 0;
};

struct ApiSideOptions {
  ProcessSettings process;
  std::string identity;
  uint64_t seed = 0;
};

class ApiSide {
 public:
  ApiSide(const kube::ClusterAccess& access, const core::Adapters& adapters, ApiSideOptions options,
          Mailbox<Message>& decider);
  ~ApiSide();
  ApiSide(const ApiSide&) = delete;
  ApiSide& operator=(const ApiSide&) = delete;

  // From any thread.
  void begin_life(uint64_t life, std::vector<api::Kind> kinds);
  // `caused_at`: when the first of the events arrived that led to these writes.
  void carry_out(uint64_t life, std::vector<core::Write> writes, std::vector<core::Notice> notices,
                 std::optional<kube::Instant> caused_at);
  void start_election();
  // Lets what is under way end, gives the lease up, and ends the thread; waits for that.
  void stop();
  // Calls back on the thread of this object.
  void with_measures(std::function<void(const ApiMeasures&, size_t unfinished)> use);
  // The same for whoever has requests of its own.
  void with_transport(std::function<void(kube::Transport&)> use);

 private:
  struct Life {
    uint64_t number = 0;
    size_t listed = 0;
    std::map<api::Kind, std::unique_ptr<kube::Reflector>> reflectors;
    std::unique_ptr<kube::Writer> writer;
  };

  void begin(uint64_t number, const std::vector<api::Kind>& kinds);
  void follow(api::Kind kind);
  void make_writer();
  void make_elector();
  void tell(core::Event event);
  void run();
  void wind_up();
  [[nodiscard]] bool may_write() const;

  const core::Adapters& adapters_;
  const ApiSideOptions options_;
  Mailbox<Message>& decider_;
  ApiMeasures measures_;
  kube::CurlTransport transport_;
  kube::ObjectDecoder decoder_;
  kube::EventRecorder recorder_;
  Life life_;
  std::unique_ptr<kube::Elector> elector_;
  bool winding_up_ = false;
  bool over_ = false;
  std::jthread thread_;
};

}  // namespace phalanx::manager
