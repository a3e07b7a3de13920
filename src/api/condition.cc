#include "api/condition.h"

#include <algorithm>

#include "api/object_meta.h"

namespace phalanx::api {

const Condition* find_condition(const Conditions& conditions, std::string_view type) {
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

bool holds(const Conditions& conditions, std::string_view type) {
  const Condition* condition = find_condition(conditions, type);
  return condition != nullptr && condition->holds;
}

bool set_condition(Conditions& conditions, Condition condition) {
  const auto found = std::ranges::find(conditions, condition.type, &Condition::type);
  if (found == conditions.end()) {
    conditions.push_back(std::move(condition));
    return true;
  }
  if (found->holds == condition.holds) condition.changed = found->changed;
  const bool changed = !found->says_the_same(condition);
  *found = std::move(condition);
  return changed;
}

Conditions read_conditions(const JsonReader& status) {
  Conditions conditions;
  status.each("conditions", [&](const json::value& value, const std::string& path) {
    const JsonReader condition(&value, path, status.status());
    conditions.push_back({condition.string("type"), condition.string("status") == "True",
                          condition.string("reason"), condition.string("message"),
                          condition.integer("observedGeneration", 0, 0, INT64_MAX),
                          read_time(condition, "lastTransitionTime").value_or(Time{})});
  });
  return conditions;
}

json::array conditions_json(const Conditions& conditions) {
  json::array list;
  for (const Condition& condition : conditions) {
    json::object entry{{"type", condition.type},
                       {"status", condition.holds ? "True" : "False"},
                       {"reason", condition.reason},
                       {"message", condition.message},
                       {"lastTransitionTime", format_time(condition.changed)}};
    if (condition.observed_generation > 0) {
      entry["observedGeneration"] = condition.observed_generation;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace phalanx::api
