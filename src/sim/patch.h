// Patches of JSON documents: what RFC 7386 and RFC 6902 say, and nothing about Kubernetes.
#pragma once

#include "base/error.h"
#include "base/json.h"

namespace phalanx::sim {

// JSON merge patch (RFC 7386): objects are merged, null removes, everything else replaces.
void apply_merge_patch(json::value& target, const json::value& patch);

// JSON patch (RFC 6902): a list of add, remove, replace, move, copy and test. The first operation
// that fails is named by its index; the target is then in no defined state and to be thrown away.
Result<void> apply_json_patch(json::value& target, const json::value& patch);

}  // namespace phalanx::sim
