#include "core/quota_holders.h"

#include <algorithm>

#include "core/names.h"

namespace phalanx::core {
namespace {

Time reserved_since(const State& state, const WorkloadState& workload) {
  const api::Condition* reserved =
      api::find_condition(workload.object.conditions, names::kQuotaReserved);
  // An admission that is on its way is the youngest there is.
  return reserved == nullptr || !reserved->holds ? state.now : reserved->changed;
}

// Finds names in a map that come in the order of the map, without a search for each.
template <typename Value>
class NextOf {
 public:
  explicit NextOf(const std::map<std::string, Value>& map) : map_(map), next_(map.begin()) {}

  // nullptr if it is not there.
  const Value* find(const std::string& name) {
    if (next_ == map_.end() || next_->first != name) next_ = map_.lower_bound(name);
    if (next_ == map_.end() || next_->first != name) return nullptr;
    return &(next_++)->second;
  }

 private:
  const std::map<std::string, Value>& map_;
  std::map<std::string, Value>::const_iterator next_;
};

}  // namespace

std::vector<quota::Holder> quota_holders(const State& state, const ClusterView& view,
                                         quota::MemberId queue, bool everybody) {
  std::vector<quota::Holder> holders;
  const quota::QuotaTree& tree = state.ledger.tree();
  const quota::MemberId root = tree.root(queue);
  // All of these are in the order of names: mostly the next one is the one.
  NextOf workloads(state.workloads);
  NextOf holdings(state.holdings);
  const std::string* queue_name = nullptr;
  quota::MemberId its_queue;
  for (const auto& [name, booking] : state.ledger.bookings()) {
    if (queue_name == nullptr || *queue_name != booking.reservation.cluster_queue) {
      queue_name = &booking.reservation.cluster_queue;
      its_queue = tree.queue(*queue_name);
    }
    if (!its_queue.valid() || view.leaves(name) || state.immovable.contains(name)) continue;
    if (!everybody && tree.root(its_queue) != root) continue;
    const WorkloadState* workload = workloads.find(name);
    if (workload == nullptr || workload->object.finished) continue;
    const Holding* holding = holdings.find(name);
    const bool in_the_way =
        holding != nullptr && std::ranges::any_of(holding->pod_sets, [](const auto& held) {
          return held.assignment.has_value();
        });
    holders.push_back({name, its_queue, workload->priority, workload->object.meta.created,
                       reserved_since(state, *workload), booking.amounts, in_the_way});
  }
  return holders;
}

}  // namespace phalanx::core
