// The part of Core that takes Nodes in, and tells those whom their health concerns.
#include "core/core.h"
#include "core/node_health.h"

namespace phalanx::core {

void Core::put(const api::ObjectKey& key, Node body) {
  const std::string before = state_.account.host_of(key.name);
  const bool was_there = state_.account.has_host(before);
  const auto result = state_.account.put_node(body.spec, body.meta.created);
  const std::string host = state_.account.host_of(key.name);
  if (before != host) follow_health(before);
  if (before != host || was_there != state_.account.has_host(before)) {
    node_changed(before, key.name);
  }
  // One that is left out says nothing of the node whose hostname it has.
  if (result && (state_.health.put(host, trouble_of(body.spec)) || before != host)) {
    node_changed(host, key.name);
  }
  if (result) {
    left_out_.erase(key.name);
    return;
  }
  const std::string& why = result.error().message;
  if (std::exchange(left_out_[key.name], why) == why) return;
  journal_.record(state_.now,
                  {"leave-out-node", key, {{key.text(), body.meta.resource_version}}, why, {}});
  outbox_.notify({key, body.meta.uid, true, "LeftOut", why});
}

void Core::remove_node(const std::string& name) {
  const std::string host = state_.account.host_of(name);
  state_.account.remove_node(name);
  follow_health(host);
  node_changed(host, name);
}

// Another node may have had the same hostname, and counts now.
void Core::follow_health(const std::string& host) {
  const auto other = state_.account.node_with_host(host);
  if (other) {
    state_.health.put(host, trouble_of(*other));
  } else {
    state_.health.remove(host);
  }
}

void Core::node_changed(const std::string& host, const std::string& node) {
  if (!synced_) return;  // until then nobody knows who is placed where
  for (const std::string& workload : state_.host_changed(host)) {
    workload_changed(workload);
    to_ungate_.insert(workload);
  }
  // Whether pods that are leaving are waited for depends on their node, too.
  for (const std::string& workload : state_.account.workloads_with_pods_on(node)) {
    workload_changed(workload);
  }
}

}  // namespace phalanx::core
