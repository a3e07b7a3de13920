// What a process counts and measures of itself, for Prometheus: counters and histograms that grow
// from the start on. What can be read off the state when somebody asks is in
// manager/queue_gauges.h.
//
// Any thread may count, and any may ask. A count costs about a microsecond, most of it for finding
// the labels again.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::manager {

using Labels = std::map<std::string, std::string>;

// Where they are all found again.
struct MeterRegistry {
  prometheus::Registry families;
  std::vector<std::string> names;  // also of those that nothing was counted by yet
};

// Counters of one name, told apart by their labels.
class CounterFamily {
 public:
  CounterFamily(MeterRegistry& registry, const std::string& name, const std::string& help);
  void add(const Labels& labels, double amount = 1) { family_.Add(labels).Increment(amount); }

 private:
  prometheus::Family<prometheus::Counter>& family_;
};

// Durations of one name, likewise, in seconds.
class DurationFamily {
 public:
  // Of what a program does: from 50 us to 10 s, five steps to a power of ten.
  static std::vector<double> fine();
  // Of what people wait for: from a second to some hours, each step about twice the one before.
  static std::vector<double> coarse();

  DurationFamily(MeterRegistry& registry, const std::string& name, const std::string& help,
                 std::vector<double> bounds);
  void add(const Labels& labels, std::chrono::microseconds took);

 private:
  prometheus::Family<prometheus::Histogram>& family_;
  const std::vector<double> bounds_;
};

struct Meters {
  MeterRegistry registry;

  // The deciding thread.
  DurationFamily step_seconds;
  DurationFamily task_seconds;
  CounterFamily decisions;
  // The API server.
  DurationFamily own_latency_seconds;
  DurationFamily write_queue_seconds;
  DurationFamily write_round_trip_seconds;
  CounterFamily api_writes;
  CounterFamily api_events;
  DurationFamily watch_lag_seconds;
  CounterFamily watch_failures;
  // Those who ask us.
  CounterFamily requests;
  DurationFamily request_seconds;

  Meters();
};

// Labels of the write that `what` ("patch pods/status") says.
Labels labels_of_write(std::string_view what, int code);

}  // namespace phalanx::manager
