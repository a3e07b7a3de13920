// What can be read off the state at any moment: how many workloads wait and run, and what queues
// and cohorts have, use and may borrow, under Kueue's names (docs/reference/metrics.md).
//
// Nothing of it is kept: a queue that is gone is not shown any more.
#pragma once

#include <prometheus/metric_family.h>

#include <string>
#include <vector>

#include "core/core.h"
#include "manager/meters.h"
#include "manager/role.h"

namespace phalanx::manager {

// Collects gauges into families, each in the order in which it came up.
class Gauges {
 public:
  void set(const std::string& name, const std::string& help, const Labels& labels, double value);
  std::vector<prometheus::MetricFamily> take() { return std::move(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
  std::map<std::string, size_t> place_of_;  // by name
};

// `role` is that of this replica. Costs some microseconds for each queue and each workload.
void add_queue_gauges(const core::Core& core, Role role, Gauges& gauges);

}  // namespace phalanx::manager
