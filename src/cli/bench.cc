// phalanx bench: figures of the engine, each next to what it is to be compared with.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/bench_report.h"
#include "cli/command.h"

namespace phalanx::cli {
namespace {

void add_bench_preemption(CLI::App& bench, Run& run) {
  auto preemption = std::make_shared<BenchPreemptionArguments>();
  CLI::App* command = bench.add_subcommand(
      "preemption", "Who has to go for a gang, on clusters full of workloads of lower priority");
  command->add_option("--nodes", preemption->nodes, "Nodes of the clusters, as in 1000,10000")
      ->delimiter(',')
      ->check(CLI::Range(64, 200'000))
      ->capture_default_str();
  command->add_option("--repeat", preemption->repeat, "Decisions of each kind; 0: for two seconds")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", preemption->json, "Print a JSON array, one object for each decision");
  command->callback(
      [preemption, &run] { run = [preemption] { return bench_preemption(*preemption); }; });
}

void add_bench_soak(CLI::App& bench, Run& run) {
  auto soak = std::make_shared<BenchSoakArguments>();
  CLI::App* command = bench.add_subcommand(
      "soak", "Weeks of a cluster with failing nodes, in virtual time; checks what must hold");
  command->add_option("--nodes", soak->nodes, "Nodes; a tenth of them is made when needed")
      ->check(CLI::Range(20, 10'000))
      ->capture_default_str();
  command->add_option("--days", soak->days, "Simulated days in which jobs come")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
  command->add_option("--load", soak->load, "Work that comes, in percent of the GPUs")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  command->add_option("--seed", soak->seed, "Decides everything; the same seed, the same run")
      ->capture_default_str();
  command->add_option("--journal", soak->journal, "Write the decision journal to this file");
  command->add_option("-o,--output", soak->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([soak, &run] { run = [soak] { return bench_soak(*soak); }; });
}

void add_bench_webhooks(CLI::App& bench, Run& run) {
  auto webhooks = std::make_shared<BenchWebhooksArguments>();
  CLI::App* command = bench.add_subcommand(
      "webhooks",
      "Reviews and garbage for a running manager, at a fixed rate; checks every answer");
  command->add_option("--url", webhooks->url, "Where its webhooks are, as https://127.0.0.1:9443")
      ->required();
  command->add_option("--ca", webhooks->ca, "File with the CA that its certificate is signed by")
      ->required();
  command->add_option("--server-name", webhooks->server_name,
                      "That its certificate has; otherwise the host of the URL");
  command->add_option("--rate", webhooks->rate, "Requests a second")
      ->check(CLI::Range(1.0, 100'000.0))
      ->capture_default_str();
  command->add_option("--duration", webhooks->seconds, "How long, as in 30s or 2m")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, int>{{"s", 1}, {"m", 60}},
                                        CLI::AsNumberWithUnit::CASE_SENSITIVE, "DURATION"))
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  command->add_option("--garbage", webhooks->garbage, "Percent of the requests that make no sense")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  command->add_option("--connections", webhooks->connections, "Connections that are kept")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_option("--seed", webhooks->seed, "Decides all requests and their order")
      ->capture_default_str();
  command->add_option("--pid", webhooks->pid, "Process of the manager, for its memory and CPU time")
      ->check(CLI::Range(1, 1 << 22));
  command->add_option("-o,--output", webhooks->output, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->callback([webhooks, &run] { run = [webhooks] { return bench_webhooks(*webhooks); }; });
}

}  // namespace

void add_bench_command(CLI::App& app, Run& run) {
  CLI::App* bench = app.add_subcommand("bench", "Measure the engine");
  bench->require_subcommand(1);

  auto placement = std::make_shared<BenchPlacementArguments>();
  CLI::App* command = bench->add_subcommand(
      "placement", "Decisions on a cluster of N nodes, compared with one pass over its columns");
  command->add_option("--nodes", placement->nodes, "Nodes of the cluster; several for a table")
      ->required()
      ->check(CLI::Range(1, 2'000'000));
  command->add_option("--shape", placement->shapes, "Only these request shapes");
  command->add_option("--repeat", placement->repeat, "Least number of repetitions of a measurement")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("--json", placement->json, "Print a JSON array, one object for each shape");
  command->callback(
      [placement, &run] { run = [placement] { return bench_placement(*placement); }; });

  auto encoding = std::make_shared<BenchEncodingArguments>();
  command = bench->add_subcommand(
      "encoding", "Bytes of an assignment of one pod to each of N nodes, by node naming scheme");
  command->add_option("--nodes", encoding->nodes, "Nodes of the assignment")
      ->check(CLI::Range(1, 200'000))
      ->capture_default_str();
  command->add_flag("--json", encoding->json, "Print a JSON array, one object for each scheme");
  command->callback([encoding, &run] { run = [encoding] { return bench_encoding(*encoding); }; });

  auto admission = std::make_shared<BenchAdmissionArguments>();
  command = bench->add_subcommand(
      "admission", "15 000 workloads through 30 queues: CPU per decision, waiting, utilisation");
  command->add_option("--nodes", admission->nodes, "Nodes of the cluster, 64 to a rack")
      ->check(CLI::Range(64, 200'000))
      ->capture_default_str();
  command
      ->add_option("--preset", admission->preset,
                   "What is scarce: quota, nodes, or quota that cohorts share")
      ->capture_default_str();
  command->add_option("--percent", admission->percent, "So many percent of the workloads")
      ->check(CLI::Range(2, 100))
      ->capture_default_str();
  command->add_flag("--json", admission->json, "Print one JSON object");
  command->callback(
      [admission, &run] { run = [admission] { return bench_admission(*admission); }; });

  add_bench_preemption(*bench, run);
  add_bench_soak(*bench, run);
  add_bench_webhooks(*bench, run);

  auto listing = std::make_shared<BenchListingArguments>();
  command = bench->add_subcommand(
      "listing", "Lists of nodes and pods, decoded and held as a manager does when it starts");
  command->add_option("--nodes", listing->nodes, "Nodes of the cluster")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_option("--pods", listing->pods, "Pods, spread over the nodes")
      ->check(CLI::Range(0, 5'000'000))
      ->capture_default_str();
  command
      ->add_option("--managed", listing->managed, "Of these pods: of workloads that were admitted")
      ->check(CLI::Range(0, 5'000'000))
      ->capture_default_str();
  command->add_flag("--json", listing->json, "Print one JSON object");
  command->callback([listing, &run] { run = [listing] { return bench_listing(*listing); }; });

  auto gang = std::make_shared<BenchGangArguments>();
  command = bench->add_subcommand("gang", "Gang-tree searches: large, packed, and impossible");
  command->add_flag("--json", gang->json, "Print a JSON array, one object for each search");
  command->callback([gang, &run] { run = [gang] { return bench_gang(*gang); }; });
}

}  // namespace phalanx::cli
