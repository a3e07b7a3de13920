#include "core/hosting.h"

#include <fmt/format.h>

#include "base/json_path.h"
#include "base/printable.h"

namespace phalanx::core {
namespace {

// Kubernetes' own limit of a message.
constexpr size_t kLongestMessage = 1024;
// Names of objects may be as long as those of Events may, and these have a number at their end.
constexpr size_t kLongestSubject = 230;

}  // namespace

json::value patch_of(const Write& write) {
  json::value patch = write.body;
  json::object& metadata = ensure_object(patch, {"metadata"});
  if (!write.uid.empty()) metadata["uid"] = write.uid;
  if (write.resource_version != 0) {
    metadata["resourceVersion"] = std::to_string(write.resource_version);
  }
  return patch;
}

bool is_passing(int code) {
  // 401: the token has run out, and the next request has a new one. 500 and above: the server or
  // a webhook that it asked is in trouble.
  return code == 0 || code == 401 || code == 408 || code == 429 || code >= 500;
}

WriteOutcome outcome_of(int code, std::string_view reason) {
  if (is_passing(code)) return WriteOutcome::kUnavailable;
  if (reason == "AlreadyExists") return WriteOutcome::kAlreadyExists;
  if (code == 409) return WriteOutcome::kConflict;
  if (code == 404) return WriteOutcome::kNotFound;
  return WriteOutcome::kRefused;
}

std::string event_name(const Notice& notice, uint64_t number) {
  return fmt::format("{}.{:016x}", notice.about.name.substr(0, kLongestSubject), number);
}

std::string event_namespace(const Notice& notice) {
  return notice.about.namespace_.empty() ? "default" : notice.about.namespace_;
}

json::object event_of(const Notice& notice, const EventSeries& series) {
  json::object about{{"apiVersion", api::api_version(notice.about.kind)},
                     {"kind", api::info(notice.about.kind).name},
                     {"name", notice.about.name},
                     {"uid", notice.uid}};
  if (!notice.about.namespace_.empty()) about["namespace"] = notice.about.namespace_;
  json::object event{
      {"apiVersion", "v1"},
      {"kind", "Event"},
      {"metadata", json::object{{"name", series.name}, {"namespace", event_namespace(notice)}}},
      {"involvedObject", std::move(about)},
      {"reason", notice.reason},
      {"message", shortened(notice.message, kLongestMessage)},
      {"type", notice.warning ? "Warning" : "Normal"},
      {"source", json::object{{"component", series.component}}},
      {"firstTimestamp", format_time(series.first)},
      {"lastTimestamp", format_time(series.last)},
      {"count", series.count},
      {"reportingComponent", series.component}};
  if (!series.instance.empty()) event["reportingInstance"] = series.instance;
  return event;
}

}  // namespace phalanx::core
