// The default scheduler of the embedded cluster: binds the pods that nobody else is asked to place.
//
// A pod is looked at if it is unbound, has no scheduling gate, is not being deleted, and names no
// other scheduler. Higher spec.priority first, then the older one, then by name. It goes to the
// node that is least full afterwards, then by name. A pod that fits nowhere says why in its
// condition PodScheduled, and is tried again when a node changes or a pod makes room. No
// preemption; no affinity between pods.
//
// Cost: a pass costs the nodes for each distinct shape of pending pod that fits nowhere, and for
// each pod that is bound; a pod that names its node by hostname costs that node only. Usage of
// nodes is kept by difference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "sim/component.h"
#include "sim/informer.h"
#include "sim/node_fit.h"

namespace phalanx::sim {

class DefaultScheduler : public Component {
 public:
  explicit DefaultScheduler(ApiServer& server);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override { return retry_at_; }

 private:
  // In the order of the queue.
  using Turn = std::tuple<int64_t, std::string, api::ObjectKey>;  // -priority, creation, key

  struct Waiting {
    std::string uid;
    Turn turn;
    PodShape shape;
  };
  struct Booking {
    std::string uid;
    std::string node;
    api::ResourceAmounts demand;
  };
  struct NodeRecord {
    SchedulableNode node;
    bool exists = false;
  };

  void observe_node(const Change& change);
  void observe_booking(const Change& change);
  void observe_waiting(const Change& change);
  void book(const api::ObjectKey& key, Booking booking);
  void forget_waiting(const api::ObjectKey& key);

  void schedule(const std::set<Turn>& turns);
  // The node for the pod, or nullptr; then `message` says why.
  const NodeRecord* choose(const PodShape& shape, std::string& message) const;
  void refuse(const api::ObjectKey& key, const std::string& message);

  ApiServer& server_;
  Informer informer_;
  std::map<std::string, NodeRecord> nodes_;  // also gone ones that still have pods
  size_t node_count_ = 0;
  std::map<std::string, std::set<std::string>> by_hostname_;  // label value to node names
  std::map<api::ObjectKey, Booking> bookings_;
  std::map<api::ObjectKey, Waiting> waiting_;
  std::set<Turn> queue_;  // everybody who waits
  std::set<Turn> fresh_;  // those not tried since they changed
  bool room_may_have_grown_ = false;
  std::optional<Time> retry_at_;
};

}  // namespace phalanx::sim
