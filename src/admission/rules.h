// Rules of the kinds of kueue.x-k8s.io that a schema cannot say, because they concern several
// fields, or what a field was before: the CEL rules of deploy/crds, in C++, and what clients of
// these kinds rely on being refused (unknown pod sets, quotas below zero, labels that are none).
//
// Documents are of the stored version, with defaults filled in, and valid by their schema; one that
// is not gives useless problems, but never a crash.
#pragma once

#include <string_view>

#include "admission/document.h"
#include "admission/problem.h"

namespace phalanx::admission {

struct Change {
  Place before;  // absent for a new object
  Place after;
  bool status = false;  // only the status was written: the rest is as it was
};

// Kinds without rules pass.
void check_rules(std::string_view kind, const Change& change, ProblemList& problems);

// By kind; each in the file of its name or its group.
void check_topology(const Change& change, ProblemList& problems);
void check_resource_flavor(const Change& change, ProblemList& problems);
void check_cluster_queue(const Change& change, ProblemList& problems);
void check_cohort(const Change& change, ProblemList& problems);
void check_local_queue(const Change& change, ProblemList& problems);
void check_admission_check(const Change& change, ProblemList& problems);
void check_provisioning_request_config(const Change& change, ProblemList& problems);
void check_workload(const Change& change, ProblemList& problems);

// Parts that several kinds have.
void check_labels(const Place& labels, ProblemList& problems);
void check_tolerations(const Place& tolerations, ProblemList& problems);
void check_label_selector(const Place& selector, ProblemList& problems);
// The status of a Workload.
void check_workload_status(const Change& change, ProblemList& problems);
// What of it only those may write who may admit: all but what the controllers of admission checks
// say, and conditions of others. Whoever could write the rest could give himself quota and nodes.
void check_status_is_kept(const Change& change, ProblemList& problems);

}  // namespace phalanx::admission
