#include "api/taint.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/object_meta.h"

namespace phalanx::api {

std::string Taint::text() const {
  return value.empty() ? fmt::format("{}:{}", key, effect)
                       : fmt::format("{}={}:{}", key, value, effect);
}

bool Toleration::tolerates(const Taint& taint) const {
  if (!effect.empty() && effect != taint.effect) return false;
  if (!key.empty() && key != taint.key) return false;
  if (exists) return true;
  return !key.empty() && value == taint.value;
}

const Taint* first_untolerated(const std::vector<Taint>& taints,
                               const std::vector<Toleration>& tolerations) {
  for (const Taint& taint : taints) {
    if (!taint.repels()) continue;
    if (std::ranges::none_of(tolerations,
                             [&](const Toleration& t) { return t.tolerates(taint); })) {
      return &taint;
    }
  }
  return nullptr;
}

namespace {

bool known_effect(std::string_view effect) {
  return effect == "NoSchedule" || effect == "PreferNoSchedule" || effect == "NoExecute";
}

}  // namespace

std::vector<Taint> read_taints(const JsonReader& reader, std::string_view field) {
  std::vector<Taint> taints;
  reader.each(field, [&](const json::value& value, const std::string& path) {
    const JsonReader taint(&value, path, reader.status());
    taint.allow_only({"key", "value", "effect", "timeAdded"});
    taints.push_back({taint.required_string("key"), taint.string("value"),
                      taint.required_string("effect"), read_time(taint, "timeAdded")});
    if (reader.status().ok() && !known_effect(taints.back().effect)) {
      taint.report("effect", fmt::format("\"{}\" is not NoSchedule, PreferNoSchedule or NoExecute",
                                         taints.back().effect));
    }
  });
  return taints;
}

std::vector<Toleration> read_tolerations(const JsonReader& reader, std::string_view field) {
  std::vector<Toleration> tolerations;
  reader.each(field, [&](const json::value& value, const std::string& path) {
    const JsonReader toleration(&value, path, reader.status());
    toleration.allow_only({"key", "operator", "value", "effect", "tolerationSeconds"});
    const std::string op = toleration.string("operator", "Equal");
    if (op != "Equal" && op != "Exists") {
      toleration.report("operator", fmt::format("\"{}\" is not Equal or Exists", op));
    }
    Toleration read{
        toleration.string("key"), op == "Exists", toleration.string("value"),
        toleration.string("effect"),
        toleration.optional_integer("tolerationSeconds", std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max())};
    if (read.key.empty() && !read.exists) {
      toleration.report("key", "is required unless the operator is Exists");
    }
    if (!read.effect.empty() && !known_effect(read.effect)) {
      toleration.report("effect", fmt::format("\"{}\" is not NoSchedule, PreferNoSchedule or "
                                              "NoExecute",
                                              read.effect));
    }
    tolerations.push_back(std::move(read));
  });
  return tolerations;
}

}  // namespace phalanx::api
