#include "sim/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/node_generator.h"
#include "sim/scenario_placement.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kApiVersion = "phalanx.dev/v1";
constexpr std::array<std::string_view, 1> kThen{"then"};

Result<std::vector<Expectation>> read_then(const json::object& step) {
  RETURN_IF_ERROR(check_fields(step, kThen));
  const json::value& written = *step.if_contains("then");
  if (!written.is_array()) return fail("then: must be a list of expectations");
  std::vector<Expectation> expectations;
  for (const json::value& entry : written.get_array()) {
    auto expectation = read_expectation(entry);
    if (!expectation) {
      return within(fmt::format("then[{}]", expectations.size()), expectation.error());
    }
    expectations.push_back(std::move(*expectation));
  }
  return expectations;
}

Result<Step> read_step(const json::value& document) {
  const json::object* object = document.if_object();
  if (object != nullptr && object->contains("then")) return read_then(*object);
  return read_action(document, kThen);
}

Result<std::string> configuration_text(const json::value* written) {
  if (written == nullptr) return std::string();
  if (!written->is_object()) return fail("config: must be a Configuration");
  // The kind goes without saying here.
  json::object configuration = written->get_object();
  if (!configuration.contains("apiVersion")) {
    configuration["apiVersion"] = "config.phalanx.dev/v1";
  }
  if (!configuration.contains("kind")) configuration["kind"] = "Configuration";
  return json::serialize(configuration);
}

Result<void> add_nodes(const std::string& description, std::vector<json::value>& documents) {
  if (description.empty()) return {};
  ASSIGN_OR_RETURN(const NodePlan plan, parse_node_plan(description));
  for (size_t i = 0; i < plan.count(); ++i) documents.push_back(plan.node(i));
  return {};
}

Result<void> rest(Backend& backend) {
  RETURN_IF_ERROR(backend.pass(Duration(0)));
  return check_no_overcommit(backend);
}

Result<void> take(const Step& step, Backend& backend) {
  if (const auto* action = std::get_if<Action>(&step)) {
    RETURN_IF_ERROR(perform(*action, backend));
    return rest(backend);
  }
  for (const Expectation& expectation : std::get<std::vector<Expectation>>(step)) {
    RETURN_IF_ERROR(backend.eventually([&] { return expectation(backend); }));
  }
  return {};
}

}  // namespace

Result<Scenario> read_scenario(const json::value& document) {
  const json::object* object = document.if_object();
  if (object == nullptr) return fail("must be a Scenario");
  constexpr std::array<std::string_view, 11> kFields{
      "apiVersion", "kind",    "metadata", "description", "config",      "featureGates",
      "nodes",      "include", "given",    "steps",       "onKubernetes"};
  RETURN_IF_ERROR(check_fields(*object, kFields));
  DecodeStatus status;
  const JsonReader reader(&document, "", status);
  if (const std::string version = reader.string("apiVersion"); version != kApiVersion) {
    return fail(fmt::format("apiVersion: is \"{}\", but must be {}", version, kApiVersion));
  }
  Scenario scenario;
  const JsonReader metadata = reader.object("metadata");
  if (metadata.present()) {
    constexpr std::array<std::string_view, 1> kMetadata{"name"};
    auto checked = check_fields(reader.find("metadata")->get_object(), kMetadata);
    if (!checked) return within("metadata", checked.error());
  }
  scenario.name = metadata.required_string("name");
  scenario.description = reader.string("description");
  scenario.feature_gates = reader.string("featureGates");
  scenario.include = reader.strings("include");
  scenario.on_kubernetes = reader.boolean("onKubernetes", false);
  const std::string nodes = reader.string("nodes");
  if (status.error()) return std::unexpected(*status.error());
  if (auto made = add_nodes(nodes, scenario.given); !made) return within("nodes", made.error());
  ASSIGN_OR_RETURN(scenario.configuration, configuration_text(reader.find("config")));
  if (const json::value* given = reader.find("given")) {
    ASSIGN_OR_RETURN(auto documents, read_documents(*given, "given"));
    std::ranges::move(documents, std::back_inserter(scenario.given));
  }
  const json::value* steps = reader.find("steps");
  if (steps == nullptr || !steps->is_array() || steps->get_array().empty()) {
    return fail("steps: must be a list with at least one step");
  }
  for (const json::value& entry : steps->get_array()) {
    auto step = read_step(entry);
    if (!step) {
      return within(fmt::format("step {}", scenario.steps.size() + 1), step.error());
    }
    scenario.steps.push_back(std::move(*step));
  }
  return scenario;
}

Result<void> run_scenario(const Scenario& scenario, Backend& backend) {
  const Action given{ApplyAction{scenario.given}, std::nullopt};
  if (auto taken = take(given, backend); !taken) return within("given", taken.error());
  for (size_t i = 0; i < scenario.steps.size(); ++i) {
    auto taken = take(scenario.steps[i], backend);
    if (!taken) return within(fmt::format("step {}", i + 1), taken.error());
  }
  auto checked = backend.check_account();
  if (!checked) return within("at the end", checked.error());
  return {};
}

}  // namespace phalanx::sim
