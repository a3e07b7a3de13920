// phalanx manager: serves a Kubernetes cluster until it is told to stop. See
// docs/reference/manager.md.
#include "manager/manager.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "base/file.h"
#include "cli/command.h"
#include "cli/stop_signals.h"
#include "manager/log.h"
#include "manager/settings.h"

namespace phalanx::cli {
namespace {

struct Arguments {
  kube::AccessOptions access;
  manager::ManagerOptions manager;
  manager::LogFormat log_format = manager::LogFormat::kText;
  manager::Level log_level = manager::Level::kInfo;
  bool check_config = false;
  std::string drain_timeout = "1s";
};

// Whether the manager would start with this configuration, without a cluster.
int check_configuration(const manager::ManagerOptions& options) {
  const std::string& file = options.configuration_file;
  if (file.empty()) return bad_input("manager: --check-config needs a file: --config FILE");
  const auto text = read_file(file);
  if (!text) return bad_input("manager: " + text.error().message);
  const auto settings = manager::read_settings(*text, file, options.overrides);
  if (!settings) return bad_input("manager: " + settings.error().message);
  for (const std::string& warning : settings->warnings) remark(warning);
  std::cout << file << ": understood\n";
  return kDone;
}

int run_manager(Arguments arguments) {
  if (arguments.check_config) return check_configuration(arguments.manager);
  const auto drain_timeout = parse_duration(arguments.drain_timeout);
  if (!drain_timeout) return bad_input("--drain-timeout: " + drain_timeout.error().message);
  arguments.manager.drain_timeout = *drain_timeout;
  const auto begun = std::chrono::steady_clock::now();
  manager::set_log_style(arguments.log_format, arguments.log_level);
  auto access = kube::find_access(arguments.access);
  if (!access) return bad_input("manager: " + access.error().message);
  auto manager = manager::Manager::make(std::move(*access), arguments.manager);
  if (!manager) return bad_input("manager: " + manager.error().message);
  const StopSignals signals;
  Result<void> outcome;
  {
    std::atomic<bool> over = false;
    const std::jthread waiter([&] {
      // In short parts: a manager that ends by itself must not wait for a signal.
      while (!over && !signals.wait_until(std::chrono::steady_clock::now() +
                                          std::chrono::milliseconds(200))) {
      }
      (*manager)->stop();
    });
    outcome = (*manager)->run([&] {
      const auto took = std::chrono::steady_clock::now() - begun;
      std::cout << fmt::format("ready in {} ms\n",
                               std::chrono::duration_cast<std::chrono::milliseconds>(took).count())
                << std::flush;
    });
    over = true;
  }
  if (!outcome) return bad_input("manager: " + outcome.error().message);
  return kDone;
}

}  // namespace

void add_manager_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  manager::Overrides& overrides = arguments->manager.overrides;
  CLI::App* command =
      app.add_subcommand("manager", "Serve a Kubernetes cluster: watch, decide, write");
  command->add_option("--kubeconfig", arguments->access.kubeconfig,
                      "Whom to talk to; by default KUBECONFIG, ~/.kube/config or the service "
                      "account of the pod");
  command->add_option("--context", arguments->access.context, "A context of the kubeconfig");
  command->add_option("--config", arguments->manager.configuration_file,
                      "A Configuration, config.phalanx.dev/v1 or Kueue's; a changed file is taken "
                      "over");
  command->add_flag("--check-config", arguments->check_config,
                    "Only say whether this file is understood, and what of it is not used");
  command->add_option("--feature-gates", overrides.feature_gates, "A=true,B=false");
  command->add_option("--webhook-port", overrides.webhook_port, "HTTPS, for the API server [9443]")
      ->check(CLI::Range(1, 65535));
  command->add_option("--webhook-cert-dir", overrides.webhook_cert_dir,
                      "Certificates of the webhooks: made and renewed here, unless somebody else "
                      "does");
  command->add_option("--webhook-secret", overrides.webhook_secret,
                      "A Secret in the lease's namespace by which replicas share them");
  command->add_option("--drain-timeout", arguments->drain_timeout,
                      "At the end: how long webhooks are answered until API servers hang up, "
                      "which they do after 90 s [1s]");
  command->add_option("--health-address", overrides.health_address,
                      "Where /healthz and /readyz are, or 0 [:8081]");
  command->add_option("--metrics-address", overrides.metrics_address,
                      "Where /metrics and /debug/account are, over HTTPS for those with a bearer "
                      "token of the cluster, or 0 [:8443]");
  const std::map<std::string, manager::LogFormat> formats{{"text", manager::LogFormat::kText},
                                                          {"json", manager::LogFormat::kJson}};
  command->add_option("--log-format", arguments->log_format, "text or json [text]")
      ->transform(CLI::CheckedTransformer(formats));
  const std::map<std::string, manager::Level> levels{{"info", manager::Level::kInfo},
                                                     {"warn", manager::Level::kWarning},
                                                     {"error", manager::Level::kError}};
  command->add_option("--log-level", arguments->log_level, "info, warn or error [info]")
      ->transform(CLI::CheckedTransformer(levels));
  command->add_option("--lease-namespace", overrides.lease_namespace,
                      "Where replicas elect their leader [phalanx-system]");
  command->add_option("--identity", arguments->manager.identity,
                      "Of this replica, to which a number is added; by default the host's name");
  command->add_option("--journal", arguments->manager.journal,
                      "Append every decision to this file, a line of JSON each");
  command->callback([arguments, &run] { run = [arguments] { return run_manager(*arguments); }; });
}

}  // namespace phalanx::cli
