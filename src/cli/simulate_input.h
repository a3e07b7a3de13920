// What people hand in for a run: manifests and Timelines, read once.
//
// Everything but Jobs is handed on to be applied at once. Jobs, and the events of Timelines, become
// appointments. Whatever can be wrong with a document by itself is found here, before the run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/resources.h"
#include "cli/manifests.h"
#include "core/adapter.h"
#include "sim/api_server.h"
#include "sim/script.h"

namespace phalanx::cli {

inline constexpr std::string_view kSubmitAtAnnotation = "phalanx.dev/submit-at";
inline constexpr Duration kLongestRun = std::chrono::hours(24 * 30);

struct Appointment {
  Duration at{};      // since the beginning of the run
  size_t number = 0;  // in the input
  std::string origin;
  sim::Action action;
};

class RunInput {
 public:
  using Apply = std::function<Result<void>(json::value document, const std::string& origin)>;
  explicit RunInput(Apply apply);

  Result<void> add_nodes(const std::string& description);
  // Nodes and queues, and the jobs of two hours.
  Result<void> add_sample(const std::string& description, uint64_t seed);
  Result<void> add_files(const std::vector<std::string>& paths);

  // Counts those of Jobs that a loaded cluster has.
  void count_pods_of(const sim::ApiServer& server);
  // By time, then in the order of the input.
  [[nodiscard]] std::vector<Appointment> take_appointments();
  // What most pods of the Jobs ask for; nullopt if there are none.
  [[nodiscard]] std::optional<api::ResourceAmounts> typical_pod() const;
  // What was left out, in words.
  [[nodiscard]] std::vector<std::string> remarks() const;

 private:
  Result<void> add(Manifest manifest);
  Result<void> add_job(Manifest manifest);
  Result<void> add_timeline(const Manifest& manifest);
  Result<void> note(const api::ObjectKey& key, const std::string& origin);
  void count_pods(const json::value& job);

  Apply apply_;
  core::Adapters adapters_;
  std::vector<Appointment> appointments_;
  std::map<api::ObjectKey, std::string> origins_;            // of all objects
  std::map<api::ResourceAmounts, int64_t> pods_;             // of Jobs, by what each asks for
  std::map<std::string, std::vector<std::string>> skipped_;  // origins, by apiVersion and kind
};

// An error about an object whose place is known: the object is named once.
std::string placed(const std::string& origin, std::string_view message);

}  // namespace phalanx::cli
