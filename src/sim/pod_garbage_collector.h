// Removes pods that no kubelet will ever end: those bound to a node that does not exist (any more),
// after a while in which it may come back, and those being deleted on a node that is lost and
// tainted node.kubernetes.io/out-of-service. Pods that have ended are kept.
//
// The while begins anew when the collector is restarted, as in Kubernetes.
//
// Cost: a change costs its pod; a node that goes or is taken out of service costs its pods.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/component.h"
#include "sim/informer.h"
#include "sim/timers.h"

namespace phalanx::sim {

struct PodGarbageCollectorOptions {
  Duration node_gone_for = std::chrono::seconds(40);
};

class PodGarbageCollector : public Component {
 public:
  explicit PodGarbageCollector(ApiServer& server, PodGarbageCollectorOptions options = {});

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return timers_.next(); }

 private:
  void observe_pod(const Change& change);
  void sync(const api::ObjectKey& key);
  void remove(const api::ObjectKey& key, const json::value& pod, const std::string& message);

  ApiServer& server_;
  PodGarbageCollectorOptions options_;
  Informer informer_;
  Timers timers_;
  std::map<std::string, std::set<api::ObjectKey>> pods_on_;
  std::map<std::string, Time> gone_since_;  // nodes that pods are bound to but that do not exist
};

}  // namespace phalanx::sim
