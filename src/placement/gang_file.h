// The file form of a gang tree, for `phalanx place` (docs/reference/gang.md):
//
//   apiVersion: phalanx.dev/v1alpha1
//   kind: Gang
//   metadata: {name: serve}
//   spec:                                  # the root group
//     required: topology.kubernetes.io/zone
//     groups:
//     - name: decode
//       preferred: example.com/rack
//       pods: {count: 4, min: 2, requests: {nvidia.com/gpu: 8}}
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "placement/gang.h"

namespace phalanx::placement {

// Reads a Gang object, strictly: unknown fields are errors.
Result<Gang> read_gang(const json::value& document);

// The result as data: what `place -o json` prints.
json::value gang_result_json(const Gang& gang, const GangResult& result);

}  // namespace phalanx::placement
