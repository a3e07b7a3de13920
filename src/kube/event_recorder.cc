#include "kube/event_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/requests.h"

namespace phalanx::kube {
namespace {

constexpr auto kWindow = std::chrono::minutes(10);
constexpr size_t kMostSimilar = 10;
constexpr double kMostInARow = 25;
constexpr auto kRefill = std::chrono::minutes(5);
constexpr size_t kMostKept = 4096;
// Kubernetes' own limit of a message.
constexpr size_t kLongestMessage = 1024;

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

// Cut at the beginning of a character, not within one.
std::string shortened(std::string text) {
  if (text.size() <= kLongestMessage) return text;
  size_t end = kLongestMessage - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
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
  shrink(series_, [](const Series& series) { return series.last; });
  shrink(similar_, [](const Similar& similar) { return similar.last; });
  shrink(allowances_, [](const Allowance& allowance) { return allowance.refilled; });
}

json::object EventRecorder::event_of(const core::Notice& notice, const std::string& message,
                                     const Series& series) const {
  const std::string& space = notice.about.namespace_;
  json::object about{{"apiVersion", api::api_version(notice.about.kind)},
                     {"kind", api::info(notice.about.kind).name},
                     {"name", notice.about.name},
                     {"uid", notice.uid}};
  if (!space.empty()) about["namespace"] = space;
  return {{"apiVersion", "v1"},
          {"kind", "Event"},
          {"metadata",
           json::object{{"name", series.name}, {"namespace", space.empty() ? "default" : space}}},
          {"involvedObject", std::move(about)},
          {"reason", notice.reason},
          {"message", message},
          {"type", notice.warning ? "Warning" : "Normal"},
          {"source", json::object{{"component", component_}}},
          {"reportingComponent", component_},
          {"reportingInstance", instance_},
          {"firstTimestamp", format_time(series.first)},
          {"lastTimestamp", format_time(series.last)},
          {"count", series.count}};
}

std::optional<EventWrite> EventRecorder::record(const core::Notice& notice, Time now) {
  if (!allowed(notice, now)) return std::nullopt;
  const std::string subject =
      fmt::format("{}\n{}\n{}\n{}", notice.about.text(), notice.uid, notice.reason, notice.warning);
  std::string message = notice.message;
  std::string key = subject + "\n" + message;
  Similar& similar = similar_[subject];
  if (now - similar.last > kWindow) similar.messages.clear();
  similar.last = now;
  if (similar.messages.size() <= kMostSimilar) similar.messages.insert(message);
  if (similar.messages.size() > kMostSimilar) {
    key = subject;
    message = "(combined from similar events): " + message;
  }
  message = shortened(std::move(message));
  Series& series = series_[key];
  const Resource resource = resource_of(api::Kind::kEvent);
  const bool goes_on = series.count > 0 && now - series.last <= kWindow;
  if (!goes_on) {
    // Names of objects may be as long as those of Events may.
    series = {fmt::format("{}.{:016x}", notice.about.name.substr(0, 230), next_++), now, now, 0};
  }
  ++series.count;
  series.last = now;
  const json::object event = event_of(notice, message, series);
  const std::string space = notice.about.namespace_.empty() ? "default" : notice.about.namespace_;
  HttpRequest create = create_request(resource, space, event);
  EventWrite write{create};
  if (goes_on) {
    write.request = patch_request(
        object_path(resource, space, series.name),
        json::object{
            {"count", series.count}, {"message", message}, {"lastTimestamp", format_time(now)}});
    write.otherwise = std::move(create);
  }
  forget_oldest();
  return write;
}

}  // namespace phalanx::kube
