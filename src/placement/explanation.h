// Why something does not fit, as data: what a person asks first when a job is pending.
// (Stand-in; the structure and its rendering follow.)
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "placement/choose.h"
#include "placement/domain_counts.h"
#include "placement/level_plan.h"
#include "topology/cluster.h"

namespace phalanx::placement {

struct Explanation {
  std::string topology;
};

inline std::shared_ptr<const Explanation> explain(topology::Cluster& /*cluster*/, TreeId /*tree*/,
                                                  const DomainCounts& /*counts*/,
                                                  const LevelPlan& /*plan*/,
                                                  const Shortfall& /*shortfall*/) {
  return nullptr;
}

}  // namespace phalanx::placement
