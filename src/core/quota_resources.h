// What quota counts instead of what pods ask for: resources that are not counted at all, and
// resources that count as others (docs/reference/queueing.md, "What counts"). The nodes know
// nothing of it.
#pragma once

#include <string_view>

#include "api/resources.h"
#include "core/configuration.h"

namespace phalanx::core {

// What quota counts for a pod that asks for `requests`.
api::ResourceAmounts counted(const QuotaResources& resources, const api::ResourceAmounts& requests);

// Whether what quota counts of a resource may be something else than what pods ask for.
bool counts_differently(const QuotaResources& resources, std::string_view resource);

}  // namespace phalanx::core
