#include "cli/live_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cli/terminal_style.h"

namespace phalanx::cli {
namespace {

constexpr int kMostLines = 10'000;                           // of the style; the screen decides
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // alternate screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) return;
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
}

// What a signal handler needs to put the terminal back.
termios keys_before{};
bool keys_changed = false;

void leave() {
  write_all(kLeave);
  if (keys_changed) ::tcsetattr(STDIN_FILENO, TCSANOW, &keys_before);
}

}  // namespace

LiveTerminal::LiveTerminal(const StopSignals& signals)
    : signals_(signals), interactive_(::isatty(STDOUT_FILENO) == 1) {
  if (!interactive_) return;
  keys_changed = false;
  if (::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &keys_before) == 0) {
    termios keys = keys_before;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    keys_changed = ::tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    reads_keys_ = keys_changed;
  }
  StopSignals::before_sudden_end(leave);
  write_all(kEnter);
}

LiveTerminal::~LiveTerminal() {
  if (!interactive_) return;
  StopSignals::before_sudden_end(nullptr);
  leave();
}

Screen LiveTerminal::screen() const {
  Screen screen;
  screen.style = style_of_terminal(kMostLines);
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    screen.columns = size.ws_col;
    screen.rows = size.ws_row;
  }
  return screen;
}

void LiveTerminal::show(const std::string& frame) {
  if (!interactive_) return;
  std::string text = "\x1b[H";
  for (const char c : frame) {
    if (c == '\n') text += "\x1b[K\r";
    text += c;
  }
  write_all(text + "\x1b[K\x1b[J");
}

LiveTerminal::Wish LiveTerminal::wait(std::chrono::milliseconds duration) {
  std::array<pollfd, 2> files{{{signals_.file(), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  ::poll(files.data(), reads_keys_ ? 2 : 1,
         static_cast<int>(std::max<int64_t>(0, duration.count())));
  if (signals_.received() != 0) return Wish::kQuit;
  return files[1].revents == 0 ? Wish::kGoOn : read_keys();
}

LiveTerminal::Wish LiveTerminal::read_keys() {
  std::array<char, 64> keys{};
  const ssize_t count = ::read(STDIN_FILENO, keys.data(), keys.size());
  // The end of the input stays readable; nobody is there to press a key any more.
  if (count == 0) reads_keys_ = false;
  for (ssize_t i = 0; i < count; ++i) {
    if (keys[static_cast<size_t>(i)] == 'q' || keys[static_cast<size_t>(i)] == 'Q') {
      return Wish::kQuit;
    }
  }
  return Wish::kGoOn;
}

}  // namespace phalanx::cli
