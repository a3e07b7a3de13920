// A client that puts load on an HTTPS server: requests at fixed times, whether the server keeps up
// or not, and among them clients that do everything wrong.
//
// Latency counts from when a request was due, not from when it could be sent: a server that stalls
// is seen by everybody who would have come meanwhile. Everything happens in run(), on one thread.
// What is under way and what waits is bounded by the schedule, which the caller bounds.
//
// The program has to ignore SIGPIPE: OpenSSL writes to servers that have hung up, and has no way to
// be told of it by an error only.
//
// A request on a connection that is kept costs some 15 us of processor time, a handshake 1 ms.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace phalanx::serve {

// How a request gets to the server.
enum class Wire : uint8_t {
  kKept,      // on one of the connections that all share
  kOwn,       // on a connection of its own
  kPlain,     // on one of its own, without TLS, whatever the text is
  kCut,       // on one of its own that is hung up as soon as the text is out
  kDripping,  // on one of its own, a byte now and then, until the server hangs up
};

struct LoadRequest {
  std::string_view text;  // all that is sent; stays where it is until it is answered
  Wire wire = Wire::kKept;
};

struct LoadAnswer {
  int status = 0;  // 0: the server hung up without one
  std::string_view body;
  std::chrono::microseconds latency{};  // from when it was due
};

struct LoadOptions {
  std::string host;  // an address, not a name
  uint16_t port = 0;
  std::string server_name;   // that its certificate must have
  std::string certificates;  // PEM: by whom it must be signed
  size_t connections = 16;   // kept
  // For an answer once a request is on its connection. Long: a machine may be busy with other
  // things.
  Duration patience = std::chrono::seconds(120);
};

class LoadClient {
 public:
  // Number `index` of the schedule, counted from 0.
  using Next = std::function<LoadRequest(uint64_t index)>;
  using Answered = std::function<void(uint64_t index, const LoadAnswer&)>;
  // Called now and then, with how many are due so far; false ends the load: nothing new is sent,
  // and what was not sent yet is forgotten.
  using GoOn = std::function<bool(uint64_t sent)>;

  static Result<std::unique_ptr<LoadClient>> make(const LoadOptions& options);
  ~LoadClient();
  LoadClient(const LoadClient&) = delete;
  LoadClient& operator=(const LoadClient&) = delete;

  // Sends `count` requests, so many a second, and returns when each is answered or given up.
  // Returns how many were sent, each of which `answered` has heard of, and an error if the server
  // could not be reached at all.
  Result<uint64_t> run(uint64_t count, double rate, const Next& next, const Answered& answered,
                       const GoOn& go_on);

 private:
  class Implementation;
  explicit LoadClient(std::unique_ptr<Implementation> implementation);

  std::unique_ptr<Implementation> implementation_;
};

}  // namespace phalanx::serve
