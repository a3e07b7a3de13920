#include "core/configuration_queueing.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <span>

#include "base/spelling.h"

namespace phalanx::core {
namespace {

using Names = std::initializer_list<std::string_view>;

class QueueingReader {
 public:
  QueueingReader(const JsonReader& root, Dialect dialect, std::vector<std::string>& unused)
      : root_(root), dialect_(dialect), unused_(unused) {}

  void read(Configuration& configuration) const {
    read_resources_section(configuration.resources);
    configuration.fair_sharing = read_fair_sharing();
    configuration.admission_fair_sharing = read_admission_fair_sharing();
    if (dialect_ == Dialect::kOurs && root_.has("headReservation")) {
      const JsonReader reader = root_.object("headReservation");
      check_fields(reader, root_.find("headReservation"), {"after"});
      configuration.head_reservation_after = read_duration(reader, "after", {}, false);
    }
  }

 private:
  void read_resources_section(QuotaResources& resources) const {
    const JsonReader reader = root_.object("resources");
    check_fields(reader, root_.find("resources"),
                 {"excludeResourcePrefixes", "transformations", "quotaCheckStrategy"});
    resources.excluded_prefixes = reader.strings("excludeResourcePrefixes");
    if (std::ranges::find(resources.excluded_prefixes, "") != resources.excluded_prefixes.end()) {
      reader.report("excludeResourcePrefixes",
                    "holds an empty text, with which every resource begins; name a prefix");
    }
    std::set<std::string> inputs;
    reader.each("transformations", [&](const json::value& value, const std::string& path) {
      const JsonReader entry(&value, path, reader.status());
      check_fields(entry, &value, {"input", "strategy", "multiplyBy", "outputs"});
      ResourceTransformation transformation = read_transformation(entry);
      if (!inputs.insert(transformation.input).second) {
        entry.report("input", fmt::format("there is another transformation of {}; make one of them",
                                          transformation.input));
      }
      resources.transformations.push_back(std::move(transformation));
    });
    resources.ignore_undeclared =
        read_flag(reader, "quotaCheckStrategy", "BlockUndeclared", "IgnoreUndeclared");
  }

  [[nodiscard]] static ResourceTransformation read_transformation(const JsonReader& reader) {
    return {reader.required_string("input"), !read_flag(reader, "strategy", "Retain", "Replace"),
            reader.string("multiplyBy"), api::read_resources(reader, "outputs")};
  }

  [[nodiscard]] std::optional<FairSharing> read_fair_sharing() const {
    if (!root_.has("fairSharing")) return std::nullopt;
    const JsonReader reader = root_.object("fairSharing");
    // In v1beta1 it had to be asked for; since then it is by being there.
    if (dialect_ == Dialect::kOurs) {
      check_fields(reader, root_.find("fairSharing"), {"preemptionStrategies"});
    } else {
      check_fields(reader, root_.find("fairSharing"), {"enable", "preemptionStrategies"});
      if (!reader.boolean("enable", dialect_ == Dialect::kKueue)) return std::nullopt;
    }
    FairSharing sharing;
    const std::vector<std::string> names = reader.strings("preemptionStrategies");
    if (names.empty()) return sharing;
    sharing.strategies.clear();
    for (const std::string& name : names) {
      if (name != "LessThanOrEqualToFinalShare" && name != "LessThanInitialShare") {
        reader.report("preemptionStrategies",
                      fmt::format("\"{}\" is not LessThanOrEqualToFinalShare or "
                                  "LessThanInitialShare",
                                  name));
        continue;
      }
      const auto strategy = name == "LessThanInitialShare"
                                ? FairPreemptionStrategy::kLessThanInitialShare
                                : FairPreemptionStrategy::kLessThanOrEqualToFinalShare;
      if (std::ranges::find(sharing.strategies, strategy) != sharing.strategies.end()) {
        reader.report("preemptionStrategies", fmt::format("{} stands twice; remove one", name));
      }
      sharing.strategies.push_back(strategy);
    }
    return sharing;
  }

  [[nodiscard]] std::optional<AdmissionFairSharing> read_admission_fair_sharing() const {
    if (!root_.has("admissionFairSharing")) return std::nullopt;
    const JsonReader reader = root_.object("admissionFairSharing");
    check_fields(reader, root_.find("admissionFairSharing"),
                 {"usageHalfLifeTime", "usageSamplingInterval", "resourceWeights"});
    AdmissionFairSharing sharing;
    sharing.half_life = read_duration(reader, "usageHalfLifeTime", sharing.half_life, true);
    sharing.sampling_interval =
        read_duration(reader, "usageSamplingInterval", sharing.sampling_interval, false);
    if (sharing.sampling_interval > Duration{} &&
        sharing.sampling_interval < std::chrono::seconds(1)) {
      reader.report("usageSamplingInterval", "must be at least 1s: what is kept of it has seconds");
    }
    sharing.resource_weights = read_weights(reader);
    return sharing;
  }

  [[nodiscard]] static std::map<std::string, double> read_weights(const JsonReader& reader) {
    std::map<std::string, double> weights;
    const json::value* value = reader.find("resourceWeights");
    if (value == nullptr) return weights;
    if (!value->is_object()) {
      reader.report("resourceWeights", "must be a map of resources to numbers");
      return weights;
    }
    for (const auto& [name, number] : value->get_object()) {
      const std::string resource(name);
      const double weight = number.is_number() ? number.to_number<double>() : -1;
      if (weight < 0) {
        reader.report(fmt::format("resourceWeights[{}]", resource),
                      fmt::format("{} is no number from 0 on", json::serialize(number)));
      }
      weights[resource] = weight;
    }
    return weights;
  }

  // Whether the field says the second of two words; the first is what is meant by nothing.
  [[nodiscard]] static bool read_flag(const JsonReader& reader, std::string_view field,
                                      std::string_view off, std::string_view on) {
    const std::string text = reader.string(field, off);
    if (text != off && text != on) {
      reader.report(field, fmt::format("\"{}\" is not {} or {}", text, off, on));
    }
    return text == on;
  }

  [[nodiscard]] static Duration read_duration(const JsonReader& reader, std::string_view field,
                                              std::optional<Duration> fallback, bool may_be_zero) {
    const auto text = reader.optional_string(field);
    if (!text) {
      if (!fallback) reader.report(field, "is required; write how long, such as 10m");
      return fallback.value_or(Duration{});
    }
    const auto duration = parse_duration(*text);
    if (!duration) {
      reader.report(field, duration.error().message);
      return {};
    }
    if (*duration == Duration{} && !may_be_zero) {
      reader.report(field, "must be more than 0; write how long, such as 10m");
    }
    return *duration;
  }

  // Fields of the object that `reader` is of.
  void check_fields(const JsonReader& reader, const json::value* object, Names known) const {
    if (object == nullptr || !object->is_object()) return;
    for (const auto& [name, value] : object->get_object()) {
      const std::string_view field(name.data(), name.size());
      if (std::ranges::find(known, field) != known.end()) continue;
      if (dialect_ == Dialect::kOurs) {
        reader.report(field, fmt::format("is no field of this configuration{}",
                                         suggestion(field, std::span(known))));
      } else {
        unused_.push_back(reader.path_of(field));
      }
    }
  }

  const JsonReader& root_;
  Dialect dialect_;
  std::vector<std::string>& unused_;
};

}  // namespace

void read_queueing(const JsonReader& reader, Dialect dialect, Configuration& configuration,
                   std::vector<std::string>& unused) {
  QueueingReader(reader, dialect, unused).read(configuration);
}

}  // namespace phalanx::core
