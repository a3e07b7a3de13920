// phalanx explain -f FILE... NAME: why a Job or Workload waits, or where it is. See
// docs/reference/explain.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>

#include "base/spelling.h"
#include "cli/command.h"
#include "cli/explain_workload.h"
#include "cli/simulate_report.h"
#include "cli/simulate_run.h"

namespace phalanx::cli {
namespace {

struct Arguments {
  RunArguments run;
  std::string name;
  std::string at;
  std::string output = "text";
};

// Jobs and Workloads by "namespace/name"; a Job comes before the Workload of the same name.
std::map<std::string, api::ObjectKey> all_objects(const core::State& state) {
  std::map<std::string, api::ObjectKey> objects;
  for (const auto& [key, job] : state.jobs) objects.emplace(key.namespace_ + "/" + key.name, key);
  for (const auto& [name, workload] : state.workloads) {
    objects.emplace(name, core::key_of(api::Kind::kWorkload, name));
  }
  return objects;
}

bool is_meant(std::string_view full_name, std::string_view name) {
  if (name.find('/') != std::string_view::npos) return full_name == name;
  return full_name.substr(full_name.find('/') + 1) == name;
}

Result<api::ObjectKey> find_object(const core::State& state, const std::string& name) {
  const auto objects = all_objects(state);
  std::vector<std::string_view> names;
  std::vector<api::ObjectKey> found;
  for (const auto& [full_name, key] : objects) {
    names.emplace_back(full_name);
    if (is_meant(full_name, name)) found.push_back(key);
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return fail(fmt::format("{}: is in several namespaces; write {}/{}, or another", name,
                            found.front().namespace_, name));
  }
  if (names.empty()) return fail(fmt::format("{}: there is no Job and no Workload at all", name));
  // Without a namespace the names are compared without theirs.
  if (name.find('/') == std::string::npos) {
    for (std::string_view& candidate : names) candidate.remove_prefix(candidate.find('/') + 1);
  }
  return fail(
      fmt::format("{}: there is no Job or Workload of this name{}", name, suggestion(name, names)));
}

int exit_code_of(Standing standing) {
  const bool waits = standing == Standing::kWaiting || standing == Standing::kSetAside;
  return waits ? kExplainedNo : kDone;
}

int run_explain(const Arguments& arguments) {
  const bool as_json = arguments.output == "json";
  if (arguments.run.files.empty() && arguments.run.load.empty() && !arguments.run.live.given()) {
    return bad_input(
        "name manifests with -f, a saved cluster with --load, or a running one with --kubeconfig",
        as_json);
  }
  RunPlan plan;
  // A running cluster is asked about now, not about what will have become of it.
  if (arguments.run.live.given()) plan.until = Duration(0);
  if (!arguments.at.empty()) {
    const auto at = parse_duration(arguments.at);
    if (!at) return bad_input("--at: " + at.error().message, as_json);
    if (*at > kLongestRun) return bad_input("--at: at most 720h (30 days)", as_json);
    plan.until = *at;
  }
  auto prepared = SimulationRun::prepare(arguments.run);
  if (!prepared) return bad_input(prepared.error().message, as_json);
  SimulationRun& run = **prepared;
  if (const auto ran = run.run(plan); !ran) {
    (void)bad_input((ran.error().internal ? "internal fault: " : "") + ran.error().message,
                    as_json);
    return ran.error().internal ? kInternalFault : kBadInput;
  }
  core::Core& core = run.cluster().core();
  const auto key = find_object(core.state(), arguments.name);
  if (!key) {
    for (const auto& [name, at] : run.jobs_to_come()) {
      if (!is_meant(name, arguments.name)) continue;
      return bad_input(fmt::format("{}: is submitted at {}; ask for that time or a later one with "
                                   "--at",
                                   name, format_duration(at)),
                       as_json);
    }
    return bad_input(key.error().message, as_json);
  }
  const WorkloadAnswer answer = key->kind == api::Kind::kWorkload
                                    ? explain_workload(core, key->namespace_ + "/" + key->name)
                                    : explain_job(core, *key);
  const Duration at = run.now() - run.start();
  if (as_json) {
    json::object document = answer_json(answer);
    document["at"] = format_duration(at);
    std::cout << pretty_json(document) << "\n";
  } else {
    const bool now = arguments.run.live.given() && at == Duration(0);
    std::cout << (now ? "" : fmt::format("After {}: ", short_duration(at))) << answer_text(answer);
  }
  return exit_code_of(answer.standing);
}

}  // namespace

void add_explain_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "Say why a Job or Workload waits, after a run on an embedded cluster");
  command
      ->add_option("-f,--filename", arguments->run.files,
                   "Manifests and Timelines: files, folders, - for stdin")
      ->type_name("FILE");
  command->add_option("NAME", arguments->name, "The Job or Workload: [NAMESPACE/]NAME")->required();
  add_run_options(*command, arguments->run);
  add_load_option(*command, arguments->run);
  command
      ->add_option("--at", arguments->at,
                   "Cluster time to look at; without it, when nothing moves any more")
      ->type_name("DURATION");
  command->add_option("-o,--output", arguments->output, "How to answer")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->footer(
      "Needs -f, --load or --kubeconfig. Exit codes: 0 it is admitted, has ended or is not "
      "managed, 2 it waits "
      "or is\n"
      "set aside, 1 bad input. Everything else is in docs/reference/explain.md.");
  command->callback([arguments, &run] { run = [arguments] { return run_explain(*arguments); }; });
}

}  // namespace phalanx::cli
