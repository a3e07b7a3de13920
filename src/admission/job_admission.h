// What our webhooks make of a batch/v1 Job: it is put into the default queue of its namespace if it
// names none, held back until it is admitted, and refused if what it asks of the topology, or for
// running with fewer pods, makes no sense (KEP-2724, "Validation"). Pure functions of the document
// and of what is asked about the cluster. Jobs that are not ours are never touched.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "admission/problem.h"
#include "api/object_meta.h"
#include "base/json.h"
#include "core/state.h"

namespace phalanx::admission {

// What the webhook has to know of the cluster.
struct JobContext {
  bool default_queue_exists = false;  // LocalQueue "default" in the job's namespace
  bool manage_without_queue = false;  // jobs without a queue name are managed in this namespace
  bool owned_by_managed = false;      // its controller is itself managed
};

// What that depends on of a Job. A few short texts, however large the Job: the thread that has the
// state is not to be kept busy by whoever sends one.
struct JobFacts {
  std::string namespace_;
  std::string uid;                                // empty of a new one
  bool has_queue = false;                         // it names one
  bool run_by_another = false;                    // spec.managedBy
  std::optional<api::OwnerReference> controller;  // that owns it

  // Texts that are longer than any that an API server would store count as absent.
  static constexpr size_t kLongestText = 512;
};

// The namespace of the Job must be filled in, as API servers do; its name need not be. What makes
// no sense in it is for the API server to refuse, and no reason to let it run.
JobFacts job_facts(const json::value& job);

// Of the state that decisions are made by: what a webhook says of a Job is then what the core will
// do with it.
JobContext job_context(const core::State& state, const JobFacts& job,
                       const core::Adapters& adapters);

// A new Job: label and suspend are filled in.
void default_job(json::value& job, const JobContext& context);

// `old_job` is nullptr for a new one.
std::vector<Problem> validate_job(const json::value* old_job, const json::value& job);

// Whether somebody who may not admit starts a Job that waits in a queue, or for one. The core would
// stop it again, but until then its pods would run beside every quota and without their gates.
std::vector<Problem> check_start_by_hand(const json::value& old_job, const json::value& job,
                                         const JobContext& context);

// What its user should know although it is allowed.
std::vector<std::string> job_warnings(const json::value& job);

}  // namespace phalanx::admission
