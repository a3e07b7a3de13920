#include "manager/scrape.h"

#include <prometheus/text_serializer.h>

#include <algorithm>

#include "base/process.h"
#include "manager/queue_gauges.h"

namespace phalanx::manager {
namespace {

void add_process_gauges(const Standing& standing, const ScrapeContext& context, Gauges& gauges) {
  gauges.set("kueue_build_info", "Which program this is; always 1.",
             {{"git_version", PHALANX_VERSION}, {"compiler", "clang"}, {"platform", "linux"}}, 1);
  gauges.set("phalanx_leader", "1 if this replica decides.", {},
             standing.role == Role::kFollower ? 0 : 1);
  gauges.set("phalanx_ready", "1 if it knows the cluster and answers webhooks.", {},
             standing.ready ? 1 : 0);
  gauges.set("phalanx_api_writes_unfinished", "Writes under way or waiting.", {},
             static_cast<double>(context.api.unfinished_writes));
  for (const auto& [kind, blind] : context.api.blind) {
    gauges.set("phalanx_watch_blind_seconds",
               "For how long the kind has been without a watch that works.",
               {{"resource", std::string(api::info(kind).plural)}},
               std::chrono::duration<double>(blind).count());
  }
  if (context.certificate_expires) {
    gauges.set(
        "phalanx_webhook_certificate_expiry_timestamp_seconds",
        "When the certificate of the webhooks runs out.", {},
        std::chrono::duration<double>(context.certificate_expires->time_since_epoch()).count());
  }
  const serve::ServerCounters& webhooks = context.webhooks;
  gauges.set("phalanx_webhook_connections", "Connections to the webhooks that are open.", {},
             static_cast<double>(webhooks.connections_open));
  gauges.set("process_resident_memory_bytes", "Memory that the process occupies.", {},
             static_cast<double>(resident_bytes()));
}

void add_cluster_gauges(const core::State& state, Gauges& gauges) {
  for (const auto& [kind, count] : state.known.counts()) {
    gauges.set("phalanx_objects", "Objects that are known, by resource.",
               {{"resource", std::string(api::info(kind).plural)}}, static_cast<double>(count));
  }
  size_t gated = 0;
  for (const auto& [workload, pods] : state.gated_pods_of_workload) gated += pods.size();
  gauges.set("phalanx_gated_pods", "Pods that wait for their places.", {},
             static_cast<double>(gated));
  size_t troubled = 0;
  for (const auto& [workload, hosts] : state.troubled_hosts) troubled += hosts.empty() ? 0 : 1;
  gauges.set("phalanx_troubled_workloads",
             "Workloads that are placed on nodes which are gone or not well.", {},
             static_cast<double>(troubled));
}

prometheus::MetricFamily connections_lost(const serve::ServerCounters& webhooks) {
  prometheus::MetricFamily family{"phalanx_webhook_connections_lost_total",
                                  "Connections to the webhooks that did not end well.",
                                  prometheus::MetricType::Counter,
                                  {}};
  for (const auto& [how, count] : {std::pair{"refused", webhooks.connections_refused},
                                   std::pair{"evicted", webhooks.connections_evicted},
                                   std::pair{"handshake-failed", webhooks.handshakes_failed},
                                   std::pair{"timed-out", webhooks.timeouts}}) {
    prometheus::ClientMetric& metric = family.metric.emplace_back();
    metric.label = {{"how", how}};
    metric.counter.value = static_cast<double>(count);
  }
  return family;
}

prometheus::MetricFamily cpu_seconds() {
  prometheus::MetricFamily family{"process_cpu_seconds_total",
                                  "CPU time of the process.",
                                  prometheus::MetricType::Counter,
                                  {{}}};
  family.metric.front().counter.value = process_cpu_seconds();
  return family;
}

}  // namespace

std::string render_metrics(const Meters& meters, const core::Core& core, const Standing& standing,
                           const ScrapeContext& context) {
  Gauges gauges;
  add_process_gauges(standing, context, gauges);
  add_cluster_gauges(core.state(), gauges);
  add_queue_gauges(core, standing.role, gauges);
  std::vector<prometheus::MetricFamily> families = meters.registry.families.Collect();
  for (prometheus::MetricFamily& family : gauges.take()) families.push_back(std::move(family));
  families.push_back(cpu_seconds());
  families.push_back(connections_lost(context.webhooks));
  // The library keeps series in hash maps: people compare two scrapes by eye.
  for (prometheus::MetricFamily& family : families) {
    std::ranges::sort(family.metric, std::less{}, &prometheus::ClientMetric::label);
  }
  std::ranges::sort(families, std::less{}, &prometheus::MetricFamily::name);
  return prometheus::TextSerializer{}.Serialize(families);
}

}  // namespace phalanx::manager
