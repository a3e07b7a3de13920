#include "sim/default_scheduler.h"

#include <utility>
#include <vector>

#include "sim/object_fields.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kName = "default-scheduler";
constexpr Duration kRetryDelay = std::chrono::seconds(1);

bool waits_for_us(const json::value& pod) {
  return string_at(pod, {"spec", "nodeName"}).empty() && !is_deleted(pod) && !is_terminal(pod) &&
         text_or(pod, {"spec", "schedulerName"}, kName) == kName &&
         list_field(pod, {"spec", "schedulingGates"}).empty();
}

}  // namespace

DefaultScheduler::DefaultScheduler(ApiServer& server)
    : server_(server), informer_(server, {api::Kind::kNode, api::Kind::kPod}) {}

bool DefaultScheduler::react() {
  const std::vector<Change> changes = informer_.poll();
  for (const Change& change : changes) {
    if (change.key.kind == api::Kind::kNode) {
      observe_node(change);
    } else {
      observe_booking(change);
      observe_waiting(change);
    }
  }
  const bool retries = retry_at_ && *retry_at_ <= server_.clock().now();
  if (retries) retry_at_.reset();
  const bool everybody = std::exchange(room_may_have_grown_, false) || retries;
  std::set<Turn> fresh = std::exchange(fresh_, {});
  schedule(everybody ? queue_ : fresh);
  return !changes.empty() || retries;
}

void DefaultScheduler::observe_node(const Change& change) {
  room_may_have_grown_ = true;
  NodeRecord& record = nodes_[change.key.name];
  if (record.exists) {
    const std::string hostname = record.node.node.labels[std::string(api::kHostnameLabel)];
    by_hostname_[hostname].erase(change.key.name);
    --node_count_;
  }
  record.exists = change.after != nullptr;
  if (!record.exists) {
    if (record.node.load.used().empty()) nodes_.erase(change.key.name);
    return;
  }
  ++node_count_;
  record.node.node = schedulable_node(*change.after);
  record.node.load.set_allocatable(record.node.node.allocatable);
  by_hostname_[record.node.node.labels[std::string(api::kHostnameLabel)]].insert(change.key.name);
}

void DefaultScheduler::observe_booking(const Change& change) {
  Booking booking;
  if (change.after != nullptr && !is_terminal(*change.after)) {
    booking.node = string_at(*change.after, {"spec", "nodeName"});
    booking.uid = uid_of(*change.after);
  }
  const auto known = bookings_.find(change.key);
  if (known != bookings_.end()) {
    // Requests of a bound pod do not change.
    if (known->second.uid == booking.uid && known->second.node == booking.node) return;
    nodes_[known->second.node].node.load.remove(known->second.demand);
    bookings_.erase(known);
    room_may_have_grown_ = true;
  }
  if (booking.node.empty()) return;
  booking.demand = pod_demand(*change.after);
  book(change.key, std::move(booking));
}

void DefaultScheduler::book(const api::ObjectKey& key, Booking booking) {
  nodes_[booking.node].node.load.add(booking.demand);
  bookings_.insert_or_assign(key, std::move(booking));
}

void DefaultScheduler::observe_waiting(const Change& change) {
  if (change.after == nullptr || !waits_for_us(*change.after)) return forget_waiting(change.key);
  const json::value& pod = *change.after;
  Waiting waiting{std::string(uid_of(pod)),
                  {-integer_at(pod, {"spec", "priority"}).value_or(0),
                   std::string(string_at(pod, {"metadata", "creationTimestamp"})), change.key},
                  shape_of(pod)};
  const auto known = waiting_.find(change.key);
  // A status, for example our own "no", is nothing to decide on again.
  if (known != waiting_.end() && known->second.uid == waiting.uid &&
      known->second.turn == waiting.turn && known->second.shape == waiting.shape) {
    return;
  }
  forget_waiting(change.key);
  queue_.insert(waiting.turn);
  fresh_.insert(waiting.turn);
  waiting_.emplace(change.key, std::move(waiting));
}

void DefaultScheduler::forget_waiting(const api::ObjectKey& key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  queue_.erase(found->second.turn);
  fresh_.erase(found->second.turn);
  waiting_.erase(found);
}

void DefaultScheduler::schedule(const std::set<Turn>& turns) {
  // Within a pass room only shrinks, so what fits nowhere stays so for every pod of that shape.
  std::map<PodShape, std::string> hopeless;
  const std::vector<Turn> order(turns.begin(), turns.end());
  for (const Turn& turn : order) {
    const api::ObjectKey& key = std::get<api::ObjectKey>(turn);
    const Waiting& waiting = waiting_.at(key);
    if (const auto known = hopeless.find(waiting.shape); known != hopeless.end()) {
      refuse(key, known->second);
      continue;
    }
    std::string message;
    const NodeRecord* node = choose(waiting.shape, message);
    if (node == nullptr) {
      refuse(key, message);
      hopeless.emplace(waiting.shape, std::move(message));
      continue;
    }
    if (!server_.bind(key, node->node.node.name)) {
      retry_at_ = server_.clock().now() + kRetryDelay;
      continue;
    }
    book(key, {waiting.uid, node->node.node.name, waiting.shape.demand});
    forget_waiting(key);
  }
}

const DefaultScheduler::NodeRecord* DefaultScheduler::choose(const PodShape& shape,
                                                             std::string& message) const {
  const NodeRecord* best = nullptr;
  int64_t best_fullness = 0;
  std::map<std::string, size_t> reasons;
  const auto consider = [&](const NodeRecord& record) {
    if (!record.exists) return;
    const std::vector<std::string> against = reasons_against(shape, record.node);
    for (const std::string& reason : against) ++reasons[reason];
    if (!against.empty()) return;
    const int64_t fullness = record.node.load.fullness_with(shape.demand);
    if (best != nullptr && fullness >= best_fullness) return;
    best = &record;
    best_fullness = fullness;
  };
  if (const auto hostname = shape.node_selector.find(std::string(api::kHostnameLabel));
      hostname != shape.node_selector.end()) {
    size_t considered = 0;
    if (const auto named = by_hostname_.find(hostname->second); named != by_hostname_.end()) {
      considered = named->second.size();
      for (const std::string& name : named->second) consider(nodes_.at(name));
    }
    const size_t others = node_count_ - considered;
    if (others > 0) reasons[std::string(kNoSelectorMatch)] += others;
  } else {
    for (const auto& [name, record] : nodes_) consider(record);
  }
  if (best == nullptr) message = unschedulable_message(node_count_, reasons);
  return best;
}

void DefaultScheduler::refuse(const api::ObjectKey& key, const std::string& message) {
  const Stored pod = informer_.find(key);
  json::object status = status_of(*pod);
  set_condition(status, {"PodScheduled", "False", "Unschedulable", message}, server_.clock().now());
  if (!write_status(server_, *pod, std::move(status))) {
    retry_at_ = server_.clock().now() + kRetryDelay;
  }
}

}  // namespace phalanx::sim
