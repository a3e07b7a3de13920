// A stand-in for a cluster autoscaler: answers ProvisioningRequests with nodes of the flavor
// `scaled`, sometimes late, sometimes with too few and sometimes not at all, and takes back what
// nobody uses.
//
// Every request gets a block of its own with racks of ten hosts. What it remembers it keeps in
// memory: it lives as long as the soak.
#pragma once

#include <map>
#include <set>
#include <string>

#include "base/random.h"
#include "sim/component.h"
#include "sim/informer.h"

namespace phalanx::cli {

class SoakAutoscaler : public sim::Component {
 public:
  SoakAutoscaler(sim::ApiServer& server, uint64_t seed);

  bool react() override;
  [[nodiscard]] std::optional<Time> wake_at() const override;

  // From now on every request is answered, in time and in full, and nothing is revoked.
  void be_reliable() { reliable_ = true; }
  [[nodiscard]] const std::map<std::string, int64_t>& counts() const { return counts_; }

 private:
  struct Request {
    std::string uid = {};
    std::optional<Time> answer_at = {};
    std::optional<Time> revoke_at = {};
    std::string block = {};  // of its nodes; empty: they were not made
  };
  struct Node {
    int64_t pods = 0;
    Time empty_since = {};
  };

  void observe_request(const sim::Change& change);
  void observe_pod(const sim::Change& change);
  void observe_node(const sim::Change& change);
  void answer(const api::ObjectKey& key, Request& request);
  void provide(const api::ObjectKey& key, Request& request, int64_t nodes, bool late);
  void revoke(const api::ObjectKey& key, Request& request);
  void say(const api::ObjectKey& key, std::string_view type, std::string_view message,
           const std::string& pool = "");
  [[nodiscard]] int64_t nodes_for(const json::value& request) const;
  void make_node(const std::string& block, int64_t index, bool not_ready);
  bool wake_nodes();
  bool remove_idle();
  [[nodiscard]] bool chance(uint64_t percent) { return random_.below(100) < percent; }

  sim::ApiServer& server_;
  Random random_;
  sim::Informer informer_;
  bool reliable_ = false;
  uint64_t blocks_ = 0;
  std::map<api::ObjectKey, Request> requests_;
  std::map<std::string, Node> nodes_;  // those of the flavor scaled
  std::map<std::string, Time> late_;   // nodes, and when they become ready
  std::map<std::string, int64_t> counts_;
};

}  // namespace phalanx::cli
