#include "core/pending_queue.h"

#include "base/check.h"

namespace phalanx::core {

void PendingQueue::refresh_heads(Shape& shape, const std::optional<PendingEntry>& old_head) {
  if (old_head) {
    all_heads_.erase(*old_head);
    awake_heads_.erase(*old_head);
  }
  if (shape.entries.empty()) return;
  all_heads_.insert(*shape.entries.begin());
  if (!shape.parked) awake_heads_.insert(*shape.entries.begin());
}

void PendingQueue::put(const PendingEntry& entry, const std::string& shape_text) {
  if (const auto known = entries_.find(entry.workload); known != entries_.end()) {
    if (known->second.entry == entry && known->second.shape == shape_text) return;
    remove(entry.workload);
  }
  Shape& shape = shapes_[shape_text];
  const auto old_head =
      shape.entries.empty() ? std::nullopt : std::optional(*shape.entries.begin());
  shape.entries.insert(entry);
  if (shape.parked) {
    shape.untold.insert(entry.workload);
    newcomers_.insert(entry.workload);
  }
  refresh_heads(shape, old_head);
  entries_.emplace(entry.workload, Where{entry, shape_text});
}

void PendingQueue::remove(const std::string& workload) {
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return;
  const auto shape = shapes_.find(found->second.shape);
  const PendingEntry old_head = *shape->second.entries.begin();
  shape->second.entries.erase(found->second.entry);
  shape->second.untold.erase(workload);
  newcomers_.erase(workload);
  refresh_heads(shape->second, old_head);
  if (shape->second.entries.empty()) shapes_.erase(shape);
  entries_.erase(found);
}

const PendingEntry* PendingQueue::first() const {
  return all_heads_.empty() ? nullptr : &*all_heads_.begin();
}

const PendingEntry* PendingQueue::first_awake() const {
  return awake_heads_.empty() ? nullptr : &*awake_heads_.begin();
}

const PendingEntry* PendingQueue::next_awake(const PendingEntry& entry) const {
  const auto next = awake_heads_.upper_bound(entry);
  return next == awake_heads_.end() ? nullptr : &*next;
}

void PendingQueue::park(const std::string& workload, No no) {
  Shape& shape = shapes_.at(entries_.at(workload).shape);
  const PendingEntry& head = *shape.entries.begin();
  const bool new_reason = !shape.no || shape.no->reason != no.reason;
  if (new_reason) {
    for (const PendingEntry& entry : shape.entries) shape.untold.insert(entry.workload);
  } else if (shape.no->message != no.message) {
    shape.untold.insert(head.workload);
  }
  shape.no = std::move(no);
  shape.parked = true;
  awake_heads_.erase(head);
}

void PendingQueue::wake(const std::function<bool(const No&)>& may_have_changed) {
  for (auto& [text, shape] : shapes_) {
    if (!shape.parked || !may_have_changed(*shape.no)) continue;
    shape.parked = false;
    awake_heads_.insert(*shape.entries.begin());
  }
}

const No* PendingQueue::no_of(const std::string& workload) const {
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return nullptr;
  const Shape& shape = shapes_.at(found->second.shape);
  return shape.parked ? &*shape.no : nullptr;
}

std::vector<std::string> PendingQueue::take_untold(const std::string& workload) {
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return {};
  Shape& shape = shapes_.at(found->second.shape);
  std::vector<std::string> untold(shape.untold.begin(), shape.untold.end());
  shape.untold.clear();
  for (const std::string& told : untold) newcomers_.erase(told);
  return untold;
}

std::vector<std::string> PendingQueue::take_newcomers() {
  std::vector<std::string> newcomers(newcomers_.begin(), newcomers_.end());
  newcomers_.clear();
  for (const std::string& workload : newcomers) {
    shapes_.at(entries_.at(workload).shape).untold.erase(workload);
  }
  return newcomers;
}

size_t PendingQueue::position(const std::string& workload) const {
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return 0;
  size_t before = 0;
  for (const auto& [text, shape] : shapes_) {
    for (const PendingEntry& entry : shape.entries) {
      if (entry >= found->second.entry) break;
      ++before;
    }
  }
  return before + 1;
}

std::vector<PendingEntry> PendingQueue::in_order() const {
  std::set<PendingEntry> all;
  for (const auto& [text, shape] : shapes_) all.insert(shape.entries.begin(), shape.entries.end());
  return {all.begin(), all.end()};
}

}  // namespace phalanx::core
