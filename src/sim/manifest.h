// Manifests as people hand them in: written by hand, cut down, or listed from a running cluster.
//
// An object that was listed carries what its API server gave out, which is worth nothing in another
// cluster. It is told by its uid: nobody writes one by hand.
#pragma once

#include "base/error.h"
#include "base/json.h"
#include "base/time.h"

namespace phalanx::sim {

// Takes out what only an API server or a controller gives out: uid, resourceVersion, ... Of a Job
// that was listed also its status, and the generated selector with the labels it looks for: the Job
// starts anew, as another object.
void drop_generated_fields(json::value& document);

// Gives the conditions of the status what a shortened manifest leaves out: reason, message and
// time.
void complete_conditions(json::value& document, Time now);

// Whether the annotations that say how pods run (sim/kubelet.h) make sense, of a Job or Pod. The
// error names the field.
Result<void> check_run_annotations(const json::value& document);

}  // namespace phalanx::sim
