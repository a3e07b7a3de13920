// Runs the core against the embedded API server: watches, decodes, steps, writes.
//
// All writes of one step are carried out at once, in their order, and their results are the first
// thing the next step hears. A fault plan may spoil any single write: end the core's life before or
// after it (it is built anew from what the API server holds, as after a crash), lose the request or
// the reply on the way, or let somebody else change the object first.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/core.h"
#include "sim/api_server.h"
#include "sim/component.h"
#include "sim/informer.h"

namespace phalanx::sim {

enum class WriteFate : uint8_t {
  kProceed,
  kCrashBefore,
  kCrashAfter,
  kLoseRequest,
  kLoseReply,
  kLoseRace,
  kRefuse,  // forbidden, for this once: a server that has just started knows no rights yet
};

struct CoreHostOptions {
  core::Configuration configuration;
  bool write_events = true;  // Kubernetes Events for the notices of the core
  // Hears every line of the decision journal.
  std::function<void(const std::string&)> on_journal;
  // Asked before each write, with its number since the start, crashes included.
  std::function<WriteFate(const core::Write&, uint64_t number)> fate;
};

class CoreHost : public Component {
 public:
  CoreHost(ApiServer& server, const core::Adapters& adapters, CoreHostOptions options);
  ~CoreHost() override;

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return wake_at_; }

  // As after a crash: a new core that knows nothing yet lists everything when it next reacts.
  void restart() { start_core(); }

  [[nodiscard]] core::Core& core() { return *core_; }
  [[nodiscard]] uint64_t writes() const { return writes_; }
  // CPU time spent inside the core and in decoding for it.
  [[nodiscard]] double core_cpu_seconds() const { return core_cpu_seconds_; }

 private:
  void start_core();
  [[nodiscard]] std::vector<core::Event> new_events();
  // Whether the core survived.
  bool carry_out(core::Write& write);
  ApiResult<Stored> perform(const core::Write& write);
  // Somebody else changes the object, in a way that means nothing.
  void interfere(const core::Write& write);
  void record(const core::Notice& notice);

  ApiServer& server_;
  const core::Adapters& adapters_;
  CoreHostOptions options_;
  std::unique_ptr<Informer> informer_;
  std::unique_ptr<core::Core> core_;
  std::vector<core::Event> results_;  // of writes, for the next step
  std::optional<Time> wake_at_;
  bool synced_ = false;
  uint64_t writes_ = 0;
  uint64_t notices_;  // names Events; goes on where a saved cluster ended
  double core_cpu_seconds_ = 0;
};

}  // namespace phalanx::sim
