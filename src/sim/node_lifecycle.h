// The life of nodes: what their kubelets report, the taints that follow from it, and the eviction
// of pods from nodes that are lost.
//
// A kubelet lives unless an annotation on its Node says otherwise; in this way a timeline of
// failures goes through the API server like everything else, and is saved with it:
//
//   phalanx.dev/kubelet: down        not heard of any more. After the grace period Ready becomes
//                                    Unknown, with the taints node.kubernetes.io/unreachable
//   phalanx.dev/kubelet: not-ready   reports Ready=False at once, with the taints
//                                    node.kubernetes.io/not-ready
//   (removed)                        Ready=True again; the taints go
//
// A new Node is Ready at once; its kubelet gives it the hostname label and what is missing of
// capacity and allocatable. A Ready condition that somebody else wrote stays as it is, and the
// taints follow it. Heartbeats are not written: nothing is, unless something changes.
//
// NoExecute taints evict, counted from their timeAdded, which is written if it is missing: a pod
// that does not tolerate one is deleted, one that tolerates it for some seconds is deleted then.
// Every pod tolerates not-ready and unreachable for 300 s unless it says something else, as the API
// server's admission would have written.
//
// Cost: a change costs the node and, if it has NoExecute taints, its pods.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/component.h"
#include "sim/informer.h"
#include "sim/timers.h"

namespace phalanx::sim {

inline constexpr std::string_view kKubeletAnnotation = "phalanx.dev/kubelet";
// Since when the kubelet is down; written here, so that the grace period survives a restart.
inline constexpr std::string_view kKubeletStoppedAnnotation = "phalanx.dev/kubelet-stopped-at";

struct NodeLifecycleOptions {
  Duration grace_period = std::chrono::seconds(40);
};

class NodeLifecycle : public Component {
 public:
  explicit NodeLifecycle(ApiServer& server, NodeLifecycleOptions options = {});

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return timers_.next(); }

 private:
  void sync_node(const api::ObjectKey& key);
  // Each of these brings one part of the node up to date, with at most one write. They return
  // whether there was one: what follows then waits for the node's new version.
  bool note_stop(const api::ObjectKey& key, const json::value& node);
  bool label(const api::ObjectKey& key, const json::value& node);
  bool report(const api::ObjectKey& key, const json::value& node);
  bool taint(const api::ObjectKey& key, const json::value& node);

  void sync_pod(const api::ObjectKey& key);
  // A refused write is tried again.
  void retry_unless(const ApiResult<void>& written, const api::ObjectKey& key);

  ApiServer& server_;
  NodeLifecycleOptions options_;
  Informer informer_;
  Timers timers_;
  std::map<std::string, std::set<api::ObjectKey>> pods_on_;
};

enum class KubeletState : uint8_t { kAlive, kDown, kNotReady };
// What the node's annotation says.
KubeletState kubelet_state(const json::value& node);

}  // namespace phalanx::sim
