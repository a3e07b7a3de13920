// The answer to a scrape of /metrics, put together from what was counted, from the state of the
// core, and from the process itself. docs/reference/metrics.md lists all of it.
#pragma once

#include <string>

#include "core/core.h"
#include "manager/api_side.h"
#include "manager/meters.h"
#include "serve/server.h"

namespace phalanx::manager {

// What somebody else knows by the time the deciding thread is asked.
struct ScrapeContext {
  ApiGauges api;
  serve::ServerCounters webhooks;
  std::optional<Time> certificate_expires;
};

std::string render_metrics(const Meters& meters, const core::Core& core, const Standing& standing,
                           const ScrapeContext& context);

}  // namespace phalanx::manager
