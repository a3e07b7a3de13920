#include "kube/curl_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"

namespace phalanx::kube {
namespace {

// More than that are had in the next turn.
constexpr size_t kMostReady = 64;

void initialise_curl() {
  static const CURLcode kInitialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK(kInitialised == CURLE_OK);
}

epoll_event interest_in(int socket, uint32_t events) {
  epoll_event interest{};
  interest.events = events;
  interest.data.fd = socket;
  return interest;
}

// A socket that failed is readable and writable: whoever tries is told what is wrong with it.
int readiness(uint32_t events) {
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  int ready = 0;
  if (failed || (events & EPOLLIN) != 0) ready |= CURL_CSELECT_IN;
  if (failed || (events & EPOLLOUT) != 0) ready |= CURL_CSELECT_OUT;
  return ready;
}

}  // namespace

CurlLoop::CurlLoop(long kept_connections)
    : ready_(epoll_create1(EPOLL_CLOEXEC)), waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  initialise_curl();
  multi_ = curl_multi_init();
  CHECK(multi_ != nullptr);
  CHECK(ready_ >= 0);
  CHECK(waker_ >= 0);
  epoll_event interest = interest_in(waker_, EPOLLIN);
  CHECK(epoll_ctl(ready_, EPOLL_CTL_ADD, waker_, &interest) == 0);
  curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kept_connections);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlLoop::socket_changed);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlLoop::due_changed);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlLoop::~CurlLoop() {
  curl_multi_cleanup(multi_);  // calls back for the connections that it closes
  close(waker_);
  close(ready_);
}

void CurlLoop::add(CURL* handle) {
  CHECK(curl_multi_add_handle(multi_, handle) == CURLM_OK);
}

void CurlLoop::remove(CURL* handle) {
  curl_multi_remove_handle(multi_, handle);
}

int CurlLoop::socket_changed(CURL* /*handle*/, curl_socket_t socket, int wanted, void* self,
                             void* /*of_socket*/) {
  const int set = static_cast<CurlLoop*>(self)->ready_;
  if (wanted == CURL_POLL_REMOVE) {
    // It may be closed, and then it is out of the set already.
    epoll_ctl(set, EPOLL_CTL_DEL, socket, nullptr);
    return 0;
  }
  uint32_t events = 0;
  if ((wanted & CURL_POLL_IN) != 0) events |= EPOLLIN;
  if ((wanted & CURL_POLL_OUT) != 0) events |= EPOLLOUT;
  epoll_event interest = interest_in(socket, events);
  if (epoll_ctl(set, EPOLL_CTL_ADD, socket, &interest) == 0) return 0;
  CHECK(errno == EEXIST && epoll_ctl(set, EPOLL_CTL_MOD, socket, &interest) == 0);
  return 0;
}

int CurlLoop::due_changed(CURLM* /*multi*/, long milliseconds, void* self) {
  static_cast<CurlLoop*>(self)->set_due(milliseconds);
  return 0;
}

void CurlLoop::set_due(long milliseconds) {
  if (milliseconds < 0) {
    due_.reset();
  } else if (milliseconds == 0) {
    due_ = Instant::min();
  } else {
    due_ = MonotonicClock::now() + Duration(milliseconds);
  }
}

bool CurlLoop::wait(Duration at_most) {
  if (due_ == Instant::min()) {
    at_most = Duration(0);
  } else if (due_) {
    const auto until = std::chrono::ceil<Duration>(*due_ - MonotonicClock::now());
    at_most = std::clamp(until, Duration(0), at_most);
  }
  std::array<epoll_event, kMostReady> events;  // NOLINT: only what was filled in is read
  const int count = epoll_wait(ready_, events.data(), static_cast<int>(events.size()),
                               static_cast<int>(at_most.count()));
  bool woken = false;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events.at(static_cast<size_t>(i));
    if (event.data.fd == waker_) {
      take_wake();
      woken = true;
      continue;
    }
    // What an earlier one of these made the library close is unknown to it, and passed over.
    int running = 0;
    curl_multi_socket_action(multi_, event.data.fd, readiness(event.events), &running);
  }
  return woken;
}

void CurlLoop::run_due() {
  if (!due_ || (*due_ != Instant::min() && *due_ > MonotonicClock::now())) return;
  due_.reset();
  int running = 0;
  curl_multi_socket_action(multi_, CURL_SOCKET_TIMEOUT, 0, &running);
  if (due_) return;
  // The library says when it is due only if that changed. By its own clock, which stands while the
  // machine sleeps, this may have been too early: then it is still waiting for the same moment.
  long milliseconds = -1;
  curl_multi_timeout(multi_, &milliseconds);
  set_due(milliseconds);
}

const CURLMsg* CurlLoop::next_finished() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
    if (message->msg == CURLMSG_DONE) return message;
  }
  return nullptr;
}

void CurlLoop::wake() {
  if (woken_.exchange(true)) return;
  const uint64_t one = 1;
  CHECK(write(waker_, &one, sizeof(one)) == sizeof(one));
}

void CurlLoop::take_wake() {
  uint64_t count = 0;
  CHECK(read(waker_, &count, sizeof(count)) == sizeof(count));
  // After the read: whoever wakes from here on writes again, and what was put before is seen.
  woken_.exchange(false);
}

}  // namespace phalanx::kube
