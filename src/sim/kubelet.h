// The kubelets of all nodes: run the pods that are bound to them, by the clock.
//
// A pod of a living node is taken on at once (status.startTime), runs after a start delay, and ends
// when its annotation says so:
//
//   phalanx.dev/run-for: 90s            ends after this time; without it the option's default
//   phalanx.dev/exit-code: "1"          how it ends; other than 0 is a failure
//   phalanx.dev/terminates-after: 5s    how long it takes to end when it is deleted
//
// A pod whose annotations cannot be read fails with the reason InvalidAnnotation.
//
// A pod that ends is started again if its restartPolicy asks for it, with the growing delay of
// Kubernetes. A kubelet takes on only what fits its node's allocatable next to the pods it runs; it
// fails anything else with the reason OutOf<resource>. This is where over-commitment shows.
//
// A node lives while it is Ready and its annotation phalanx.dev/kubelet is absent. Pods of any
// other node stay as they are, and go on when it is back. The time that passed meanwhile counts:
// containers do not stop because their kubelet is not heard of.
//
// All that is remembered is in the pods' status, so that a restart loses nothing.
//
// Cost: a change costs the pod or node that changed; a node that comes back costs its pods.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "sim/component.h"
#include "sim/informer.h"
#include "sim/pod_resources.h"
#include "sim/timers.h"

namespace phalanx::sim {

inline constexpr std::string_view kRunForAnnotation = "phalanx.dev/run-for";
inline constexpr std::string_view kExitCodeAnnotation = "phalanx.dev/exit-code";
inline constexpr std::string_view kTerminatesAfterAnnotation = "phalanx.dev/terminates-after";

// What is wrong with the annotations of a pod or pod template that decide how it runs; "" if
// nothing is.
std::string problem_of_run_annotations(const json::value& pod);

struct KubeletOptions {
  Duration start_delay = std::chrono::seconds(1);
  std::optional<Duration> run_for = std::nullopt;  // nullopt: until somebody ends it
  Duration terminates_after = std::chrono::seconds(1);
};

class Kubelets : public Component {
 public:
  explicit Kubelets(ApiServer& server, KubeletOptions options = {});

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return timers_.next(); }

 private:
  enum class Stage : uint8_t { kNew, kStarting, kRunning, kBackingOff, kTerminating, kEnded };

  struct PodRecord {
    std::string uid;
    std::string node;
    api::ResourceAmounts demand;
    std::string created;  // creationTimestamp, which sorts as text
    Stage stage = Stage::kNew;
    Time since;            // when the stage began
    bool counted = false;  // in its node's load
  };
  struct NodeRecord {
    bool alive = false;
    NodeLoad load;
    std::set<api::ObjectKey> pods;
  };

  void observe_node(const Change& change, std::set<api::ObjectKey>& affected);
  void observe_pod(const Change& change);
  void forget(const api::ObjectKey& key);
  static Stage stage_of(const json::value& pod);
  static std::optional<Time> stage_began(const json::value& pod, Stage stage);

  void act(const api::ObjectKey& key);
  void admit(const api::ObjectKey& key, const json::value& pod, PodRecord& record);
  void finish_run(const api::ObjectKey& key, const json::value& pod);
  void terminate(const api::ObjectKey& key, const json::value& pod);
  // Whether `delay` has passed since the stage began; sets the alarm if not.
  bool due(const api::ObjectKey& key, const PodRecord& record, Duration delay);
  // Writes the status. A refusal is tried again later.
  bool write(const api::ObjectKey& key, const json::value& pod, json::object status);

  ApiServer& server_;
  KubeletOptions options_;
  Informer informer_;
  Timers timers_;
  std::map<std::string, NodeRecord> nodes_;  // also of nodes that are gone but still have pods
  std::map<api::ObjectKey, PodRecord> pods_;
};

}  // namespace phalanx::sim
