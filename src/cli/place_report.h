// What `phalanx place` says: for people as text with a picture, for programs as one document.
#pragma once

#include <string>
#include <vector>

#include "api/job.h"
#include "base/json.h"
#include "cli/tree_picture.h"
#include "placement/pod_set.h"
#include "topology/cluster.h"

namespace phalanx::cli {

struct JobOutcome {
  const api::Job* job = nullptr;
  std::string name;     // namespace/name
  std::string skipped;  // why it was not looked at; empty: it was
  std::vector<placement::PodSetResult> results;

  [[nodiscard]] bool failed() const {
    for (const placement::PodSetResult& result : results) {
      if (!result.assignment) return true;
    }
    return false;
  }
};

// {"topology": {"name", "levels"}, "jobs": [{"name", "podSets": [...]}]}: the pod sets are
// PodSetResults as conformance has them, with `explanation` beside a failure that has one.
json::value report_json(const topology::TreeSpec& spec, const std::vector<JobOutcome>& outcomes);

struct ReportStyle {
  PictureStyle picture;
  bool full_explanation = false;
};

// The paragraph about one Job: what it asks for, then its assignment or why there is none.
std::string report_text(topology::Cluster& cluster, TreeId tree, const JobOutcome& outcome,
                        const ReportStyle& style);

// "2 nodes left out: 1 not ready, 1 without rack"; empty if all nodes take part.
std::string left_out_text(const topology::LeftOutNodes& nodes, const topology::TreeSpec& spec);

}  // namespace phalanx::cli
