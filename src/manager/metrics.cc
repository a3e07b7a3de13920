#include "manager/metrics.h"

#include <fmt/format.h>

#include "base/process.h"

namespace phalanx::manager {
namespace {

void summary(std::string& text, std::string_view name, std::string_view help,
             const Latency& latency) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} summary\n", name, help);
  for (const double quantile : {0.5, 0.9, 0.99}) {
    text += fmt::format("{}{{quantile=\"{}\"}} {:.6f}\n", name, quantile,
                        latency.quantile_ms(quantile) / 1000);
  }
  text +=
      fmt::format("{0}_sum {1:.6f}\n{0}_count {2}\n", name, latency.sum_seconds(), latency.count());
}

void head(std::string& text, std::string_view name, std::string_view type, std::string_view help) {
  text += fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

}  // namespace

std::string render_metrics(const ApiMeasures& api, size_t unfinished_writes) {
  std::string text;
  summary(text, "phalanx_own_latency_seconds",
          "From the arrival of an event to the write that it led to being ready to go.", api.own);
  summary(text, "phalanx_write_queue_seconds", "From a write being ready to its being sent.",
          api.write_queue);
  summary(text, "phalanx_write_round_trip_seconds",
          "From a write being sent to its answer from the API server.", api.round_trip);
  head(text, "phalanx_api_writes_total", "counter",
       "Writes by what was written and the answer's code; 0 is no answer.");
  for (const auto& [what, count] : api.writes) {
    const size_t space = what.first.find(' ');
    text +=
        fmt::format("phalanx_api_writes_total{{verb=\"{}\",resource=\"{}\",code=\"{}\"}} {}\n",
                    what.first.substr(0, space), what.first.substr(space + 1), what.second, count);
  }
  head(text, "phalanx_api_writes_unfinished", "gauge", "Writes under way or waiting.");
  text += fmt::format("phalanx_api_writes_unfinished {}\n", unfinished_writes);
  head(text, "phalanx_api_events_total", "counter", "Objects that came in, and results of writes.");
  text += fmt::format("phalanx_api_events_total {}\n", api.events_received);
  head(text, "process_cpu_seconds_total", "counter", "CPU time of the process.");
  text += fmt::format("process_cpu_seconds_total {:.3f}\n", process_cpu_seconds());
  head(text, "process_resident_memory_bytes", "gauge", "Memory that the process occupies.");
  text += fmt::format("process_resident_memory_bytes {}\n", resident_bytes());
  return text;
}

}  // namespace phalanx::manager
