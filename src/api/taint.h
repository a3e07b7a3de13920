// Taints of nodes and the tolerations that answer them, as core/v1 defines both.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"
#include "base/time.h"

namespace phalanx::api {

struct Taint {
  std::string key;
  std::string value;
  std::string effect;
  std::optional<Time> added = {};  // not part of what it is: taints of any age are the same

  // Only these two keep a pod away; PreferNoSchedule is a wish.
  [[nodiscard]] bool repels() const { return effect == "NoSchedule" || effect == "NoExecute"; }
  // "key=value:effect", or "key:effect" without a value.
  [[nodiscard]] std::string text() const;
  std::strong_ordering operator<=>(const Taint& other) const {
    return std::tie(key, value, effect) <=> std::tie(other.key, other.value, other.effect);
  }
  bool operator==(const Taint& other) const { return (*this <=> other) == 0; }
};

struct Toleration {
  std::string key;  // empty with Exists: every key
  bool exists = false;
  std::string value;
  std::string effect;                   // empty: every effect
  std::optional<int64_t> seconds = {};  // for so long; nullopt: for ever

  [[nodiscard]] bool tolerates(const Taint& taint) const;
  auto operator<=>(const Toleration&) const = default;
};

// The first repelling taint, in node order, that none of the tolerations answers; or nullptr.
const Taint* first_untolerated(const std::vector<Taint>& taints,
                               const std::vector<Toleration>& tolerations);

std::vector<Taint> read_taints(const JsonReader& reader, std::string_view field);
std::vector<Toleration> read_tolerations(const JsonReader& reader, std::string_view field);

}  // namespace phalanx::api
