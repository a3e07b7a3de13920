// What Kueue was told in a cluster, and what of it a manager of ours would make of that: its
// Configuration, the feature gates of its command line, the number of its replicas.
//
// Part of admission/preflight.h. A setting that is in force and would be lost is an obstacle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "admission/preflight.h"

namespace phalanx::admission {

void judge_settings(const PreflightDocuments& documents, const ReadConfiguration& read,
                    std::vector<Finding>& findings);

// Files by name: "configuration.yaml", in which the gates of the command line are, too, and
// "replicas".
std::map<std::string, std::string> settings_to_keep(const PreflightDocuments& documents);

}  // namespace phalanx::admission
