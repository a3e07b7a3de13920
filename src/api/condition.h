// metav1.Condition: one thing that holds of an object or not, since when and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace phalanx::api {

struct Condition {
  std::string type;
  bool holds = false;  // status True
  std::string reason;
  std::string message;
  int64_t observed_generation = 0;
  Time changed{};  // lastTransitionTime

  // The same but for when it came about.
  [[nodiscard]] bool says_the_same(const Condition& other) const {
    return type == other.type && holds == other.holds && reason == other.reason &&
           message == other.message;
  }
};

using Conditions = std::vector<Condition>;

const Condition* find_condition(const Conditions& conditions, std::string_view type);
bool holds(const Conditions& conditions, std::string_view type);

// Puts a condition in its place; `changed` stays what it was unless `holds` turns. Returns whether
// anything but the time changed.
bool set_condition(Conditions& conditions, Condition condition);

// The field `conditions` of a status.
Conditions read_conditions(const JsonReader& status);
json::array conditions_json(const Conditions& conditions);

}  // namespace phalanx::api
