// What every host of the core does alike with what the core asks for, whether it talks to a real
// API server or to the embedded one. Pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/time.h"
#include "core/event.h"

namespace phalanx::core {

// The body of a merge patch. Preconditions travel in the patch itself, as with any client of
// Kubernetes.
json::value patch_of(const Write& write);

// The same request may be accepted later, unchanged. 0: there was no answer.
bool is_passing(int code);
// What a refusal means to the core; `reason` is that of the Status, if there was one.
WriteOutcome outcome_of(int code, std::string_view reason);

// One notice, said once or several times: a v1 Event.
struct EventSeries {
  std::string name;
  std::string component;  // who says it
  std::string instance;   // which of its replicas; empty: there is but one
  Time first{};
  Time last{};
  int64_t count = 1;
};
// The number makes it unique among the Events of one object.
std::string event_name(const Notice& notice, uint64_t number);
// Where Events about it are: objects without a namespace have theirs in "default".
std::string event_namespace(const Notice& notice);
// A message that is longer than Kubernetes allows is cut.
json::object event_of(const Notice& notice, const EventSeries& series);

}  // namespace phalanx::core
