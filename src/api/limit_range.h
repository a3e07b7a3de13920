// core/v1 LimitRange: what containers of a namespace get that say nothing themselves.
//
// Only the defaults for containers are read here; minima and maxima are the API server's to
// enforce.
#pragma once

#include "api/object_meta.h"
#include "api/resources.h"

namespace phalanx::api {

struct ContainerDefaults {
  ResourceAmounts requests;
  ResourceAmounts limits;

  [[nodiscard]] bool empty() const { return requests.empty() && limits.empty(); }
};

struct LimitRange {
  ObjectMeta meta;
  ContainerDefaults defaults;
};

// A default limit without a default request is the default request, too.
LimitRange read_limit_range(const JsonReader& object);

}  // namespace phalanx::api
