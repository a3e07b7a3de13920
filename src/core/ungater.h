// Gives each gated pod of an admitted workload its place: takes our scheduling gate away and adds
// the node selector of its domain (KEP-2724, "Enforcing the assignment").
//
// Pods that have ranks go by them: the pod of rank r goes to the domain that holds the r-th place
// of the assignment, so consecutive ranks are in one domain. If the ranks cannot be used (missing,
// twice, beyond the assignment, or at odds with pods that are placed already) the pods fill the
// domains in order instead: late is worse than unordered.
//
// A domain never gets more pods than the assignment gives it. Pods whose gate is being removed
// count as placed (they are busy in the outbox), and a pod that is going keeps its place until it
// is gone.
//
// Only pods that the workload's own job made are un-gated.
#pragma once

#include <string>
#include <vector>

#include "core/outbox.h"
#include "core/state.h"
#include "core/verdict.h"

namespace phalanx::core {

struct Ungating {
  std::vector<Verdict> pods;
  // Pod sets whose ranks could not be used, and why.
  std::vector<std::pair<std::string, std::string>> rank_problems;
};

// Where pods that were un-gated by us but not seen yet are to go, by pod.
using Expected = std::map<std::string, std::vector<std::string>>;

Ungating ungate(const State& state, const Outbox& outbox, const Expected& expected,
                const std::string& workload);

}  // namespace phalanx::core
