#include "cli/stop_signals.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "base/check.h"

namespace phalanx::cli {
namespace {

// A signal handler reaches nothing else.
std::atomic<int> first_signal = 0;
std::atomic<int> pipe_to_wake = -1;
std::atomic<void (*)()> restore_before_end = nullptr;

void hear(int number) {
  const int saved = errno;
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    const char byte = 0;
    [[maybe_unused]] const ssize_t written = ::write(pipe_to_wake, &byte, 1);
  } else {
    if (void (*restore)() = restore_before_end) restore();
    ::signal(number, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, number);
    pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
    ::raise(number);
    // The first process of a container outlives signals that it does not handle.
    ::_exit(128 + number);
  }
  errno = saved;
}

}  // namespace

StopSignals::StopSignals() {
  CHECK(pipe_to_wake == -1);
  CHECK(::pipe2(pipe_.data(), O_CLOEXEC | O_NONBLOCK) == 0);
  first_signal = 0;
  pipe_to_wake = pipe_[1];
  struct sigaction action{};
  action.sa_handler = hear;
  sigemptyset(&action.sa_mask);
  for (const int number : kSignals) sigaddset(&action.sa_mask, number);
  for (size_t i = 0; i < kSignals.size(); ++i) {
    CHECK(::sigaction(kSignals[i], &action, &old_[i]) == 0);
    // nohup and the like: whoever started us wants them to be ignored.
    if (old_[i].sa_handler == SIG_IGN) ::sigaction(kSignals[i], &old_[i], nullptr);
  }
  // One that has come while they were held back is heard now.
  CHECK(pthread_sigmask(SIG_UNBLOCK, &action.sa_mask, &old_mask_) == 0);
}

StopSignals::~StopSignals() {
  pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &old_[i], nullptr);
  pipe_to_wake = -1;
  restore_before_end = nullptr;
  for (const int file : pipe_) ::close(file);
}

int StopSignals::received() const {
  return first_signal;
}

bool StopSignals::wait_until(std::chrono::steady_clock::time_point time) const {
  using std::chrono::milliseconds;
  while (received() == 0) {
    const auto left = std::chrono::ceil<milliseconds>(time - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd wake{file(), POLLIN, 0};
    // In parts: a poll cannot wait for as long as a slow run may last.
    constexpr int64_t kLongest = 60'000;
    ::poll(&wake, 1, static_cast<int>(std::min<int64_t>(left.count(), kLongest)));
  }
  return true;
}

void StopSignals::before_sudden_end(void (*restore)()) {
  restore_before_end = restore;
}

}  // namespace phalanx::cli
