#include "cli/simulate_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "jobs/batch_job.h"
#include "sim/document.h"
#include "sim/manifest.h"
#include "sim/node_generator.h"
#include "sim/object_fields.h"
#include "sim/sample_jobs.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kTimelineVersion = "phalanx.dev/v1";
constexpr std::string_view kTimelineHelp =
    "write {at: 10m, node: n7, becomes: NotReady} or {at: 1h, apply: {...}}";
// The sample is not endless here.
constexpr Duration kSampleArrivals = std::chrono::hours(2);
constexpr size_t kSkippedShown = 5;  // objects of one kind that are named

Result<Duration> parse_moment(const json::value* value) {
  constexpr std::string_view kHelp = "write a duration since the start, such as 90s, 10m or 1h30m";
  if (value == nullptr || value->is_null()) return fail(fmt::format("is required; {}", kHelp));
  if (!value->is_string()) return fail(fmt::format("must be a text; {}", kHelp));
  auto duration = parse_duration(value->get_string());
  if (!duration) return fail(duration.error().message);
  if (*duration > kLongestRun) return fail("is more than 30 days, the longest run");
  return *duration;
}

}  // namespace

// An origin ends with the object, and a refusal begins with it, with a namespace or without a name
// as the case may be: it is named once.
std::string placed(const std::string& origin, std::string_view message) {
  const size_t colon = origin.rfind(": ");
  const std::string_view object =
      std::string_view(origin).substr(colon == std::string::npos ? 0 : colon + 2);
  const std::string_view kind = object.substr(0, object.find(' '));
  while (message.starts_with(kind)) {
    const size_t end = message.find(": ");
    if (end == std::string_view::npos) break;
    const std::string_view named = message.substr(0, end);
    if (named != object && named != kind && std::ranges::count(named, ' ') != 1) break;
    message.remove_prefix(end + 2);
  }
  return fmt::format("{}: {}", origin, message);
}

RunInput::RunInput(Apply apply) : apply_(std::move(apply)), adapters_(jobs::all_adapters()) {}

Result<void> RunInput::note(const api::ObjectKey& key, const std::string& origin) {
  if (key.name.empty()) return {};  // the API server gives it one
  const auto [entry, is_new] = origins_.emplace(key, origin);
  if (is_new) return {};
  return fail(
      fmt::format("{}: is there already, from {}; remove one of them", origin, entry->second));
}

Result<void> RunInput::add_nodes(const std::string& description) {
  const auto plan = sim::parse_node_plan(description);
  if (!plan) return within("--nodes", plan.error());
  for (size_t index = 0; index < plan->count(); ++index) {
    json::value node = plan->node(index);
    RETURN_IF_ERROR(note(sim::key_of(api::Kind::kNode, node), "--nodes"));
    RETURN_IF_ERROR(apply_(std::move(node), "--nodes"));
  }
  return {};
}

Result<void> RunInput::add_sample(const std::string& description, uint64_t seed) {
  RETURN_IF_ERROR(add_nodes(description));
  ASSIGN_OR_RETURN(const sim::NodePlan plan, sim::parse_node_plan(description));
  sim::SampleJobs jobs(plan, seed);
  for (json::value& document : jobs.setup()) {
    RETURN_IF_ERROR(apply_(std::move(document), "sample"));
  }
  Duration at{};
  while (true) {
    sim::SampleJobs::Arrival arrival = jobs.next();
    at += arrival.after;
    if (at > kSampleArrivals) return {};
    count_pods(arrival.job);
    sim::ApplyAction apply{{std::move(arrival.job)}};
    appointments_.push_back({at, 0, "sample", {std::move(apply), std::nullopt}});
  }
}

Result<void> RunInput::add_files(const std::vector<std::string>& paths) {
  return read_manifests(
      paths, [](const std::string&) {}, [&](Manifest manifest) { return add(std::move(manifest)); },
      EmptyFiles::kRefused);
}

Result<void> RunInput::add(Manifest manifest) {
  if (manifest.header.group() == "phalanx.dev" && manifest.header.kind == "Timeline") {
    return add_timeline(manifest);
  }
  const auto kind = api::find_kind(manifest.header.api_version, manifest.header.kind);
  if (!kind) {
    const std::string problem = problem_of_kind(manifest.header);
    if (!problem.empty()) return fail(fmt::format("{}: {}", manifest.origin, problem));
    skipped_[manifest.header.api_version + " " + manifest.header.kind].push_back(manifest.origin);
    return {};
  }
  if (json::object* object = manifest.value.if_object()) {  // an element of a typed list
    (*object)["apiVersion"] = manifest.header.api_version;
    (*object)["kind"] = manifest.header.kind;
  }
  api::ObjectKey key{*kind, "", manifest.header.name};
  if (api::info(*kind).namespaced) {
    key.namespace_ = manifest.header.namespace_.empty() ? "default" : manifest.header.namespace_;
  }
  RETURN_IF_ERROR(note(key, manifest.origin));
  if (*kind == api::Kind::kJob) return add_job(std::move(manifest));
  return apply_(std::move(manifest.value), manifest.origin);
}

