#include "core/pending_queue.h"

#include <algorithm>

#include "base/check.h"

namespace phalanx::core {

PendingQueue::Head PendingQueue::head_of(const Shape& shape) const {
  const auto usage = usages_.find(shape.local_queue);
  return {usage == usages_.end() ? 0 : usage->second, *shape.entries.begin()};
}

void PendingQueue::erase_head(const Shape& shape) {
  if (shape.entries.empty()) return;
  all_heads_.erase(head_of(shape));
  awake_heads_.erase(head_of(shape));
}

void PendingQueue::insert_head(const Shape& shape) {
  if (shape.entries.empty()) return;
  all_heads_.insert(head_of(shape));
  if (!shape.parked) awake_heads_.insert(head_of(shape));
}

void PendingQueue::put(const PendingEntry& entry, const std::string& shape_text,
                       const std::string& local_queue) {
  away_.erase(entry.workload);
  const std::string key = local_queue.empty() ? shape_text : local_queue + "\n" + shape_text;
  if (const auto known = entries_.find(entry.workload); known != entries_.end()) {
    if (known->second.entry == entry && known->second.shape == key) return;
    remove(entry.workload);
  }
  Shape& shape = shapes_[key];
  erase_head(shape);
  shape.local_queue = local_queue;
  shape.entries.insert(entry);
  if (shape.parked && entry < *shape.refused) shape.parked = false;
  if (shape.no) shape.untold.insert(entry.workload);
  if (shape.parked) newcomers_.insert(entry.workload);
  insert_head(shape);
  entries_.emplace(entry.workload, Where{entry, key});
}

void PendingQueue::set_usage(const std::string& local_queue, double usage) {
  for (const auto& [text, shape] : shapes_) {
    if (shape.local_queue == local_queue) erase_head(shape);
  }
  usages_[local_queue] = usage;
  for (const auto& [text, shape] : shapes_) {
    if (shape.local_queue == local_queue) insert_head(shape);
  }
}

void PendingQueue::send_away(const std::string& workload) {
  remove(workload);
  away_.insert(workload);
}

void PendingQueue::remove(const std::string& workload) {
  away_.erase(workload);
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return;
  const auto shape = shapes_.find(found->second.shape);
  erase_head(shape->second);
  shape->second.entries.erase(found->second.entry);
  shape->second.untold.erase(workload);
  newcomers_.erase(workload);
  insert_head(shape->second);
  if (shape->second.entries.empty()) shapes_.erase(shape);
  entries_.erase(found);
}

const PendingEntry* PendingQueue::first() const {
  return all_heads_.empty() ? nullptr : &all_heads_.begin()->entry;
}

const PendingEntry* PendingQueue::first_awake() const {
  return awake_heads_.empty() ? nullptr : &awake_heads_.begin()->entry;
}

const PendingEntry* PendingQueue::next_awake(const PendingEntry& entry) const {
  Head head{0, entry};
  if (const auto where = entries_.find(entry.workload); where != entries_.end()) {
    head.usage = head_of(shapes_.at(where->second.shape)).usage;
  }
  const auto next = awake_heads_.upper_bound(head);
  return next == awake_heads_.end() ? nullptr : &next->entry;
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
  shape.refused = entries_.at(workload).entry;
  awake_heads_.erase(head_of(shape));
}

void PendingQueue::wake(const std::function<bool(const No&)>& may_have_changed) {
  for (auto& [text, shape] : shapes_) {
    if (!shape.parked || !may_have_changed(*shape.no)) continue;
    shape.parked = false;
    insert_head(shape);
  }
}

void PendingQueue::wake(const std::string& workload) {
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return;
  Shape& shape = shapes_.at(found->second.shape);
  shape.parked = false;
  insert_head(shape);
}

const No* PendingQueue::no_of(const std::string& workload) const {
  const auto found = entries_.find(workload);
  if (found == entries_.end()) return nullptr;
  const Shape& shape = shapes_.at(found->second.shape);
  return shape.parked ? &*shape.no : nullptr;
}

size_t PendingQueue::parked() const {
  size_t parked = 0;
  for (const auto& [text, shape] : shapes_) {
    if (shape.parked) parked += shape.entries.size();
  }
  return parked;
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

bool PendingQueue::goes_before(const std::string& one, const std::string& other) const {
  const auto a = entries_.find(one);
  const auto b = entries_.find(other);
  if (a == entries_.end() || b == entries_.end()) return false;
  const auto place = [&](const Where& where) {
    const auto usage = usages_.find(shapes_.at(where.shape).local_queue);
    return Head{usage == usages_.end() ? 0 : usage->second, where.entry};
  };
  return place(a->second) < place(b->second);
}

size_t PendingQueue::position(const std::string& workload) const {
  if (!entries_.contains(workload)) return 0;
  const std::vector<PendingEntry> all = in_order();
  const auto found = std::ranges::find(all, workload, &PendingEntry::workload);
  return static_cast<size_t>(found - all.begin()) + 1;
}

std::vector<PendingEntry> PendingQueue::in_order() const {
  std::set<Head> all;
  for (const auto& [text, shape] : shapes_) {
    for (const PendingEntry& entry : shape.entries) all.insert({head_of(shape).usage, entry});
  }
  std::vector<PendingEntry> entries;
  for (const Head& head : all) entries.push_back(head.entry);
  return entries;
}

}  // namespace phalanx::core
