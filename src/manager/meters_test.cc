#include "manager/meters.h"

#include <gtest/gtest.h>

#include <thread>

namespace phalanx::manager {
namespace {

// Of all series of a name: how many there are, and their sum or number of durations.
std::pair<size_t, double> counted(const Meters& meters, const std::string& name) {
  for (const prometheus::MetricFamily& family : meters.registry.families.Collect()) {
    if (family.name != name) continue;
    double sum = 0;
    for (const prometheus::ClientMetric& metric : family.metric) {
      sum += metric.counter.value + static_cast<double>(metric.histogram.sample_count);
    }
    return {family.metric.size(), sum};
  }
  return {0, 0};
}

TEST(MetersTest, AnyThreadMayCount) {
  Meters meters;
  constexpr int kThreads = 4;
  constexpr int kTimes = 5'000;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        for (int j = 0; j < kTimes; ++j) {
          const std::string path = "/" + std::to_string(j % 100);
          meters.requests.add({{"path", path}, {"code", "200"}});
          meters.request_seconds.add({{"path", path}}, std::chrono::microseconds(j));
          meters.api_events.add();
          meters.step_seconds.add(std::chrono::microseconds(j));
        }
      });
    }
    for (int i = 0; i < 10; ++i) counted(meters, "");
  }
  constexpr double kAll = kThreads * kTimes;
  EXPECT_EQ(counted(meters, "phalanx_requests_total"), std::pair(size_t{100}, kAll));
  EXPECT_EQ(counted(meters, "phalanx_request_seconds"), std::pair(size_t{100}, kAll));
  EXPECT_EQ(counted(meters, "phalanx_api_events_total"), std::pair(size_t{1}, kAll));
  EXPECT_EQ(counted(meters, "phalanx_step_seconds"), std::pair(size_t{1}, kAll));
}

TEST(MetersTest, ASeriesThatIsKeptIsTheOneOfItsLabels) {
  Meters meters;
  const Labels labels{{"task", "place"}};
  Durations kept = meters.task_seconds.of(labels);
  kept.add(std::chrono::microseconds(5));
  meters.task_seconds.add(labels, std::chrono::microseconds(5));
  EXPECT_EQ(counted(meters, "phalanx_task_seconds"), std::pair(size_t{1}, 2.0));
}

TEST(MetersTest, WhatIsRemovedBeginsAtZero) {
  Meters meters;
  for (const char* path : {"/a", "/b"}) {
    meters.requests.add({{"path", path}}, 3);
    meters.request_seconds.add({{"path", path}}, std::chrono::microseconds(5));
  }
  const auto goes = [](const Labels& labels) { return labels.at("path") == "/a"; };
  meters.requests.remove_if(goes);
  meters.request_seconds.remove_if(goes);
  EXPECT_EQ(counted(meters, "phalanx_requests_total"), std::pair(size_t{1}, 3.0));
  EXPECT_EQ(counted(meters, "phalanx_request_seconds"), std::pair(size_t{1}, 1.0));
  meters.requests.add({{"path", "/a"}});
  meters.request_seconds.add({{"path", "/a"}}, std::chrono::microseconds(5));
  EXPECT_EQ(counted(meters, "phalanx_requests_total"), std::pair(size_t{2}, 4.0));
  EXPECT_EQ(counted(meters, "phalanx_request_seconds"), std::pair(size_t{2}, 2.0));
}

}  // namespace
}  // namespace phalanx::manager
