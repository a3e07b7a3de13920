// Also phalanx account: what every node has left and every workload holds. See
// docs/reference/account.md.
#include "cli/live_account.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "base/file.h"
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
  std::string manager_ca;
  std::string manager_token;
  std::string patience = "10s";
};

// How to ask the manager: as whoever asks the API server, unless there is a token for this.
Result<kube::ClusterAccess> manager_access(const Arguments& arguments,
                                           const kube::ClusterAccess& cluster) {
  kube::ClusterAccess access;
  access.server = arguments.manager;
  while (access.server.ends_with('/')) access.server.pop_back();
  if (!access.server.starts_with("https://")) {
    return fail(
        fmt::format("--manager: \"{}\" does not begin with https://; a token must not be "
                    "sent in the clear",
                    arguments.manager));
  }
  if (!arguments.manager_ca.empty()) {
    ASSIGN_OR_RETURN(access.authority, read_file(arguments.manager_ca));
  }
  access.token = cluster.token;
  access.token_file = cluster.token_file;
  access.exec = cluster.exec;
  if (!arguments.manager_token.empty()) {
    access.exec.reset();
    access.token.clear();
    access.token_file = arguments.manager_token;
  }
  if (access.token.empty() && access.token_file.empty() && !access.exec) {
    return fail(
        "--manager: the kubeconfig has no bearer token to show it; give one with --manager-token "
        "FILE (kubectl create token makes one)");
  }
  return access;
}

// A cluster at work is never quite the same for both: it has some time to be.
int compare(const Arguments& arguments, kube::ApiClient& client,
            const core::Configuration& configuration, Duration patience) {
  const auto manager = manager_access(arguments, client.access());
  if (!manager) return bad_input("account: " + manager.error().message);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (true) {
    auto rebuilt = rebuild_live_account(client, configuration);
    if (!rebuilt) return bad_input("account: " + rebuilt.error().message);
    auto kept = fetch_account(*manager);
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

Result<json::object> fetch_account(const kube::ClusterAccess& manager) {
  kube::HttpRequest request;
  request.target = "/debug/account";
  const std::string address = manager.server + request.target;
  ASSIGN_OR_RETURN(
      json::value account,
      kube::read_document(kube::CurlTransport(manager).ask(std::move(request)), address));
  if (!account.is_object()) return fail(address + ": is no account");
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
                      "Compare with the account of this manager: https://127.0.0.1:8443, its "
                      "--metrics-address");
  command->add_option("--manager-ca", arguments->manager_ca,
                      "A file with the CA of the manager's certificate: ca.crt of its folder or "
                      "Secret; by default what the system trusts");
  command->add_option("--manager-token", arguments->manager_token,
                      "A file with a bearer token that may get /debug/account; by default that of "
                      "the kubeconfig");
  command->add_option("--patience", arguments->patience, "How long they may differ at most")
      ->capture_default_str();
  command->footer("Exit codes: 0 done, or they agree; 2 they differ; 1 bad input.");
  command->callback([arguments, &run] { run = [arguments] { return run_account(*arguments); }; });
}

}  // namespace phalanx::cli
