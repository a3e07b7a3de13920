// The core on a Kubernetes cluster: the process `phalanx manager`.
//
// Three kinds of threads. One decides: it alone touches the core, in batches, and never waits for
// the network. One talks to the API server (manager/api_side.h). Servers for webhooks, health and
// metrics have theirs, and ask the deciding thread what they need to know.
//
// All truth is in the API server, so there is one answer to everything that goes wrong: begin anew.
// A replica that lost its lease, or whose configuration changed, throws its core away and lists
// everything again; meanwhile the old state goes on answering webhooks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mailbox.h"
#include "core/core.h"
#include "kube/cluster_access.h"
#include "manager/api_side.h"
#include "manager/endpoints.h"
#include "manager/meters.h"
#include "manager/settings.h"
#include "manager/task_timer.h"
#include "manager/workload_meter.h"

namespace phalanx::manager {

struct ManagerOptions {
  std::string configuration_file;  // empty: none
  Overrides overrides;
  std::string identity;  // empty: the host's name; something random is added to either
  std::string journal;   // a file that every decision is appended to; empty: none
  // At the end: how long API servers have to hang up by themselves.
  Duration drain_timeout = std::chrono::seconds(1);
};

class Manager {
 public:
  // Reads the settings; what is wrong with them is told before anything is started.
  static Result<std::unique_ptr<Manager>> make(kube::ClusterAccess access, ManagerOptions options);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // Until stop() was called. `ready` is called once, when it knows everything and listens.
  Result<void> run(const std::function<void()>& ready);
  // From any thread.
  void stop();

 private:
  Manager(kube::ClusterAccess access, ManagerOptions options, Settings settings,
          std::string configuration_text);

  void begin_life();
  void measure(const core::Event& event);
  [[nodiscard]] Standing standing() const;
  [[nodiscard]] Role role() const;
  void take_in(Message& message);
  void all_listed();
  void become_ready();
  void take_over(bool doubtful);
  void lead();
  void step();
  void look_after_configuration();
  void begin_to_leave(std::optional<Error> why);
  void retired();
  // Whether nobody needs this replica any more.
  [[nodiscard]] bool has_left();
  void close_endpoints();
  [[nodiscard]] Duration until_next() const;
  // The core that is asked: the new one as soon as it knows everything.
  [[nodiscard]] core::Core& informed();

  const kube::ClusterAccess access_;
  const ManagerOptions options_;
  Settings settings_;
  std::string configuration_text_;
  const core::Adapters adapters_;
  Mailbox<Message> mailbox_;
  Meters meters_;
  WorkloadMeter workload_meter_;
  TaskTimer task_timer_;
  std::unique_ptr<ApiSide> api_;
  std::unique_ptr<Endpoints> endpoints_;

  uint64_t life_ = 0;
  uint64_t term_ = 0;  // how often it was elected
  std::unique_ptr<core::Core> core_;
  std::unique_ptr<core::Core> previous_;  // answers until the new one knows everything
  bool listed_ = false;
  bool listening_ = false;
  bool leads_ = false;
  bool fresh_ = false;  // it knows what others have promised until it began to lead
  bool ever_listed_ = false;
  bool ever_ready_ = false;
  Time now_{};
  std::vector<core::Event> events_;  // for the next step
  std::optional<kube::Instant> earliest_;
  std::optional<Time> wake_at_;
  kube::Instant next_look_{};
  std::function<void()> on_ready_;
  std::optional<kube::Instant> leaving_since_;
  kube::Instant quiet_since_{};  // nobody new has called the webhooks
  uint64_t accepted_ = 0;        // connections to them, until then
  bool reloading_ = false;       // as soon as its writes have ended
  bool hurries_ = false;         // nobody needs it: it leaves at once
  bool retired_ = false;         // writes nothing, and is no candidate
  std::optional<Error> failure_;
  int journal_ = -1;
};

}  // namespace phalanx::manager
