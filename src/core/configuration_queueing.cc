#include "core/configuration_queueing.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
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
    configuration.wait_for_pods_ready = read_wait_for_pods_ready();
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

  [[nodiscard]] std::optional<WaitForPodsReady> read_wait_for_pods_ready() const {
    const json::value* section = root_.find("waitForPodsReady");
    if (section == nullptr || section->is_null()) return std::nullopt;
    const JsonReader reader = root_.object("waitForPodsReady");
    if (dialect_ == Dialect::kOurs) {
      check_fields(reader, section,
                   {"enable", "timeout", "recoveryTimeout", "blockAdmission", "blockAdmissionScope",
                    "requeuingStrategy"});
    } else {
      check_fields(reader, section,
                   {"enable", "timeout", "recoveryTimeout", "blockAdmission", "requeuingStrategy"});
    }
    // In v1beta1 it had to be asked for, and blocked and timed out sooner by default.
    const bool old = dialect_ == Dialect::kKueueV1Beta1;
    WaitForPodsReady wait;
    wait.timeout = read_duration(reader, "timeout",
                                 old ? std::chrono::minutes(5) : std::chrono::minutes(30), false);
    if (reader.has("recoveryTimeout")) {
      wait.recovery_timeout = read_duration(reader, "recoveryTimeout", {}, false);
    }
    if (reader.boolean("blockAdmission", old)) wait.blocks = BlockScope::kCluster;
    read_scope(reader, wait);
    read_requeuing(reader, wait);
    if (!reader.boolean("enable", !old)) return std::nullopt;
    return wait;
  }

  static void read_scope(const JsonReader& reader, WaitForPodsReady& wait) {
    const auto scope = reader.optional_string("blockAdmissionScope");
    if (!scope) return;
    if (wait.blocks == BlockScope::kNobody) {
      reader.report("blockAdmissionScope", "says nothing unless blockAdmission is true; set it");
    }
    if (*scope == "ClusterQueue") {
      wait.blocks = BlockScope::kClusterQueue;
    } else if (*scope == "ResourceFlavor") {
      wait.blocks = BlockScope::kFlavor;
    } else if (*scope != "Cluster") {
      reader.report("blockAdmissionScope",
                    fmt::format("\"{}\" is not Cluster, ClusterQueue or ResourceFlavor", *scope));
    }
  }

  void read_requeuing(const JsonReader& wait_reader, WaitForPodsReady& wait) const {
    const JsonReader reader = wait_reader.object("requeuingStrategy");
    check_fields(reader, wait_reader.find("requeuingStrategy"),
                 {"timestamp", "backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds"});
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    wait.back_by_creation = read_flag(reader, "timestamp", "Eviction", "Creation");
    if (const auto limit = reader.optional_integer("backoffLimitCount", 0, kMost)) {
      wait.limit = static_cast<int32_t>(*limit);
    }
    const auto seconds = [&](std::string_view field, Duration fallback, int64_t least) {
      const int64_t usual = std::chrono::duration_cast<std::chrono::seconds>(fallback).count();
      return std::chrono::seconds(reader.integer(field, usual, least, kMost));
    };
    wait.backoff = seconds("backoffBaseSeconds", wait.backoff, 0);
    wait.longest_backoff = seconds("backoffMaxSeconds", wait.longest_backoff, 1);
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
