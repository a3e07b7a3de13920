#include "cli/live_terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"
#include "cli/terminal_style.h"

namespace phalanx::cli {
namespace {

constexpr int kMostLines = 10'000;                           // of the style; the screen decides
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // alternate screen, no cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";

}  // namespace

LiveTerminal::LiveTerminal() : interactive_(::isatty(STDOUT_FILENO) == 1) {
  sigset_t mask;
  sigemptyset(&mask);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&mask, number);
  CHECK(pthread_sigmask(SIG_BLOCK, &mask, &old_mask_) == 0);
  signals_ = ::signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC);
  CHECK(signals_ >= 0);
  if (!interactive_) return;
  if (::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &old_keys_) == 0) {
    termios keys = old_keys_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    keys.c_cc[VMIN] = 0;
    keys.c_cc[VTIME] = 0;
    changed_keys_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    reads_keys_ = changed_keys_;
  }
  write_all(std::string(kEnter));
}

LiveTerminal::~LiveTerminal() {
  if (interactive_) write_all(std::string(kLeave));
  if (changed_keys_) ::tcsetattr(STDIN_FILENO, TCSANOW, &old_keys_);
  // Whoever pressed Ctrl-C twice has been heard.
  (void)read_signals();
  ::close(signals_);
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
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
  std::array<pollfd, 2> files{{{signals_, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}}};
  const int ready = ::poll(files.data(), reads_keys_ ? 2 : 1,
                           static_cast<int>(std::max<int64_t>(0, duration.count())));
  if (ready <= 0) return Wish::kGoOn;
  const Wish wish = read_signals();
  if (wish == Wish::kQuit || files[1].revents == 0) return wish;
  const Wish key = read_keys();
  return key == Wish::kGoOn ? wish : key;
}

LiveTerminal::Wish LiveTerminal::read_signals() {
  Wish wish = Wish::kGoOn;
  signalfd_siginfo signal{};
  while (::read(signals_, &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo != SIGWINCH) return Wish::kQuit;
    wish = Wish::kRedraw;
  }
  return wish;
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

void LiveTerminal::write_all(const std::string& text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR && errno != EAGAIN) return;
    if (count > 0) written += static_cast<size_t>(count);
  }
}

}  // namespace phalanx::cli
