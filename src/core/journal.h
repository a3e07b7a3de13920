// The decision journal: what was decided, about what, on which versions of its inputs, and why.
//
// One line of JSON a decision, with its fields always in the same order, so that the same events
// give the same journal byte for byte. Lines stay here until the host takes them, to write them
// to a file or to drop them: what tenants can make longer must not stay in memory.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/kind.h"
#include "base/json.h"
#include "base/time.h"

namespace phalanx::core {

struct Decision {
  std::string_view what;  // admit, refuse, start, stop, ungate, evict, ...
  api::ObjectKey about;
  // The versions of the objects that it was decided on: "Workload ml/a" and its resourceVersion.
  std::vector<std::pair<std::string, uint64_t>> versions;
  std::string reason;
  json::object details;
};

// Decisions of one sort, for those who count them.
struct DecisionSort {
  std::string what;
  std::string cause;          // the detail "reason", if there is one
  std::string cluster_queue;  // the detail "clusterQueue", likewise

  auto operator<=>(const DecisionSort&) const = default;
};
using DecisionTally = std::map<DecisionSort, uint64_t>;

class Journal {
 public:
  void record(Time now, Decision decision);

  // The lines since the last call.
  std::vector<std::string> take();
  // How many of each sort, likewise.
  DecisionTally take_tally() { return std::exchange(tally_, {}); }
  [[nodiscard]] uint64_t count() const { return count_; }

 private:
  std::vector<std::string> fresh_;
  DecisionTally tally_;
  uint64_t count_ = 0;
};

}  // namespace phalanx::core
