#include "cli/simulate_history.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/workload.h"
#include "base/quantity.h"
#include "cli/simulate_placement.h"
#include "core/names.h"
#include "sim/document.h"
#include "sim/job_controller.h"
#include "sim/object_fields.h"

namespace phalanx::cli {
namespace {

using core::full_name;
using sim::find_condition;

bool true_condition(const json::object* condition) {
  return condition != nullptr && string_field(*condition, "status") == "True";
}

std::string counted(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

bool counts(const json::value& node) {
  return sim::condition_is_true(node, "Ready") && !sim::is_deleted(node);
}

api::ResourceAmounts allocatable_of(const json::value& node) {
  DecodeStatus status;
  return api::read_resources(JsonReader(&node, "", status).object("status"), "allocatable");
}

void count_pod(const json::value& pod, int64_t times, NodeUse& use) {
  const std::string node(string_at(pod, {"spec", "nodeName"}));
  if (!node.empty() && !sim::is_terminal(pod)) use.add_pod(node, sim::pod_demand(pod), times);
}

// Those of a Workload that is in no queue until somebody repairs something.
bool sets_aside(std::string_view reason) {
  return reason == core::names::kInadmissible || reason == core::names::kMisconfigured ||
         reason == core::names::kDeactivated || reason == core::names::kClusterQueueStopped ||
         reason == core::names::kLocalQueueStopped;
}

}  // namespace

std::string_view phase_name(WorkloadPhase phase) {
  switch (phase) {
    case WorkloadPhase::kWaiting:
      return "waits";
    case WorkloadPhase::kAdmitted:
      return "admitted";
    case WorkloadPhase::kRunning:
      return "running";
    case WorkloadPhase::kFinished:
      return "finished";
    case WorkloadPhase::kFailed:
      return "failed";
    case WorkloadPhase::kDeleted:
      return "deleted";
  }
  return "";
}

Duration WorkloadRecord::waited_until(Time now) const {
  return phase == WorkloadPhase::kWaiting ? waited + (now - since) : waited;
}

Duration WorkloadRecord::ran_until(Time now) const {
  return holds() ? ran + (now - since) : ran;
}

History::History(sim::EmbeddedCluster& cluster, HistoryOptions options)
    : cluster_(cluster),
      options_(options),
      informer_(cluster.server(),
                {api::Kind::kNode, api::Kind::kPod, api::Kind::kWorkload, api::Kind::kEvent}),
      start_(cluster.now()),
      last_(start_) {
  look_back();
}

std::vector<const WorkloadRecord*> History::workloads() const {
  std::vector<const Entry*> entries;
  for (const auto& [name, entry] : workloads_) entries.push_back(&entry);
  std::ranges::sort(entries, {}, &Entry::number);
  std::vector<const WorkloadRecord*> records;
  for (const Entry* entry : entries) records.push_back(&entry->record);
  return records;
}

const WorkloadRecord* History::find(const std::string& workload) const {
  const auto name = present_.find(workload);
  return name == present_.end() ? nullptr : &workloads_.at(name->second).record;
}

void History::tell(std::string_view what, const std::string& object, std::string text) {
  tell_at(cluster_.now(), what, object, std::move(text));
}

void History::tell_at(Time at, std::string_view what, const std::string& object, std::string text) {
  ++event_count_;
  events_.push_back({at, what, object, std::move(text)});
  if (events_.size() > options_.most_events) events_.pop_front();
}

void History::pass_time() {
  gauges_.pass(cluster_.now() - last_);
  last_ = cluster_.now();
}

void History::close() {
  tell_losses();
  pass_time();
}

// What is seen now holds from now on; what was seen last held until now.
bool History::react() {
  if (cluster_.now() > last_) tell_losses();
  pass_time();
  for (const sim::Change& change : informer_.poll()) {
    if (change.key.kind == api::Kind::kNode) observe_node(change);
    if (change.key.kind == api::Kind::kPod) observe_pod(change);
    if (change.key.kind == api::Kind::kWorkload) observe_workload(change);
    if (change.key.kind == api::Kind::kEvent) observe_trouble(change);
  }
  count_running();
  // Even if nothing changed: the core may have heard of a change later than we did.
  observe_usage();
  if (first_) {
    const auto nodes = static_cast<int64_t>(cluster_.server().list(api::Kind::kNode).items.size());
    if (nodes > 0) tell("node", counted(nodes, "node"), nodes == 1 ? "is there" : "are there");
    place_restored();
  }
  first_ = false;
  return false;
}

void History::enter(WorkloadRecord& record, WorkloadPhase phase, Time at) {
  if (record.phase == WorkloadPhase::kWaiting) record.waited += at - record.since;
  if (record.holds()) record.ran += at - record.since;
  record.phase = phase;
  record.since = at;
}

History::Entry& History::add_entry(const sim::Change& change) {
  const json::value& document = *change.after;
  DecodeStatus status;
  const api::Workload workload = api::read_workload(JsonReader(&document, "", status));
  const std::string name = full_name(change.key);
  const std::string key = name + " " + std::string(sim::uid_of(document));
  Entry entry;
  entry.number = ++numbers_;
  WorkloadRecord& record = entry.record;
  record.workload = name;
  const auto owner = sim::controller_of(document);
  record.name = owner ? change.key.namespace_ + "/" + owner->name : name;
  record.queue = workload.queue_name;
  for (const api::WorkloadPodSet& pod_set : workload.pod_sets) record.pods += pod_set.count;
  record.needed = record.pods;
  record.priority = workload.priority;
  record.submitted = cluster_.now();
  record.since = cluster_.now();
  present_[name] = key;
  return workloads_[key] = std::move(entry);
}

void History::enqueue(const sim::Change& change) {
  const WorkloadRecord& record = add_entry(change).record;
  ++totals_.submitted;
  std::string text = record.queue.empty() ? "to no queue: " : fmt::format("to {}: ", record.queue);
  text += counted(record.pods, "pod");
  if (record.priority != 0) text += fmt::format(", priority {}", record.priority);
  tell("submitted", record.name, std::move(text));
}

void History::observe_workload(const sim::Change& change) {
  const bool gone = change.after == nullptr;
  const bool renewed = !gone && change.before != nullptr &&
                       sim::uid_of(*change.before) != sim::uid_of(*change.after);
  const std::string name = full_name(change.key);
  if (gone || renewed) {
    const auto found = present_.find(name);
    if (found == present_.end()) return;
    WorkloadRecord& record = workloads_.at(found->second).record;
    const bool was_over = record.over();
    if (!was_over) {
      enter(record, WorkloadPhase::kDeleted, cluster_.now());
      tell("deleted", record.name, "");
    }
    if (!options_.keep_all_workloads) workloads_.erase(found->second);
    present_.erase(found);
  }
  if (gone) return;
  if (!present_.contains(name)) enqueue(change);
  Entry& entry = workloads_.at(present_.at(name));
  const bool held = entry.record.holds() && !renewed && change.before != nullptr;
  observe_phase(entry, *change.after);
  if (held && entry.record.holds()) observe_move(entry.record, *change.before, *change.after);
}

// Nodes were replaced under it.
void History::observe_move(WorkloadRecord& record, const json::value& before,
                           const json::value& after) {
  if (same_value(find_at(before, {"status", "admission"}),
                 find_at(after, {"status", "admission"}))) {
    return;
  }
  DecodeStatus status;
  const api::Workload now = api::read_workload(JsonReader(&after, "", status));
  const std::string move = move_summary(api::read_workload(JsonReader(&before, "", status)), now);
  if (move.empty()) return;
  record.placement = placement_summary(cluster_.core().state(), now);
  tell("moved", record.name, move);
}

void History::observe_phase(Entry& entry, const json::value& workload) {
  WorkloadRecord& record = entry.record;
  if (record.over()) return;
  record.queue = string_at(workload, {"spec", "queueName"});
  record.priority = static_cast<int32_t>(integer_at(workload, {"spec", "priority"}).value_or(0));
  record.needed = record.pods - done_pods(workload);
  const bool admitted = true_condition(find_condition(workload, core::names::kAdmitted));
  const json::object* evicted = find_condition(workload, core::names::kEvicted);
  if (record.holds() && (!admitted || true_condition(evicted))) {
    evict(entry, true_condition(evicted) ? std::string(string_field(*evicted, "message")) : "");
  }
  if (record.phase == WorkloadPhase::kWaiting && admitted && !true_condition(evicted)) {
    admit(entry, workload);
  }
  const json::object* finished = find_condition(workload, core::names::kFinished);
  if (true_condition(finished)) return finish(entry, workload);
  const json::object* reserved = find_condition(workload, core::names::kQuotaReserved);
  if (record.phase != WorkloadPhase::kWaiting || reserved == nullptr || true_condition(reserved)) {
    return;
  }
  const std::string_view reason = string_field(*reserved, "reason");
  const std::string_view message = string_field(*reserved, "message");
  if (message.empty()) return;
  const bool is_news = record.reason != reason;
  record.reason = reason;
  record.message = message;
  if (is_news) tell(sets_aside(reason) ? "set aside" : "waits", record.name, record.message);
}

void History::admit(Entry& entry, const json::value& workload) {
  WorkloadRecord& record = entry.record;
  enter(record, WorkloadPhase::kAdmitted, cluster_.now());
  entry.whole = false;
  record.running = pods_.running(record.workload);
  record.trouble.clear();
  pods_.forget_loss(record.workload);
  record.cluster_queue = string_at(workload, {"status", "admission", "clusterQueue"});
  record.reason.clear();
  record.message.clear();
  DecodeStatus status;
  record.placement = placement_summary(cluster_.core().state(),
                                       api::read_workload(JsonReader(&workload, "", status)));
  ++totals_.admitted;
  totals_.waited += cluster_.now() - record.submitted;
  tell("admitted", record.name, record.placement);
  check_quota(record);
}

// Nobody may be admitted beyond what its queue has and may borrow. A quota that is lowered later is
// another matter.
void History::check_quota(const WorkloadRecord& record) {
  core::State& state = cluster_.core().state();
  quota::QuotaTree& tree = state.ledger.tree();
  const quota::MemberId queue = tree.queue(record.cluster_queue);
  const quota::Reservation* own = state.ledger.find(record.workload);
  if (!queue.valid() || own == nullptr) return;
  for (const auto& [what, amount] : own->usage) {
    if (amount <= 0) continue;
    const int64_t left = tree.available(queue, tree.id(what), quota::Book::kHeld);
    if (left >= 0) continue;
    faults_.push_back(fmt::format(
        "{}: {} was admitted, and ClusterQueue {} now holds {} of {} in flavor {}: {} more than "
        "it has and may borrow",
        format_time(cluster_.now()), record.name, record.cluster_queue,
        format_amount(what.resource, tree.usage(queue, tree.id(what), quota::Book::kHeld)),
        what.resource, what.flavor, format_amount(what.resource, -left)));
  }
}

void History::finish(Entry& entry, const json::value& workload) {
  WorkloadRecord& record = entry.record;
  const json::object* finished = find_condition(workload, core::names::kFinished);
  const bool failed = string_field(*finished, "reason") == core::names::kFailed;
  enter(record, failed ? WorkloadPhase::kFailed : WorkloadPhase::kFinished, cluster_.now());
  ++(failed ? totals_.failed : totals_.finished);
  record.message = string_field(*finished, "message");
  pods_.forget_loss(record.workload);
  tell(failed ? "failed" : "finished", record.name,
       fmt::format("after {}{}{}", format_duration(record.ran),
                   failed && !record.message.empty() ? ": " : "", failed ? record.message : ""));
}

void History::evict(Entry& entry, const std::string& message) {
  enter(entry.record, WorkloadPhase::kWaiting, cluster_.now());
  ++entry.record.evictions;
  ++totals_.evicted;
  entry.record.reason = "Evicted";
  entry.record.message = message;
  tell("evicted", entry.record.name, message);
}

void History::observe_pod(const sim::Change& change) {
  if (change.before != nullptr) count_pod(*change.before, -1, node_use_);
  pods_.observe_pod(change);
  if (change.after == nullptr) return;
  count_pod(*change.after, 1, node_use_);
  const std::string_view reason = string_at(*change.after, {"status", "reason"});
  const bool was_known =
      change.before != nullptr && string_at(*change.before, {"status", "reason"}) == reason;
  if (reason.starts_with("OutOf") && !was_known && !workload_of(*change.after).empty()) {
    faults_.push_back(
        fmt::format("{}: node {} is too full for pod {}: {}", format_time(cluster_.now()),
                    string_at(*change.after, {"spec", "nodeName"}), full_name(change.key), reason));
  }
}

// The Job controller says so when the API server refuses its pods.
void History::observe_trouble(const sim::Change& change) {
  if (change.after == nullptr) return;
  const json::value& event = *change.after;
  if (string_at(event, {"reason"}) != sim::kFailedCreate) return;
  const std::string job = fmt::format("{}/{}", string_at(event, {"involvedObject", "namespace"}),
                                      string_at(event, {"involvedObject", "name"}));
  for (const auto& [name, key] : present_) {
    WorkloadRecord& record = workloads_.at(key).record;
    if (record.name != job || !record.holds()) continue;
    record.trouble = string_at(event, {"message"});
    tell("stuck", record.name, record.trouble);
  }
}

void History::count_running() {
  for (const std::string& workload : pods_.take_changed()) {
    const auto found = present_.find(workload);
    if (found == present_.end()) {
      pods_.forget_loss(workload);
      continue;
    }
    Entry& entry = workloads_.at(found->second);
    WorkloadRecord& record = entry.record;
    record.running = pods_.running(workload);
    if (!record.holds()) {
      pods_.forget_loss(workload);
      continue;
    }
    touched_.insert(workload);
    if (entry.whole || record.running < record.needed) continue;
    entry.whole = true;
    record.trouble.clear();
    pods_.forget_loss(workload);
    record.phase = WorkloadPhase::kRunning;
    tell("started", record.name,
         fmt::format("{} run{}", counted(record.running, "pod"), record.running == 1 ? "s" : ""));
  }
}

// At the end of a moment: before, a pod that is not seen running may have succeeded, or its
// workload may be about to end.
void History::tell_losses() {
  for (const std::string& workload : std::exchange(touched_, {})) {
    const auto found = present_.find(workload);
    if (found == present_.end()) continue;
    Entry& entry = workloads_.at(found->second);
    WorkloadRecord& record = entry.record;
    const std::string loss = pods_.loss(workload);
    if (!record.holds() || loss.empty() || record.running >= record.needed) continue;
    // What became of a pod whose loss was told is no news.
    if (!entry.whole && record.running >= entry.told_running) continue;
    entry.whole = false;
    entry.told_running = record.running;
    record.trouble = loss;
    tell_at(last_, "lost", record.name,
            fmt::format("{} of {} run: {}", record.running, counted(record.needed, "pod"), loss));
  }
}

void History::observe_node(const sim::Change& change) {
  const bool usable = change.after != nullptr && counts(*change.after);
  node_use_.put_node(change.key.name,
                     usable ? std::optional(allocatable_of(*change.after)) : std::nullopt);
  pods_.observe_node(change);
  if (first_) return;
  if (change.after == nullptr) return tell("node", change.key.name, "is gone");
  const std::string state = node_state(*change.after);
  if (change.before == nullptr) return tell("node", change.key.name, "joins");
  // A node that just came has no state yet.
  if (find_condition(*change.before, "Ready") == nullptr && state == "Ready") return;
  if (node_state(*change.before) != state) tell("node", change.key.name, "is " + state);
}

void History::observe_usage() {
  const core::State& state = cluster_.core().state();
  for (auto& [key, gauge] : gauges_.quotas) gauge.set(0, 0);
  for (const auto& [name, queue] : state.cluster_queues) {
    const quota::Usage& reserved = state.ledger.of_cluster_queue(name).reserved;
    for (const api::ResourceGroup& group : queue.groups) {
      for (const api::FlavorQuotas& flavor : group.flavors) {
        for (const api::ResourceQuota& resource : flavor.resources) {
          const auto held = reserved.find({flavor.flavor, resource.resource});
          gauges_.quotas[{name, flavor.flavor, resource.resource}].set(
              held == reserved.end() ? 0 : held->second, resource.nominal);
        }
      }
    }
  }
  for (auto& [resource, gauge] : gauges_.nodes) gauge.set(0, 0);
  for (const auto& [resource, total] : node_use_.allocatable()) {
    gauges_.nodes[resource].set(sim::amount_of(node_use_.used(), resource), total);
  }
}

}  // namespace phalanx::cli
