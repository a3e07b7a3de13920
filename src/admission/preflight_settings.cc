#include "admission/preflight_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "admission/document.h"
#include "base/check.h"
#include "base/yaml.h"

namespace phalanx::admission {
namespace {

constexpr std::string_view kConfiguredKind = "config.kueue.x-k8s.io/";
// What Kueue does without a file.
constexpr std::string_view kNoSettings =
    "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\n";

std::string object_text(std::string_view kind, const json::value& document) {
  const Place metadata = Place(&document)["metadata"];
  return fmt::format("{} {}/{}", kind, metadata["namespace"].text(), metadata["name"].text());
}

// The value of an option in the words of a container: "--name=value" or "--name value", with one
// dash or two. The last one counts.
std::optional<std::string> option_of(const json::value& deployment, std::string_view name) {
  std::optional<std::string> value;
  const Place pod = Place(&deployment)["spec"]["template"]["spec"];
  for (const Place& container : pod["containers"].elements()) {
    bool is_next = false;
    for (const std::string_view field : {"command", "args"}) {
      for (const Place& each : container[field].elements()) {
        std::string_view word = each.text();
        if (is_next) value = word;
        is_next = false;
        if (!word.starts_with('-')) continue;
        word.remove_prefix(word.starts_with("--") ? 2 : 1);
        if (!word.starts_with(name)) continue;
        word.remove_prefix(name.size());
        is_next = word.empty();
        if (word.starts_with('=')) value = word.substr(1);
      }
    }
  }
  return value;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// As Kueue reads them: what Go takes for a boolean is one.
Result<json::object> parse_gates(std::string_view text) {
  constexpr std::array<std::string_view, 6> kOn{"true", "True", "TRUE", "t", "T", "1"};
  constexpr std::array<std::string_view, 6> kOff{"false", "False", "FALSE", "f", "F", "0"};
  json::object gates;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view entry = trimmed(text.substr(0, comma));
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    if (entry.empty()) continue;
    const size_t equals = entry.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? "" : trimmed(entry.substr(equals + 1));
    const bool on = std::ranges::find(kOn, value) != kOn.end();
    if (!on && std::ranges::find(kOff, value) == kOff.end()) {
      return fail(fmt::format("\"{}\" is not like Name=true", entry));
    }
    gates[trimmed(entry.substr(0, equals))] = on;
  }
  return gates;
}

bool mounts(const json::value& deployment, const json::value& config_map) {
  const Place metadata = Place(&config_map)["metadata"];
  if (!Place(&deployment)["metadata"]["namespace"].same_as(metadata["namespace"])) return false;
  const auto volumes = Place(&deployment)["spec"]["template"]["spec"]["volumes"].elements();
  return std::ranges::any_of(volumes, [&](const Place& volume) {
    return volume["configMap"]["name"].same_as(metadata["name"]);
  });
}

// The ConfigMaps that hold a Configuration: one, if all is well. Of several those count that Kueue
// has in its pods.
std::vector<const json::value*> configured(const PreflightDocuments& documents) {
  std::vector<const json::value*> all;
  std::vector<const json::value*> mounted;
  for (const json::value& config_map : documents.config_maps) {
    if (configuration_in(config_map).empty()) continue;
    all.push_back(&config_map);
    const bool in_pods = std::ranges::any_of(
        documents.kueue.deployments,
        [&](const json::value& deployment) { return mounts(deployment, config_map); });
    if (in_pods) mounted.push_back(&config_map);
  }
  return mounted.empty() ? all : mounted;
}

void judge_text(const std::string& text, const std::string& subject, const ReadConfiguration& read,
                std::vector<Finding>& findings) {
  const auto warnings = read(text);
  if (!warnings) {
    findings.push_back({FindingKind::kObstacle, subject,
                        warnings.error().message + "; phalanx manager would refuse it"});
    return;
  }
  for (const std::string& warning : *warnings) {
    findings.push_back({FindingKind::kNote, subject, warning});
  }
}

void judge_command_line(const json::value& deployment, bool has_configuration,
                        const ReadConfiguration& read, std::vector<Finding>& findings) {
  const std::string subject = object_text("Deployment", deployment);
  if (const auto file = option_of(deployment, "config"); file && !has_configuration) {
    findings.push_back(
        {FindingKind::kObstacle, subject,
         fmt::format("reads --config={}, and no ConfigMap of its namespace holds a Configuration: "
                     "what it says would be lost",
                     *file)});
  }
  const auto text = option_of(deployment, "feature-gates");
  if (!text) return;
  const auto gates = parse_gates(*text);
  if (!gates) {
    findings.push_back(
        {FindingKind::kObstacle, subject,
         fmt::format("--feature-gates: {}; what it says would be lost", gates.error().message)});
    return;
  }
  json::value only_gates = parse_documents(kNoSettings).value().front().value;
  only_gates.as_object()["featureGates"] = *gates;
  judge_text(to_yaml(only_gates), subject, read, findings);
}

}  // namespace

std::string configuration_in(const json::value& config_map) {
  for (const auto& [name, place] : Place(&config_map)["data"].entries()) {
    auto parsed = parse_documents(place.text());
    if (!parsed || parsed->size() != 1) continue;
    const Place document(&parsed->front().value);
    const bool kueue = document["apiVersion"].text().starts_with(kConfiguredKind);
    if (kueue && document["kind"].text() == "Configuration") return std::string(place.text());
  }
  return "";
}

void judge_settings(const PreflightDocuments& documents, const ReadConfiguration& read,
                    std::vector<Finding>& findings) {
  const auto config_maps = configured(documents);
  for (const json::value* config_map : config_maps) {
    const std::string subject = object_text("ConfigMap", *config_map);
    judge_text(configuration_in(*config_map), subject, read, findings);
    if (config_maps.size() == 1) continue;
    findings.push_back(
        {FindingKind::kObstacle, subject,
         fmt::format("is one of {} with a Configuration, and it cannot be told which "
                     "one is in force; remove the others",
                     config_maps.size())});
  }
  for (const json::value& deployment : documents.kueue.deployments) {
    judge_command_line(deployment, !config_maps.empty(), read, findings);
  }
}

std::map<std::string, std::string> settings_to_keep(const PreflightDocuments& documents) {
  const auto config_maps = configured(documents);
  const auto& deployments = documents.kueue.deployments;
  std::map<std::string, std::string> files;
  if (!config_maps.empty()) {
    files["configuration.yaml"] = configuration_in(*config_maps.front());
  } else if (!deployments.empty()) {
    files["configuration.yaml"] = kNoSettings;
  }
  for (const json::value& deployment : deployments) {
    const int64_t replicas = Place(&deployment)["spec"]["replicas"].number().value_or(1);
    // After Kueue was stopped that is no number to come back with.
    if (replicas > 0) files["replicas"] = fmt::format("{}\n", replicas);
    const auto gates = parse_gates(option_of(deployment, "feature-gates").value_or(""));
    if (!gates || gates->empty()) continue;
    auto documents_of_file = parse_documents(files["configuration.yaml"]);
    CHECK(documents_of_file.has_value() && documents_of_file->size() == 1);
    json::value& configuration = documents_of_file->front().value;
    json::value& of_file = configuration.as_object()["featureGates"];
    if (!of_file.is_object()) of_file = json::object();
    for (const auto& gate : *gates) of_file.as_object()[gate.key()] = gate.value();
    files["configuration.yaml"] = to_yaml(configuration);
  }
  return files;
}

}  // namespace phalanx::admission