Result<void> RunInput::add_job(Manifest manifest) {
  if (const auto checked = sim::check_run_annotations(manifest.value); !checked) {
    return within(manifest.origin, checked.error());
  }
  Duration at{};
  const json::object* annotations = object_at(manifest.value, {"metadata", "annotations"});
  if (annotations != nullptr && annotations->contains(kSubmitAtAnnotation)) {
    const auto moment = parse_moment(annotations->if_contains(kSubmitAtAnnotation));
    if (!moment) {
      return fail(fmt::format("{}: metadata.annotations[{}]: {}", manifest.origin,
                              kSubmitAtAnnotation, moment.error().message));
    }
    at = *moment;
  }
  count_pods(manifest.value);
  sim::ApplyAction apply{{std::move(manifest.value)}};
  appointments_.push_back({at, 0, std::move(manifest.origin), {std::move(apply), std::nullopt}});
  return {};
}

Result<void> RunInput::add_timeline(const Manifest& manifest) {
  if (manifest.header.api_version != kTimelineVersion) {
    return fail(
        fmt::format("{}: apiVersion: a Timeline has {}", manifest.origin, kTimelineVersion));
  }
  const json::object& document = manifest.value.get_object();
  constexpr std::array<std::string_view, 4> kFields{"apiVersion", "kind", "metadata", "events"};
  if (auto known = sim::check_fields(document, kFields); !known) {
    return within(manifest.origin, known.error());
  }
  const json::value* events = document.if_contains("events");
  if (events == nullptr || !events->is_array()) {
    return fail(fmt::format("{}: events: must be a list; {}", manifest.origin, kTimelineHelp));
  }
  size_t index = 0;
  for (const json::value& event : events->get_array()) {
    const std::string origin = fmt::format("{}: events[{}]", manifest.origin, index++);
    const json::object* fields = event.if_object();
    if (fields == nullptr) return fail(fmt::format("{}: {}", origin, kTimelineHelp));
    const auto at = parse_moment(fields->if_contains("at"));
    if (!at) return fail(fmt::format("{}: at: {}", origin, at.error().message));
    constexpr std::array<std::string_view, 1> kAlso{"at"};
    auto action = sim::read_action(event, kAlso);
    if (!action) return within(origin, action.error());
    if (std::holds_alternative<sim::RunAction>(action->what)) {
      return fail(fmt::format("{}: run: time passes by itself in a timeline; remove it", origin));
    }
    appointments_.push_back({*at, 0, origin, std::move(*action)});
  }
  return {};
}

void RunInput::count_pods(const json::value& job) {
  const auto object = core::decode_object(job, adapters_);
  const core::Job* decoded = object ? std::get_if<core::Job>(&object->body) : nullptr;
  if (decoded == nullptr) return;
  for (const core::JobPodSet& pod_set : decoded->pod_sets) {
    pods_[pod_set.pod_template.resources.effective({})] += pod_set.count;
  }
}

void RunInput::count_pods_of(const sim::ApiServer& server) {
  for (const sim::Stored& job : server.list(api::Kind::kJob).items) {
    // One that is given again is counted already.
    if (!origins_.contains(sim::key_of(api::Kind::kJob, *job))) count_pods(*job);
  }
}

std::vector<Appointment> RunInput::take_appointments() {
  size_t number = 0;
  for (Appointment& appointment : appointments_) appointment.number = number++;
  std::ranges::sort(appointments_, {}, [](const Appointment& appointment) {
    return std::pair(appointment.at, appointment.number);
  });
  return std::exchange(appointments_, {});
}

std::optional<api::ResourceAmounts> RunInput::typical_pod() const {
  const auto most = std::ranges::max_element(
      pods_, {}, [](const auto& entry) { return entry.second; });  // the first of equals
  if (most == pods_.end()) return std::nullopt;
  return most->first;
}

std::vector<std::string> RunInput::remarks() const {
  std::vector<std::string> remarks;
  for (const auto& [kind, origins] : skipped_) {
    for (size_t i = 0; i < std::min(origins.size(), kSkippedShown); ++i) {
      remarks.push_back(
          fmt::format("{}: skipped: the embedded cluster has no kind {}", origins[i], kind));
    }
    if (origins.size() <= kSkippedShown) continue;
    remarks.push_back(
        fmt::format("skipped {} more of kind {}", origins.size() - kSkippedShown, kind));
  }
  return remarks;
}

}  // namespace phalanx::cli
