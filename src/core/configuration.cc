#include "core/configuration.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/spelling.h"
#include "base/yaml.h"
#include "core/configuration_queueing.h"
#include "core/feature_gates.h"

namespace phalanx::core {
namespace {

constexpr std::string_view kOurGroup = "config.phalanx.dev/";
constexpr std::string_view kKueueGroup = "config.kueue.x-k8s.io/";

// Fields of both configurations that are read: here, or (from "namespace" on) by the process
// around the core.
constexpr std::array<std::string_view, 16> kKnownFields{"apiVersion",
                                                        "kind",
                                                        "resources",
                                                        "fairSharing",
                                                        "admissionFairSharing",
                                                        "waitForPodsReady",
                                                        "manageJobsWithoutQueueName",
                                                        "managedJobsNamespaceSelector",
                                                        "featureGates",
                                                        "namespace",
                                                        "leaderElection",
                                                        "clientConnection",
                                                        "webhook",
                                                        "internalCertManagement",
                                                        "health",
                                                        "metrics"};
// Fields that only ours has.
constexpr std::string_view kHeadReservation = "headReservation";

// Fields of the file that mean nothing: of ours an error, of Kueue's a warning each.
Result<void> check_fields(const json::object& file, bool ours, std::vector<std::string>& unused) {
  for (const auto& field : file) {
    const std::string_view key(field.key().data(), field.key().size());
    if (std::ranges::find(kKnownFields, key) != kKnownFields.end()) continue;
    if (!ours) {
      unused.emplace_back(key);
      continue;
    }
    if (key == kHeadReservation) continue;
    // The first two are always there.
    std::vector<std::string_view> known(kKnownFields.begin() + 2, kKnownFields.end());
    known.push_back(kHeadReservation);
    return fail(
        fmt::format("{}: is no field of this configuration{}", key, suggestion(key, known)));
  }
  return {};
}

// Kueue has gates that come and go with its versions: in a file of its own they are no mistake.
bool is_known_gate(std::string_view name) {
  const std::vector<std::string_view> names = feature_gate_names();
  return std::ranges::find(names, name) != names.end();
}

Result<void> read_gates(const JsonReader& reader, bool ours, Configuration& configuration,
                        std::vector<std::string>& warnings) {
  const json::value* gates = reader.find("featureGates");
  if (gates == nullptr) return {};
  if (!gates->is_object()) return fail("featureGates: must be a map of names to true or false");
  for (const auto& [name, value] : gates->get_object()) {
    if (!value.is_bool()) {
      return fail(fmt::format("featureGates.{}: must be true or false",
                              std::string_view(name.data(), name.size())));
    }
    const std::string_view gate(name.data(), name.size());
    if (!ours && !is_known_gate(gate)) {
      warnings.push_back(
          fmt::format("feature gate {} is not known here, and changes nothing", gate));
      continue;
    }
    auto warning = set_feature_gate(gate, value.get_bool(), configuration);
    if (!warning) return within("featureGates", warning.error());
    if (!warning->empty()) warnings.push_back(*warning);
  }
  return {};
}

// A selector with a misspelt field would select everything.
void check_selector(const JsonReader& file) {
  const JsonReader selector = file.object("managedJobsNamespaceSelector");
  selector.allow_only({"matchLabels", "matchExpressions"});
  selector.each("matchExpressions", [&](const json::value& value, const std::string& path) {
    JsonReader(&value, path, selector.status()).allow_only({"key", "operator", "values"});
  });
}

}  // namespace

Result<ConfigurationFile> parse_configuration(std::string_view text, const std::string& name) {
  auto documents = parse_documents(text);
  if (!documents) return within(name, documents.error());
  if (documents->size() != 1) {
    return fail(fmt::format("{}: holds {} documents, but must hold one Configuration", name,
                            documents->size()));
  }
  DecodeStatus status;
  const JsonReader reader(&documents->front().value, "", status);
  const std::string version = reader.string("apiVersion");
  const std::string kind = reader.string("kind");
  const bool ours = version == std::string(kOurGroup) + "v1";
  if (kind != "Configuration" || (!ours && !version.starts_with(kKueueGroup))) {
    return fail(
        fmt::format("{}: apiVersion and kind are \"{}\" and \"{}\", but must be "
                    "config.phalanx.dev/v1 (or config.kueue.x-k8s.io/v1beta2) and "
                    "Configuration",
                    name, version, kind));
  }
  ConfigurationFile file;
  Configuration& configuration = file.configuration;
  std::vector<std::string> unused;
  if (auto known = check_fields(documents->front().value.get_object(), ours, unused); !known) {
    return within(name, known.error());
  }
  configuration.manage_jobs_without_queue_name =
      reader.boolean("manageJobsWithoutQueueName", false);
  configuration.managed_jobs_namespace_selector =
      api::read_label_selector(reader, "managedJobsNamespaceSelector");
  if (ours) check_selector(reader);
  const Dialect dialect = ours                            ? Dialect::kOurs
                          : version.ends_with("/v1beta1") ? Dialect::kKueueV1Beta1
                                                          : Dialect::kKueue;
  read_queueing(reader, dialect, configuration, unused);
  if (status.error()) return within(name, *status.error());
  for (const std::string& path : unused) {
    file.warnings.push_back(fmt::format("{}: {}: is not used here", name, path));
  }
  if (auto gates = read_gates(reader, ours, configuration, file.warnings); !gates) {
    return within(name, gates.error());
  }
  return file;
}

Result<std::vector<std::string>> apply_feature_gates(std::string_view gates,
                                                     Configuration& configuration) {
  std::vector<std::string> warnings;
  while (!gates.empty()) {
    const size_t comma = gates.find(',');
    const std::string_view entry = gates.substr(0, comma);
    gates = comma == std::string_view::npos ? "" : gates.substr(comma + 1);
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    const std::string_view value = equals == std::string_view::npos ? "" : entry.substr(equals + 1);
    if (value != "true" && value != "false") {
      return fail(fmt::format("\"{}\" must be like Name=true", entry));
    }
    auto warning = set_feature_gate(entry.substr(0, equals), value == "true", configuration);
    if (!warning) return std::unexpected(warning.error());
    if (!warning->empty()) warnings.push_back(*warning);
  }
  return warnings;
}

}  // namespace phalanx::core
