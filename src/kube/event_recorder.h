// Kubernetes Events for people who look at an object (kubectl describe), without drowning anybody.
//
// - The same sentence about the same object within ten minutes becomes one Event with a count.
// - From the eleventh different sentence with one reason on they are counted in one Event, which
//   shows the latest.
// - Beyond 25 in a row an object gets one every five minutes; the rest is dropped.
//
// Pure: says what to write, and hears whether it worked. Bounded: what was not needed for longest
// is forgotten, which costs at most a count.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/time.h"
#include "core/hosting.h"
#include "kube/transport.h"

namespace phalanx::kube {

struct EventWrite {
  HttpRequest request;
  // If the Event is gone, which an API server removes after an hour: it is made anew.
  std::optional<HttpRequest> otherwise = std::nullopt;
};

class EventRecorder {
 public:
  // `component` is who says it, `instance` this replica; the seed makes names unique.
  EventRecorder(std::string component, std::string instance, uint64_t seed);

  // nullopt: nothing is to be written.
  std::optional<EventWrite> record(const core::Notice& notice, Time now);

  // How much text it remembers.
  [[nodiscard]] size_t bytes_kept() const;

 private:
  struct Similar {
    std::set<std::string> messages;  // digests: a message may be long, and thousands are kept
    Time last{};
  };
  struct Allowance {
    double tokens = 0;
    Time refilled{};
  };

  bool allowed(const core::Notice& notice, Time now);
  void forget_oldest();

  const std::string component_;
  const std::string instance_;
  uint64_t next_;
  std::map<std::string, core::EventSeries> series_;  // by object, reason and digest of the message
  std::map<std::string, Similar> similar_;           // by object and reason
  std::map<std::string, Allowance> allowances_;      // by object
};

}  // namespace phalanx::kube
