// Whether a cluster on which Kueue decides can be taken over: what of it Phalanx does not have,
// what would be lost, and what has to be done first. See docs/how-to/migrate-from-kueue.md.
//
// - An obstacle is something in use that would stop working: the cluster should not be taken over.
// - A step is something of Kueue that acts in the cluster and has to be out of the way first
//   (admission/kueue_presence.h).
// - A note is something that will be different, and nothing that is in use now suffers from it.
//
// Judged from documents as an API server shows them, those of kueue.x-k8s.io in v1beta2. What
// concerns many objects is said once, with their number and the first few of them.
//
// Pure and deterministic; linear in the documents, 60 us for a small Workload.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "admission/kueue_presence.h"
#include "base/error.h"
#include "base/json.h"

namespace phalanx::admission {

struct PreflightDocuments {
  KueueDocuments kueue;
  std::vector<json::value> crds;         // of the group kueue.x-k8s.io
  std::vector<json::value> config_maps;  // in the namespaces of Kueue's Deployments
  // Objects by their kind: of kueue.x-k8s.io, and Jobs.
  std::map<std::string, std::vector<json::value>> objects;
  std::vector<json::value> managed_pods;  // which Kueue holds back by a gate of its own
  // Objects of CRDs of that group which Phalanx does not have: their number by plural.
  std::map<std::string, size_t> other_objects;
};

enum class FindingKind : uint8_t { kObstacle, kStep, kNote };

// "obstacle", "step", "note".
std::string_view word_of(FindingKind kind);

struct Finding {
  FindingKind kind = FindingKind::kNote;
  std::string subject;
  std::string text;

  bool operator==(const Finding&) const = default;
};

// Reads a Configuration as the manager would, and gives its warnings.
using ReadConfiguration = std::function<Result<std::vector<std::string>>(const std::string& text)>;

// Obstacles first, then steps in their order, then notes.
std::vector<Finding> preflight(const PreflightDocuments& documents, const ReadConfiguration& read);

// What has to be kept, as files by name: for Kueue to get the cluster back "crds.yaml",
// "callers.yaml" (webhook configurations and API services) and "replicas"; for Phalanx to go on
// with its settings "configuration.yaml". Without those of which there is nothing in the cluster.
std::map<std::string, std::string> files_to_keep(const PreflightDocuments& documents);

// The Configuration in a ConfigMap of Kueue's; "" if it holds none.
std::string configuration_in(const json::value& config_map);

}  // namespace phalanx::admission
