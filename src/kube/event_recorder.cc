#include "kube/event_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "kube/requests.h"

namespace phalanx::kube {
namespace {

constexpr auto kWindow = std::chrono::minutes(10);
constexpr size_t kMostSimilar = 10;
constexpr double kMostInARow = 25;
constexpr auto kRefill = std::chrono::minutes(5);
constexpr size_t kMostKept = 4096;
// Entries that nobody needed for longest, whenever there are too many: an eighth at once, so that
// it is rare.
template <typename Map, typename TimeOf>
void shrink(Map& map, const TimeOf& time_of) {
  if (map.size() <= kMostKept) return;
  std::vector<Time> times;
  for (const auto& [key, entry] : map) times.push_back(time_of(entry));
  const auto nth = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 8);
  std::ranges::nth_element(times, nth);
  std::erase_if(map, [&](const auto& entry) { return time_of(entry.second) <= *nth; });
}

}  // namespace

EventRecorder::EventRecorder(std::string component, std::string instance, uint64_t seed)
    : component_(std::move(component)), instance_(std::move(instance)), next_(seed) {}

bool EventRecorder::allowed(const core::Notice& notice, Time now) {
  auto [entry, fresh] =
      allowances_.try_emplace(notice.about.text() + "\n" + notice.uid, Allowance{kMostInARow, now});
  Allowance& allowance = entry->second;
  const double refilled = std::chrono::duration<double>(now - allowance.refilled) /
                          std::chrono::duration<double>(kRefill);
  allowance.tokens = std::min(kMostInARow, allowance.tokens + std::max(0.0, refilled));
  allowance.refilled = now;
  if (allowance.tokens < 1) return false;
  allowance.tokens -= 1;
  return true;
}

void EventRecorder::forget_oldest() {
  shrink(series_, [](const core::EventSeries& series) { return series.last; });
  shrink(similar_, [](const Similar& similar) { return similar.last; });
  shrink(allowances_, [](const Allowance& allowance) { return allowance.refilled; });
}

size_t EventRecorder::bytes_kept() const {
  size_t bytes = 0;
  for (const auto& [key, series] : series_) bytes += key.size();
  for (const auto& [key, allowance] : allowances_) bytes += key.size();
  for (const auto& [key, similar] : similar_) {
    bytes += key.size();
    for (const std::string& message : similar.messages) bytes += message.size();
  }
  return bytes;
}

std::optional<EventWrite> EventRecorder::record(const core::Notice& notice, Time now) {
  if (!allowed(notice, now)) return std::nullopt;
  const std::string subject =
      fmt::format("{}\n{}\n{}\n{}", notice.about.text(), notice.uid, notice.reason, notice.warning);
  std::string message = notice.message;
  const std::string digest = sha256_hex(message);
  std::string key = subject + "\n" + digest;
  Similar& similar = similar_[subject];
  if (now - similar.last > kWindow) similar.messages.clear();
  similar.last = now;
  if (similar.messages.size() <= kMostSimilar) similar.messages.insert(digest);
  if (similar.messages.size() > kMostSimilar) {
    key = subject;
    message = "(combined from similar events): " + message;
  }
  const auto [entry, is_new] = series_.try_emplace(key);
  core::EventSeries& series = entry->second;
  const Resource resource = resource_of(api::Kind::kEvent);
  const bool goes_on = !is_new && now - series.last <= kWindow;
  if (!goes_on) {
    series = {core::event_name(notice, next_++), component_, instance_, now, now, 0};
  }
  ++series.count;
  series.last = now;
  core::Notice said = notice;
  said.message = std::move(message);
  const json::object event = core::event_of(said, series);
  const std::string space = core::event_namespace(notice);
  HttpRequest create = create_request(resource, space, event);
  EventWrite write{create};
  if (goes_on) {
    write.request = patch_request(object_path(resource, space, series.name),
                                  json::object{{"count", series.count},
                                               {"message", event.at("message")},
                                               {"lastTimestamp", event.at("lastTimestamp")}});
    write.otherwise = std::move(create);
  }
  forget_oldest();
  return write;
}

}  // namespace phalanx::kube
