// The terminal of a command that draws a live view, and the signals that end it.
//
// While it lives, SIGINT, SIGTERM and SIGHUP do not end the program but are heard by wait(). If
// standard output is a terminal, the view has the alternate screen, and keys are read one by one.
// Everything is as it was before when it goes.
#pragma once

#include <signal.h>
#include <termios.h>

#include <chrono>
#include <optional>
#include <string>

#include "cli/live_view.h"

namespace phalanx::cli {

class LiveTerminal {
 public:
  LiveTerminal();
  ~LiveTerminal();
  LiveTerminal(const LiveTerminal&) = delete;
  LiveTerminal& operator=(const LiveTerminal&) = delete;

  // Whether somebody looks on. Without a terminal nothing is drawn.
  [[nodiscard]] bool interactive() const { return interactive_; }
  // As large as it is now.
  [[nodiscard]] Screen screen() const;
  // Replaces what is on the screen, in one write, so that nothing flickers.
  void show(const std::string& frame);

  enum class Wish { kGoOn, kRedraw, kQuit };
  // Waits so long, or less if somebody wants something.
  Wish wait(std::chrono::milliseconds duration);

 private:
  [[nodiscard]] Wish read_signals();
  [[nodiscard]] Wish read_keys();
  void write_all(const std::string& text);

  bool interactive_ = false;
  bool changed_keys_ = false;  // how they are read is another way than before
  bool reads_keys_ = false;
  sigset_t old_mask_{};
  int signals_ = -1;  // file descriptor
  termios old_keys_{};
};

}  // namespace phalanx::cli
