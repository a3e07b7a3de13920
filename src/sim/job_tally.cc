#include "sim/job_tally.h"

#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "sim/object_fields.h"

namespace phalanx::sim {
namespace {

constexpr std::string_view kUncounted = "uncountedTerminatedPods";

// Uids whose pods are still tracked stay; of the others the return value is the number.
int64_t settle_uids(const JobView& job, std::string_view list, const std::set<std::string>& tracked,
                    std::vector<std::string>& kept) {
  int64_t settled = 0;
  for (const json::value& entry : list_field(*job.document, {"status", kUncounted, list})) {
    const std::string uid(string_at(entry, {}));
    if (tracked.contains(uid)) {
      kept.push_back(uid);
    } else {
      ++settled;
    }
  }
  return settled;
}

json::array to_list(const std::vector<std::string>& uids) {
  json::array list;
  for (const std::string& uid : uids) list.emplace_back(uid);
  return list;
}

}  // namespace

JobTally tally_pods(const JobView& job, const std::vector<JobPod>& pods) {
  const json::value& document = *job.document;
  JobTally tally;
  std::set<std::string> tracked;
  for (const JobPod& pod : pods) {
    if (pod.tracked) tracked.insert(pod.uid);
  }
  tally.succeeded = integer_at(document, {"status", "succeeded"}).value_or(0) +
                    settle_uids(job, "succeeded", tracked, tally.uncounted_succeeded);
  tally.failed = integer_at(document, {"status", "failed"}).value_or(0) +
                 settle_uids(job, "failed", tracked, tally.uncounted_failed);
  std::set<std::string> known(tally.uncounted_succeeded.begin(), tally.uncounted_succeeded.end());
  known.insert(tally.uncounted_failed.begin(), tally.uncounted_failed.end());
  const int64_t bound = job.completions.value_or(std::numeric_limits<int32_t>::max());
  if (job.indexed) {
    tally.completed = parse_indexes(string_at(document, {"status", "completedIndexes"}), bound);
  }

  for (const JobPod& pod : pods) {
    if (!pod.tracked || !(pod.succeeded || pod.failed)) continue;
    tally.to_release.push_back(&pod);
    if (known.contains(pod.uid)) continue;
    if (pod.succeeded && job.indexed) {
      const bool counts = pod.index && *pod.index < bound;
      if (counts && tally.completed.insert(*pod.index).second) tally.newly_finished.push_back(&pod);
      continue;
    }
    (pod.succeeded ? tally.uncounted_succeeded : tally.uncounted_failed).push_back(pod.uid);
    tally.newly_finished.push_back(&pod);
  }
  if (job.indexed) tally.succeeded = static_cast<int64_t>(tally.completed.size());
  return tally;
}

void write_tally(const JobView& job, const JobTally& tally, json::object& status) {
  set_count(status, "succeeded", tally.succeeded);
  set_count(status, "failed", tally.failed);
  if (job.indexed && !tally.completed.empty()) {
    status["completedIndexes"] = format_indexes(tally.completed);
  } else {
    status.erase("completedIndexes");
  }
  json::object uncounted;
  if (!tally.uncounted_succeeded.empty()) {
    uncounted["succeeded"] = to_list(tally.uncounted_succeeded);
  }
  if (!tally.uncounted_failed.empty()) uncounted["failed"] = to_list(tally.uncounted_failed);
  status[kUncounted] = std::move(uncounted);
}

void set_count(json::object& status, std::string_view name, int64_t count) {
  if (count == 0) {
    status.erase(name);
  } else {
    status[name] = count;
  }
}

}  // namespace phalanx::sim
