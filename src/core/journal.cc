#include "core/journal.h"

#include "base/json_path.h"
#include "base/printable.h"

namespace phalanx::core {
namespace {

// An API server's refusal, say, quotes what it refuses. Ours are shorter.
constexpr size_t kLongestReason = size_t{16} << 10;

}  // namespace

void Journal::record(Time now, Decision decision) {
  ++tally_[{std::string(decision.what), std::string(string_field(decision.details, "reason")),
            std::string(string_field(decision.details, "clusterQueue"))}];
  json::object versions;
  for (const auto& [name, version] : decision.versions) versions[name] = version;
  json::object line{{"n", ++count_},
                    {"time", format_micro_time(now)},
                    {"decision", decision.what},
                    {"object", decision.about.text()},
                    {"versions", std::move(versions)},
                    {"reason", shortened(std::move(decision.reason), kLongestReason)}};
  if (!decision.details.empty()) line["details"] = std::move(decision.details);
  fresh_.push_back(json::serialize(line));
}

std::vector<std::string> Journal::take() {
  return std::exchange(fresh_, {});
}

}  // namespace phalanx::core
