// The credentials of requests: always current ones.
//
// Some last forever, some are in a file that somebody renews (service accounts), some come from a
// program (exec plugins: cloud providers). Whoever sends a request asks for them; if they have to
// be fetched first the request waits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "kube/cluster_access.h"
#include "kube/transport.h"

namespace phalanx::kube {

struct Credentials {
  std::string authorization;  // the header's value; empty: none
  std::string certificate;    // PEM; empty: none
  std::string key;
  std::optional<Time> expires;
};

// What an exec plugin printed.
Result<Credentials> read_exec_credential(const std::string& text, const ExecPlugin& plugin);
// Runs the plugin to its end; takes at most a minute. The error names it and says what to do.
Result<Credentials> run_exec_plugin(const ExecPlugin& plugin, const ClusterAccess& access);

class Authenticator {
 public:
  using Post = std::function<void(std::function<void()>)>;  // onto the thread of this object
  using Ready = std::function<void(const Result<Credentials>&)>;

  Authenticator(ClusterAccess access, Post post);
  ~Authenticator();

  // Calls back at once if there are some that have not run out, else when they have come. New ones
  // are fetched a while before that: nobody waits for them, and leases are renewed meanwhile.
  void credentials(Time wall_now, Instant now, Ready ready);
  // The server did not believe in these: the next ones are fetched anew.
  void rejected();

 private:
  // Unless that is being done.
  void fetch(Instant now);
  void fetched(Result<Credentials> result);
  [[nodiscard]] bool valid(Time wall_now) const;
  [[nodiscard]] bool current(Time wall_now, Instant now) const;

  const ClusterAccess access_;
  const Post post_;
  std::optional<Result<Credentials>> latest_;
  Instant read_at_{};
  bool fetching_ = false;
  std::vector<Ready> waiting_;
  std::jthread runner_;
};

}  // namespace phalanx::kube
