// The benchmarks of `phalanx bench`, and what they share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace phalanx::cli {

struct BenchPlacementArguments {
  std::vector<uint32_t> nodes;
  std::vector<std::string> shapes;
  int repeat = 20;
  bool json = false;
};
int bench_placement(const BenchPlacementArguments& arguments);

struct BenchEncodingArguments {
  uint32_t nodes = 100'000;
  bool json = false;
};
int bench_encoding(const BenchEncodingArguments& arguments);

struct BenchGangArguments {
  bool json = false;
};
int bench_gang(const BenchGangArguments& arguments);

struct BenchAdmissionArguments {
  uint32_t nodes = 640;
  std::string preset = "quota";
  int percent = 100;  // of the workloads
  bool json = false;
};
int bench_admission(const BenchAdmissionArguments& arguments);

struct BenchPreemptionArguments {
  std::vector<uint32_t> nodes{1'000, 10'000, 100'000};
  int repeat = 0;  // as many as a few seconds allow
  bool json = false;
};
int bench_preemption(const BenchPreemptionArguments& arguments);

struct BenchListingArguments {
  uint32_t nodes = 5'000;
  uint32_t pods = 20'000;
  uint32_t managed = 0;
  bool json = false;
};
int bench_listing(const BenchListingArguments& arguments);

struct BenchSoakArguments {
  uint32_t nodes = 500;
  int days = 30;
  int load = 85;
  uint64_t seed = 1;
  std::string output = "text";
  std::string journal = {};  // a file; empty: none
};
int bench_soak(const BenchSoakArguments& arguments);

struct BenchWebhooksArguments {
  std::string url;
  std::string server_name;  // in its certificate; empty: the host of the URL
  std::string ca;           // a file
  double rate = 2000;       // requests a second
  int seconds = 30;
  int garbage = 10;  // percent
  int connections = 16;
  uint64_t seed = 1;
  int pid = 0;  // of the manager; 0: not known
  std::string output = "text";
};
int bench_webhooks(const BenchWebhooksArguments& arguments);

using BenchClock = std::chrono::steady_clock;

inline int64_t nanoseconds_since(BenchClock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(BenchClock::now() - start).count();
}

// The smallest of the sorted values that so many of a hundred do not exceed: one that was measured,
// never one in between. 0 if there are none.
template <typename T>
T percentile(const std::vector<T>& sorted, size_t percent) {
  if (sorted.empty()) return T{};
  const size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<size_t>(rank, 1) - 1];
}

}  // namespace phalanx::cli
