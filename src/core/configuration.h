// How the core is set up: the part of the configuration that decides.
//
// Read from a file of ours (apiVersion config.phalanx.dev/v1, kind Configuration), in which an
// unknown field is an error, or from Kueue's (config.kueue.x-k8s.io), of which the parts that we
// have are understood and the rest is named in a warning. Both spell the fields alike.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/label_selector.h"
#include "base/error.h"
#include "base/json.h"
#include "placement/pod_set.h"

namespace phalanx::core {

struct Configuration {
  // Jobs without a queue name are suspended too, and wait until they get one.
  bool manage_jobs_without_queue_name = false;
  // Where that holds. Namespaces of the system are never managed without a queue name.
  std::optional<api::LabelSelector> managed_jobs_namespace_selector;
  bool reclaimable_pods = true;           // gate ReclaimablePods
  bool topology_aware_scheduling = true;  // gate TopologyAwareScheduling
  placement::Options placement;           // gates TASProfileMixed, TASBalancedPlacement, ...

  bool operator==(const Configuration&) const = default;
};

struct ConfigurationFile {
  Configuration configuration;
  std::vector<std::string> warnings;
};

// `text` is YAML or JSON; `name` stands for it in errors.
Result<ConfigurationFile> parse_configuration(std::string_view text, const std::string& name);

// "A=true,B=false" on top of what the configuration says. Unknown gates are errors that name the
// nearest known one; gates of Kueue that change nothing here are warnings.
Result<std::vector<std::string>> apply_feature_gates(std::string_view gates,
                                                     Configuration& configuration);

}  // namespace phalanx::core
