#include "core/journal.h"

#include "base/json_path.h"

namespace phalanx::core {

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
                    {"reason", std::move(decision.reason)}};
  if (!decision.details.empty()) line["details"] = std::move(decision.details);
  kept_.push_back(json::serialize(line));
  fresh_.push_back(kept_.back());
  if (kept_.size() > kKept) kept_.pop_front();
}

std::vector<std::string> Journal::take() {
  return std::exchange(fresh_, {});
}

}  // namespace phalanx::core
