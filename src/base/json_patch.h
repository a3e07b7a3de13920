// Patches of JSON documents: what RFC 7386 and RFC 6902 say, and nothing about Kubernetes.
//
// Applying a patch is linear in the document and the patch; what copies of a patch may add up to is
// bounded. A difference is linear in both documents.
#pragma once

#include "base/error.h"
#include "base/json.h"

namespace phalanx {

// JSON merge patch (RFC 7386): objects are merged, null removes, everything else replaces.
void apply_merge_patch(json::value& target, const json::value& patch);

// JSON patch (RFC 6902): a list of add, remove, replace, move, copy and test. The first operation
// that fails is named by its index; the target is then in no defined state and to be thrown away.
Result<void> apply_json_patch(json::value& target, const json::value& patch);

// The JSON patch that makes `after` of `before`: additions, removals and replacements of what
// differs, and nothing of what does not. Numbers are the same only if they are written alike: 1 is
// not 1.0. Of a list the ends that are the same are left alone, and what is between them is changed
// element by element; an insertion in the middle of other changes may cost more than is needed.
json::array json_difference(const json::value& before, const json::value& after);

}  // namespace phalanx
