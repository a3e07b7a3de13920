// Drives the transfers of libcurl: a turn costs what the sockets cost that are ready, however many
// others are open and silent (watches are, nearly always).
//
// The library says which sockets it waits for and when it wants to be called next; the sockets are
// kept in an epoll set, together with one that other threads wake the loop with.
#pragma once

#include <curl/curl.h>

#include <atomic>
#include <optional>

#include "kube/transport.h"

namespace phalanx::kube {

class CurlLoop {
 public:
  // Connections without a transfer are kept up to this number.
  explicit CurlLoop(long kept_connections);
  ~CurlLoop();
  CurlLoop(const CurlLoop&) = delete;
  CurlLoop& operator=(const CurlLoop&) = delete;

  // A transfer that is added starts in the next run_due().
  void add(CURL* handle);
  void remove(CURL* handle);

  // Waits until a socket is ready, something is due or somebody woke it, and works on the sockets.
  // Whether somebody woke it.
  bool wait(Duration at_most);
  // Starts what was added, and ends what took too long.
  void run_due();
  // A transfer that came to its end, each once, with its result; nullptr: no more.
  const CURLMsg* next_finished();

  // From any thread.
  void wake();

 private:
  static int socket_changed(CURL* handle, curl_socket_t socket, int wanted, void* self,
                            void* of_socket);
  static int due_changed(CURLM* multi, long milliseconds, void* self);

  void set_due(long milliseconds);
  void take_wake();

  CURLM* multi_ = nullptr;
  int ready_ = -1;                   // the epoll set
  int waker_ = -1;                   // an eventfd
  std::atomic<bool> woken_ = false;  // the eventfd is readable, or about to be
  std::optional<Instant> due_;       // when the library wants to be called without any socket
};

}  // namespace phalanx::kube
