// Server-side apply: the document of one manager merged into an object that others write, too.
//
// What the manager says is set; what it said before and no longer says goes, unless somebody else
// owns it as well. A field that another manager owns and that would change is a conflict, unless
// the apply is forced: then the field changes hands.
#pragma once

#include "api/kind.h"
#include "base/json.h"
#include "base/time.h"
#include "sim/api_error.h"
#include "sim/managed_fields.h"

namespace phalanx::sim {

struct Applied {
  json::value document;
  ManagedFields managers;
};

// `patch` holds only what the manager wants to own; status of kinds that have the subresource and
// everything else are looked at as `writer.status` says.
ApiResult<Applied> apply_patch(const api::ObjectKey& key, const json::value& live,
                               const json::value& patch, const Writer& writer, bool force,
                               Time now);

}  // namespace phalanx::sim
