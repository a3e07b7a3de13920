#include "manager/meters.h"

namespace phalanx::manager {

namespace {

prometheus::Family<prometheus::Counter>& counters(MeterRegistry& registry, const std::string& name,
                                                  const std::string& help) {
  registry.names.push_back(name);
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry.families);
}

prometheus::Family<prometheus::Histogram>& histograms(MeterRegistry& registry,
                                                      const std::string& name,
                                                      const std::string& help) {
  registry.names.push_back(name);
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry.families);
}

}  // namespace

Counter::Counter(MeterRegistry& registry, const std::string& name, const std::string& help)
    : series_(counters(registry, name, help).Add({})) {}

CounterFamily::CounterFamily(MeterRegistry& registry, const std::string& name,
                             const std::string& help)
    : series_(counters(registry, name, help)) {}

void CounterFamily::add(const Labels& labels, double amount) {
  series_.with(labels, [&](prometheus::Counter& counter) { counter.Increment(amount); });
}

Durations::Durations(MeterRegistry& registry, const std::string& name, const std::string& help,
                     const std::vector<double>& bounds)
    : series_(histograms(registry, name, help).Add({}, bounds)) {}

void Durations::add(std::chrono::microseconds took) {
  const double seconds = std::chrono::duration<double>(took).count();
  series_.Observe(seconds < 0 ? 0 : seconds);
}

std::vector<double> DurationFamily::fine() {
  std::vector<double> bounds;
  for (const double power : {1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0}) {
    for (const double step : {1.0, 1.5, 2.5, 4.0, 6.5}) {
      if (power * step >= 5e-5) bounds.push_back(power * step);
    }
  }
  bounds.push_back(10.0);
  return bounds;
}

std::vector<double> DurationFamily::coarse() {
  return {1, 2.5, 5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 5120, 10240};
}

DurationFamily::DurationFamily(MeterRegistry& registry, const std::string& name,
                               const std::string& help, std::vector<double> bounds)
    : series_(histograms(registry, name, help)), bounds_(std::move(bounds)) {}

void DurationFamily::add(const Labels& labels, std::chrono::microseconds took) {
  series_.with(
      labels, [&](prometheus::Histogram& series) { Durations(series).add(took); }, bounds_);
}

Durations DurationFamily::of(const Labels& labels) {
  return series_.with(
      labels, [](prometheus::Histogram& series) { return Durations(series); }, bounds_);
}

Meters::Meters()
    : step_seconds(registry, "phalanx_step_seconds",
                   "How long the core took for a step: everything that arrived taken in, and all "
                   "that follows from it decided.",
                   DurationFamily::fine()),
      task_seconds(registry, "phalanx_task_seconds",
                   "How long parts of a step took: place is whether and where one workload could "
                   "start, replace other places for lost nodes (hot swap), ungate which pods go "
                   "where.",
                   DurationFamily::fine()),
      decisions(registry, "phalanx_decisions_total",
                "Decisions by what was decided, and why where there are several reasons."),
      own_latency_seconds(registry, "phalanx_own_latency_seconds",
                          "From the arrival of an event to the write that it led to being ready.",
                          DurationFamily::fine()),
      write_queue_seconds(registry, "phalanx_write_queue_seconds",
                          "From a write being ready to its being sent.", DurationFamily::fine()),
      write_round_trip_seconds(registry, "phalanx_write_round_trip_seconds",
                               "From a write being sent to its answer from the API server.",
                               DurationFamily::fine()),
      api_writes(registry, "phalanx_api_writes_total",
                 "Writes by what was written and the answer's code; 0 is no answer."),
      api_events(registry, "phalanx_api_events_total",
                 "Objects that came in, and results of writes."),
      watch_lag_seconds(registry, "phalanx_watch_lag_seconds",
                        "From the answer to a write to the watch telling of it, where the answer "
                        "came first.",
                        DurationFamily::fine()),
      watch_failures(registry, "phalanx_watch_failures_total",
                     "How often objects of a kind could not be listed or watched."),
      requests(registry, "phalanx_requests_total",
               "Requests that were answered, by path and status."),
      request_seconds(registry, "phalanx_request_seconds",
                      "From a request being read to its answer.", DurationFamily::fine()) {}

Labels labels_of_write(std::string_view what, int code) {
  const size_t space = what.find(' ');
  return {{"verb", std::string(what.substr(0, space))},
          {"resource", std::string(what.substr(space + 1))},
          {"code", std::to_string(code)}};
}

}  // namespace phalanx::manager
