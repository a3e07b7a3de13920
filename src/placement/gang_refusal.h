// Why a gang does not fit: the group that the search could not get past, and the same account of it
// that a single pod set gets (placement/explanation.h), with what the search had placed before it.
#pragma once

#include <memory>
#include <string>

#include "placement/explanation.h"
#include "placement/gang_search.h"

namespace phalanx::placement {

struct GangRefusal {
  std::string failure;
  std::shared_ptr<const Explanation> explanation;
};

// The cluster is unchanged afterwards.
GangRefusal refuse_gang(topology::Cluster& cluster, const GangItems& items,
                        const std::string& gang_name, const GangSearch& search);

}  // namespace phalanx::placement
