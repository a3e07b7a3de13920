// Also phalanx account: what every node has left and every workload holds. See
// docs/reference/account.md.
#include "cli/live_account.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "base/wall_clock.h"
#include "cli/command.h"
#include "cli/simulate_run.h"
#include "core/account_report.h"
#include "core/core.h"
#include "jobs/batch_job.h"
#include "kube/curl_transport.h"

namespace phalanx::cli {
namespace {

struct Arguments {
  LiveArguments live;
  RunArguments configured;  // of which only the configuration counts
  std::string manager;
  std::string patience = "10s";
};

// A cluster at work is never quite the same for both: it has some time to be.
int compare(const Arguments& arguments, kube::ApiClient& client,
            const core::Configuration& configuration, Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto rebuilt = rebuild_live_account(client, configuration);
    if (!rebuilt) return bad_input("account: " + rebuilt.error().message);
    auto kept = fetch_account(arguments.manager);
    if (!kept) return bad_input("account: " + kept.error().message);
    const auto same = core::compare_accounts(*kept, *rebuilt);
    if (same) {
      std::cout << "the account is what the objects say\n";
      return kDone;
    }
    if (std::chrono::steady_clock::now() > deadline) {
      std::cout << same.error().message << "\n";
      return kExplainedNo;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

int run_account(const Arguments& arguments) {
  const auto patience = parse_duration(arguments.patience);
  if (!patience) return bad_input("--patience: " + patience.error().message);
  auto configuration = read_configuration(arguments.configured);
  if (!configuration) return bad_input("account: " + configuration.error().message);
  auto access = kube::find_access(arguments.live.access);
  if (!access) return bad_input("account: " + access.error().message);
  kube::ApiClient client(std::move(*access));
  if (!arguments.manager.empty()) return compare(arguments, client, *configuration, *patience);
  const auto account = rebuild_live_account(client, *configuration);
  if (!account) return bad_input("account: " + account.error().message);
  std::cout << pretty_json(*account) << "\n";
  return kDone;
}

}  // namespace

Result<json::object> rebuild_live_account(kube::ApiClient& client,
                                          const core::Configuration& configuration) {
  const core::Adapters adapters = jobs::all_adapters();
  std::vector<core::Object> objects;
  for (const api::Kind kind : core::Core(configuration, adapters).watched_kinds()) {
    auto documents = client.list(kind);
    if (!documents) {
      return fail(fmt::format("{} cannot be listed: {}", api::info(kind).plural,
                              documents.error().message));
    }
    for (const json::value& document : *documents) {
      ASSIGN_OR_RETURN(core::Object object, core::decode_object(document, adapters));
      objects.push_back(std::move(object));
    }
  }
  const Time now = wall_now();
  return core::rebuilt_account(configuration, adapters, now, std::move(objects));
}

Result<json::object> fetch_account(const std::string& manager) {
  kube::ClusterAccess plain;
  plain.server = manager;
  kube::HttpRequest request;
  request.target = "/debug/account";
  ASSIGN_OR_RETURN(json::value account,
                   kube::read_document(kube::CurlTransport(plain).ask(std::move(request)),
                                       manager + "/debug/account"));
  if (!account.is_object()) return fail(manager + "/debug/account: is no account");
  return std::move(account.get_object());
}

void add_account_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "account",
      "Show what every node of a running cluster has left, or check a manager's account");
  add_live_options(*command, arguments->live);
  command->add_option("--config", arguments->configured.configuration,
                      "The manager's configuration file");
  command->add_option("--feature-gates", arguments->configured.feature_gates, "A=true,B=false");
  command->add_option("--manager", arguments->manager,
                      "Compare with the account of this manager: http://127.0.0.1:8080, its "
                      "--metrics-address");
  command->add_option("--patience", arguments->patience, "How long they may differ at most")
      ->capture_default_str();
  command->footer("Exit codes: 0 done, or they agree; 2 they differ; 1 bad input.");
  command->callback([arguments, &run] { run = [arguments] { return run_account(*arguments); }; });
}

}  // namespace phalanx::cli
