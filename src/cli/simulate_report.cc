#include "cli/simulate_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "base/quantity.h"
#include "base/sha256.h"
#include "cli/explain_workload.h"
#include "cli/queue_advice.h"
#include "cli/tree_picture.h"

namespace phalanx::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

std::string percent(double part) {
  return fmt::format("{:.1f}%", part * 100);
}

double rounded(double value) {
  return std::round(value * 10'000) / 10'000;
}

std::string pod_text(const api::ResourceAmounts& pod) {
  std::string text;
  for (const auto& [resource, amount] : pod) {
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", short_amount(resource, amount), resource);
  }
  return text.empty() ? "no requests" : text;
}

std::string ending(SimulationRun& run, bool for_json) {
  if (run.interrupted()) return for_json ? "interrupted" : "a signal ended it";
  if (run.quiet()) return for_json ? "quiet" : "nothing moves any more";
  const bool longest = run.now() - run.start() >= kLongestRun;
  if (longest) return for_json ? "longest" : "this is the longest run";
  return for_json ? "until" : "as asked for";
}

// The first and the last, with a line between them for those left out.
template <typename Items, typename Show>
void show_ends(const Items& items, size_t most, const Show& show,
               const std::function<void(size_t)>& leave_out) {
  const size_t head = items.size() <= most ? items.size() : most / 2;
  const size_t tail = items.size() <= most ? 0 : most - head;
  for (size_t i = 0; i < head; ++i) show(items[i]);
  if (head + tail < items.size()) leave_out(items.size() - head - tail);
  for (size_t i = items.size() - tail; i < items.size(); ++i) show(items[i]);
}

std::string left_out(size_t count, std::string_view what) {
  return fmt::format("... {} more {}; -o json has them all", count, what);
}

std::string events_text(const SimulationRun& run, size_t max_lines) {
  Rows rows;
  show_ends(
      run.history().events(), max_lines,
      [&](const HistoryEvent& event) {
        rows.push_back({short_duration(event.at - run.start()), std::string(event.what),
                        event.object, event.text});
      },
      [&](size_t count) { rows.push_back({left_out(count, "events")}); });
  return "Timeline\n" + draw_table(rows, {0});
}

struct JobWithoutWorkload {
  std::string name;
  Standing standing;
  std::string why;
};

// Jobs that nobody queues: those that are not ours, and those that make no sense.
std::vector<JobWithoutWorkload> jobs_without_workload(const core::State& state) {
  std::vector<JobWithoutWorkload> result;
  for (const auto& [key, job] : state.jobs) {
    const auto owned = state.workloads_of_job.find(core::job_id(job.meta.namespace_, job.meta.uid));
    if (owned != state.workloads_of_job.end() && !owned->second.empty()) continue;
    auto [standing, why] = standing_without_workload(state, key, job);
    result.push_back({key.namespace_ + "/" + key.name, standing, std::move(why)});
  }
  return result;
}

// Why it is in no queue, in the words of phalanx explain; nullopt: it waits, or does not wait.
std::optional<std::string> set_aside(const core::State& state, const WorkloadRecord& record) {
  if (record.phase != WorkloadPhase::kWaiting) return std::nullopt;
  const core::WorkloadState* workload = state.workload(record.workload);
  return workload == nullptr ? std::nullopt : set_aside_because(state, *workload);
}

std::string_view state_name(const core::State& state, const WorkloadRecord& record) {
  return set_aside(state, record) ? standing_name(Standing::kSetAside) : phase_name(record.phase);
}

// "running, 3 of 4 pods" of one that is not whole.
std::string state_text(const core::State& state, const WorkloadRecord& record) {
  std::string text(state_name(state, record));
  const bool started = record.phase == WorkloadPhase::kRunning || !record.trouble.empty();
  if (record.holds() && started && record.running < record.needed) {
    text += fmt::format(", {} of {} pod{}", record.running, record.needed,
                        record.needed == 1 ? "" : "s");
  }
  return text;
}

std::string where_or_why(const core::State& state, const WorkloadRecord& record) {
  if (const auto why = set_aside(state, record)) return *why;
  if (record.phase == WorkloadPhase::kWaiting || record.phase == WorkloadPhase::kFailed) {
    return record.message;
  }
  if (record.pods == 0) return "it asks for no pods";
  if (!record.holds() || record.trouble.empty()) return record.placement;
  return fmt::format("{}; {}", record.placement, record.trouble);
}

// Of one that was there before the run: before.
std::string submitted_text(const WorkloadRecord& record, Time start) {
  return record.submitted < start ? "before" : short_duration(record.submitted - start);
}

std::string workloads_text(SimulationRun& run, size_t max_lines) {
  Rows rows{
      {"NAME", "QUEUE", "PODS", "PRIORITY", "SUBMITTED", "WAITED", "RAN", "STATE", "WHERE OR WHY"}};
  const Time now = run.now();
  const core::State& state = run.cluster().core().state();
  show_ends(
      run.history().workloads(), max_lines,
      [&](const WorkloadRecord* record) {
        rows.push_back({record->name, record->queue, std::to_string(record->pods),
                        std::to_string(record->priority), submitted_text(*record, run.start()),
                        short_duration(record->waited_until(now)),
                        short_duration(record->ran_until(now)), state_text(state, *record),
                        where_or_why(state, *record)});
      },
      [&](size_t count) { rows.push_back({left_out(count, "workloads")}); });
  for (const JobWithoutWorkload& job : jobs_without_workload(state)) {
    rows.push_back(
        {job.name, "", "", "", "", "", "", std::string(standing_name(job.standing)), job.why});
  }
  if (rows.size() == 1) return "";
  return "\nWorkloads\n" + draw_table(rows, {2, 3, 4, 5, 6});
}

std::vector<std::string> gauge_cells(std::string_view resource, const Gauge& gauge) {
  return {percent(gauge.average()), short_amount(resource, gauge.peak()),
          short_amount(resource, gauge.used()), short_amount(resource, gauge.total())};
}

std::string usage_text(const Gauges& gauges) {
  std::string text;
  Rows rows{{"CLUSTER QUEUE", "FLAVOR", "RESOURCE", "AVERAGE", "PEAK", "AT THE END", "QUOTA"}};
  for (const auto& [key, gauge] : gauges.quotas) {
    rows.push_back({key.cluster_queue, key.flavor, key.resource});
    std::ranges::copy(gauge_cells(key.resource, gauge), std::back_inserter(rows.back()));
  }
  if (rows.size() > 1) text += "\nQuota in use\n" + draw_table(rows, {3, 4, 5, 6});
  Rows nodes{{"RESOURCE", "AVERAGE", "PEAK", "AT THE END", "ALLOCATABLE"}};
  for (const auto& [resource, gauge] : gauges.nodes) {
    nodes.push_back({resource});
    std::ranges::copy(gauge_cells(resource, gauge), std::back_inserter(nodes.back()));
  }
  if (nodes.size() > 1) text += "\nNodes in use\n" + draw_table(nodes, {1, 2, 3, 4});
  return text;
}

std::string room_text(const RoomMeter& meter) {
  Rows rows{{"FLAVOR", "LEVEL", "LARGEST GANG", "FREE", "FRAGMENTATION", "AT THE END"}};
  for (const auto& [flavor, rooms] : meter.by_flavor()) {
    for (size_t level = 0; level < rooms.average.size(); ++level) {
      const LevelRoom& average = rooms.average[level];
      const LevelRoom& last = rooms.last[level];
      rows.push_back({flavor, level_word(average.level), fmt::format("{:.1f}", average.largest),
                      fmt::format("{:.1f}", average.total), percent(average.fragmentation),
                      fmt::format("{:.0f} of {:.0f}", last.largest, last.total)});
    }
  }
  if (rows.size() == 1) return "";
  return fmt::format("\nFragmentation, in pods of {}\n{}", pod_text(meter.pod()),
                     draw_table(rows, {2, 3, 4, 5}));
}

json::object resources_json(const api::ResourceAmounts& amounts) {
  json::object object;
  for (const auto& [resource, amount] : amounts) {
    object[resource] = format_amount(resource, amount);
  }
  return object;
}

json::object record_json(const core::State& state, const WorkloadRecord& record, Time start,
                         Time now) {
  json::object object{
      {"name", record.name},
      {"workload", record.workload},
      {"localQueue", record.queue},
      {"pods", record.pods},
      {"priority", record.priority},
      {"submittedAt", record.submitted < start ? "-" + format_duration(start - record.submitted)
                                               : format_duration(record.submitted - start)},
      {"waitedSeconds", static_cast<double>(record.waited_until(now).count()) / 1e3},
      {"ranSeconds", static_cast<double>(record.ran_until(now).count()) / 1e3},
      {"state", state_name(state, record)},
      {"evictions", record.evictions}};
  if (!record.cluster_queue.empty()) object["clusterQueue"] = record.cluster_queue;
  if (!record.placement.empty()) object["placement"] = record.placement;
  if (!record.reason.empty()) object["reason"] = record.reason;
  if (!record.message.empty()) object["message"] = record.message;
  if (const auto why = set_aside(state, record)) object["message"] = *why;
  if (record.holds()) {
    object["podsNeeded"] = record.needed;
    object["podsRunning"] = record.running;
    if (!record.trouble.empty()) object["message"] = record.trouble;
  }
  return object;
}

void put_gauge(json::object& object, std::string_view resource, const Gauge& gauge,
               std::string_view total) {
  object["resource"] = resource;
  object[total] = format_amount(resource, gauge.total());
  object["used"] = format_amount(resource, gauge.used());
  object["peak"] = format_amount(resource, gauge.peak());
  object["average"] = rounded(gauge.average());
}

json::object level_json(const LevelRoom& room) {
  return {{"largestGang", rounded(room.largest)},
          {"largestGangIfEmpty", rounded(room.largest_if_empty)},
          {"free", rounded(room.total)},
          {"fragmentation", rounded(room.fragmentation)}};
}

json::object room_json(const RoomMeter& meter) {
  json::array flavors;
  for (const auto& [flavor, rooms] : meter.by_flavor()) {
    json::array levels;
    for (size_t level = 0; level < rooms.average.size(); ++level) {
      levels.push_back(json::object{{"level", rooms.average[level].level},
                                    {"average", level_json(rooms.average[level])},
                                    {"end", level_json(rooms.last[level])}});
    }
    flavors.push_back(json::object{{"flavor", flavor}, {"levels", std::move(levels)}});
  }
  return {{"pod", resources_json(meter.pod())}, {"flavors", std::move(flavors)}};
}

json::object gauges_json(const Gauges& gauges) {
  json::array quotas;
  for (const auto& [key, gauge] : gauges.quotas) {
    json::object object{{"clusterQueue", key.cluster_queue}, {"flavor", key.flavor}};
    put_gauge(object, key.resource, gauge, "nominal");
    quotas.push_back(std::move(object));
  }
  json::array nodes;
  for (const auto& [resource, gauge] : gauges.nodes) {
    json::object object;
    put_gauge(object, resource, gauge, "allocatable");
    nodes.push_back(std::move(object));
  }
  return {{"quotas", std::move(quotas)}, {"nodes", std::move(nodes)}};
}

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string draw_table(std::vector<std::vector<std::string>> rows,
                       const std::vector<size_t>& right) {
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable(cell);
  }
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    if (row.size() < 2) continue;  // a remark
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t width = row.size() < 2 ? 0 : widths[i];
      const std::string padding(width - std::min(width, columns_of(row[i])), ' ');
      const bool flush_right = std::ranges::find(right, i) != right.end();
      line += "  " + (flush_right ? padding + row[i] : row[i] + padding);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string short_duration(Duration duration) {
  if (duration < std::chrono::seconds(1)) return format_duration(duration);
  return format_duration(std::chrono::floor<std::chrono::seconds>(duration));
}

std::string event_line(const HistoryEvent& event, Time start) {
  return fmt::format("{:>9}  {:<9} {}{}{}", short_duration(event.at - start), event.what,
                     event.object, event.text.empty() ? "" : "  ", printable(event.text));
}

std::string simulation_text(SimulationRun& run, size_t max_lines) {
  const History& history = run.history();
  std::string text = events_text(run, max_lines);
  text += workloads_text(run, max_lines);
  text += usage_text(history.gauges());
  if (run.room() != nullptr) text += room_text(*run.room());
  const std::string journal = run.journal();
  text += fmt::format("\nThe run ended at {}: {}.\n", short_duration(run.now() - run.start()),
                      ending(run, false));
  const auto decisions = std::ranges::count(journal, '\n');
  text += fmt::format("Journal: {} decision{}, sha256 {}\n", decisions, decisions == 1 ? "" : "s",
                      sha256_hex(journal));
  for (const std::string& fault : run.faults()) text += "FAULT: " + fault + "\n";
  return text;
}

json::object simulation_json(SimulationRun& run) {
  const History& history = run.history();
  json::array events;
  for (const HistoryEvent& event : history.events()) {
    events.push_back(json::object{{"at", format_duration(event.at - run.start())},
                                  {"what", event.what},
                                  {"object", event.object},
                                  {"text", event.text}});
  }
  const core::State& state = run.cluster().core().state();
  json::array workloads;
  for (const WorkloadRecord* record : history.workloads()) {
    workloads.push_back(record_json(state, *record, run.start(), run.now()));
  }
  json::array without;
  for (const JobWithoutWorkload& job : jobs_without_workload(state)) {
    without.push_back(
        json::object{{"name", job.name}, {"state", standing_name(job.standing)}, {"why", job.why}});
  }
  json::array faults;
  for (const std::string& fault : run.faults()) faults.emplace_back(fault);
  const std::string journal = run.journal();
  const RunArguments& arguments = run.arguments();
  json::object document;
  // Of a cluster that goes on, it is the random numbers that go on.
  if (arguments.load.empty()) {
    document["seed"] = arguments.seed;
  } else {
    document["loaded"] = arguments.load;
  }
  document["start"] = format_time(run.start());
  document["ranFor"] = format_duration(run.now() - run.start());
  document["ended"] = ending(run, true);
  document["events"] = std::move(events);
  document["workloads"] = std::move(workloads);
  document["jobsWithoutWorkload"] = std::move(without);
  document["utilisation"] = gauges_json(history.gauges());
  if (run.room() != nullptr) document["fragmentation"] = room_json(*run.room());
  document["journal"] = json::object{{"decisions", std::ranges::count(journal, '\n')},
                                     {"sha256", sha256_hex(journal)}};
  document["faults"] = std::move(faults);
  return document;
}

}  // namespace phalanx::cli
