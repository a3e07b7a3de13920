// phalanx preflight: whether a cluster on which Kueue decides can be taken over. See
// docs/how-to/migrate-from-kueue.md.
#include "cli/preflight.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "admission/preflight.h"
#include "admission/problem.h"
#include "base/file.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/kueue_cluster.h"
#include "cli/live_cluster.h"
#include "manager/settings.h"

namespace phalanx::cli {
namespace {

using admission::Finding;
using admission::FindingKind;

struct Arguments {
  LiveArguments live;
  std::string output = "text";
  std::string folder;  // empty: nothing is kept
};

size_t count_of(const std::vector<Finding>& findings, FindingKind kind) {
  return static_cast<size_t>(std::ranges::count(findings, kind, &Finding::kind));
}

std::string verdict(const std::vector<Finding>& findings) {
  const size_t obstacles = count_of(findings, FindingKind::kObstacle);
  const size_t steps = count_of(findings, FindingKind::kStep);
  if (obstacles > 0) {
    return fmt::format("no: {} in the way", admission::counted(obstacles, "obstacle"));
  }
  if (steps == 0) return "yes: Phalanx can be installed now";
  return fmt::format("yes: Phalanx can take over, after {}", admission::counted(steps, "step"));
}

void print_json(const std::vector<Finding>& findings) {
  json::array list;
  for (const Finding& finding : findings) {
    list.push_back(json::object{{"kind", admission::word_of(finding.kind)},
                                {"subject", finding.subject},
                                {"text", finding.text}});
  }
  const bool possible = count_of(findings, FindingKind::kObstacle) == 0;
  const json::object document{
      {"possible", possible}, {"verdict", verdict(findings)}, {"findings", std::move(list)}};
  std::cout << pretty_json(document) << "\n";
}

// Files that are there stay: they may be the only copy of what is gone from the cluster by now.
Result<void> keep_files(const std::string& folder, const admission::PreflightDocuments& documents) {
  std::error_code failed;
  if (std::filesystem::exists(folder, failed)) {
    return fail(fmt::format("{}: is there already; name another folder", folder));
  }
  std::filesystem::create_directories(folder, failed);
  if (failed) return fail(fmt::format("{}: {}", folder, failed.message()));
  for (const auto& [name, text] : admission::files_to_keep(documents)) {
    RETURN_IF_ERROR(write_file(fmt::format("{}/{}", folder, name), text));
  }
  return {};
}

Result<std::vector<std::string>> read_configuration(const std::string& text) {
  ASSIGN_OR_RETURN(manager::Settings settings,
                   manager::read_settings(text, "its Configuration", {}));
  return std::move(settings.warnings);
}

int run_preflight(const Arguments& arguments) {
  const bool as_json = arguments.output == "json";
  auto access = kube::find_access(arguments.live.access);
  if (!access) return bad_input("preflight: " + access.error().message, as_json);
  kube::ApiClient client(std::move(*access));
  const auto documents = read_preflight(client);
  if (!documents) return bad_input("preflight: " + documents.error().message, as_json);
  if (!arguments.folder.empty()) {
    const auto kept = keep_files(arguments.folder, *documents);
    if (!kept) return bad_input("preflight: --save: " + kept.error().message, as_json);
  }
  const std::vector<Finding> findings = admission::preflight(*documents, read_configuration);
  if (as_json) {
    print_json(findings);
  } else {
    for (const Finding& finding : findings) {
      std::cout << fmt::format("{:<8}  {}: {}\n", admission::word_of(finding.kind),
                               printable(finding.subject), printable(finding.text));
    }
    std::cout << verdict(findings) << "\n";
  }
  return count_of(findings, FindingKind::kObstacle) == 0 ? kDone : kExplainedNo;
}

}  // namespace

void add_preflight_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "preflight", "Say whether a cluster on which Kueue decides can be taken over");
  add_live_options(*command, arguments->live);
  command->add_option("-o,--output", arguments->output, "How to answer")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command
      ->add_option("--save", arguments->folder,
                   "Keep in this folder what Kueue needs to come back (its CRDs, the objects that "
                   "call it, its number of replicas) and its settings")
      ->type_name("FOLDER");
  command->footer(
      "The cluster is only read. Exit codes: 0 it can; 2 something is in the way; 1 bad input.");
  command->callback([arguments, &run] { run = [arguments] { return run_preflight(*arguments); }; });
}

}  // namespace phalanx::cli
