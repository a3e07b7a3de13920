// What a process counts and measures of itself, for Prometheus: counters and histograms that grow
// from the start on. What can be read off the state when somebody asks is in
// manager/queue_gauges.h.
//
// Any thread may count, and any may ask. Where a series is known beforehand, a count costs some
// nanoseconds; where it is found by its labels, some hundred, most of them for the labels.
#pragma once

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/guarded.h"

namespace phalanx::manager {

using Labels = std::map<std::string, std::string>;

// Where they are all found again.
struct MeterRegistry {
  prometheus::Registry families;
  std::vector<std::string> names;  // also of those that nothing was counted by yet
};

// The series of one name, by their labels. The library can only find one by making another first,
// and a histogram is large. A series is used only while it is held here, so that none is removed
// under somebody's hands.
template <typename Series>
class SeriesByLabels {
 public:
  explicit SeriesByLabels(prometheus::Family<Series>& family) : family_(family) {}

  // Calls `use` with the series of these labels; if there is none, `arguments` make it.
  template <typename Use, typename... Arguments>
  auto with(const Labels& labels, const Use& use, const Arguments&... arguments) {
    return series_.with([&](auto& series) {
      auto found = series.find(labels);
      if (found == series.end()) {
        found = series.emplace(labels, &family_.Add(labels, arguments...)).first;
      }
      return use(*found->second);
    });
  }
  // Whoever counts by such labels later begins at zero.
  template <typename Goes>
  void remove_if(const Goes& goes) {
    series_.with([&](auto& series) {
      std::erase_if(series, [&](const auto& each) {
        if (!goes(each.first)) return false;
        family_.Remove(each.second);
        return true;
      });
    });
  }

 private:
  prometheus::Family<Series>& family_;
  Guarded<std::map<Labels, Series*>> series_;
};

// A counter without labels.
class Counter {
 public:
  Counter(MeterRegistry& registry, const std::string& name, const std::string& help);
  void add(double amount = 1) { series_.Increment(amount); }

 private:
  prometheus::Counter& series_;
};

// Counters of one name, told apart by their labels.
class CounterFamily {
 public:
  CounterFamily(MeterRegistry& registry, const std::string& name, const std::string& help);
  void add(const Labels& labels, double amount = 1);
  void remove_if(const std::function<bool(const Labels&)>& goes) { series_.remove_if(goes); }

 private:
  SeriesByLabels<prometheus::Counter> series_;
};

// Durations of one series, in seconds.
class Durations {
 public:
  // A series without labels.
  Durations(MeterRegistry& registry, const std::string& name, const std::string& help,
            const std::vector<double>& bounds);
  explicit Durations(prometheus::Histogram& series) : series_(series) {}
  void add(std::chrono::microseconds took);

 private:
  prometheus::Histogram& series_;
};

// Durations of one name, told apart by their labels.
class DurationFamily {
 public:
  // Of what a program does: from 50 us to 10 s, five steps to a power of ten.
  static std::vector<double> fine();
  // Of what people wait for: from a second to some hours, each step about twice the one before.
  static std::vector<double> coarse();

  DurationFamily(MeterRegistry& registry, const std::string& name, const std::string& help,
                 std::vector<double> bounds);
  void add(const Labels& labels, std::chrono::microseconds took);
  // For whoever adds to the same again and again; such a series must never be removed.
  Durations of(const Labels& labels);
  void remove_if(const std::function<bool(const Labels&)>& goes) { series_.remove_if(goes); }

 private:
  SeriesByLabels<prometheus::Histogram> series_;
  const std::vector<double> bounds_;
};

struct Meters {
  MeterRegistry registry;

  // The deciding thread.
  Durations step_seconds;
  DurationFamily task_seconds;
  CounterFamily decisions;
  // The API server.
  Durations own_latency_seconds;
  Durations write_queue_seconds;
  Durations write_round_trip_seconds;
  CounterFamily api_writes;
  Counter api_events;
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
