// The terminal of a command that draws a live view.
//
// If standard output is a terminal, the view has the alternate screen, and keys are read one by
// one. Everything is as it was before when it goes, also if a second signal ends the program at
// once.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/live_view.h"
#include "cli/stop_signals.h"

namespace phalanx::cli {

class LiveTerminal {
 public:
  explicit LiveTerminal(const StopSignals& signals);
  ~LiveTerminal();
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  // Whether somebody looks on. Without a terminal nothing is drawn.
  [[nodiscard]] bool interactive() const { return interactive_; }
  // As large as it is now.
  [[nodiscard]] Screen screen() const;
  // Replaces what is on the screen, in one write, so that nothing flickers.
  void show(const std::string& frame);

  enum class Wish { kGoOn, kQuit };
  // Waits so long, or less if somebody wants something.
  Wish wait(std::chrono::milliseconds duration);

 private:
  [[nodiscard]] Wish read_keys();

  const StopSignals& signals_;
  bool interactive_ = false;
  bool reads_keys_ = false;
};

}  // namespace phalanx::cli
