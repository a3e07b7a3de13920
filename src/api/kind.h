// The kinds of objects that Phalanx reads or writes, and how the API addresses them.
//
// Everything that stores, watches or writes objects goes by Kind, so that a kind is spelled out
// once, in the table of kind.cc. Objects of other kinds are not ours to touch.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace phalanx::api {

enum class Kind : uint8_t {
  kNamespace,
  kNode,
  kPod,
  kLimitRange,
  kPodTemplate,
  kPriorityClass,
  kRuntimeClass,
  kJob,
  kTopology,
  kResourceFlavor,
  kCohort,
  kAdmissionCheck,
  kProvisioningRequestConfig,
  kClusterQueue,
  kLocalQueue,
  kWorkload,
  kWorkloadPriorityClass,
  kProvisioningRequest,
  kEvent,
};

struct KindInfo {
  Kind kind;
  std::string_view group;    // "" for the core group
  std::string_view version;  // the one that is stored
  std::string_view name;     // "ClusterQueue"
  std::string_view plural;   // "clusterqueues"
  bool namespaced;
  bool has_status;  // a status subresource
  // Somebody else's definition, which a cluster may lack: then it has no such objects.
  bool optional = false;
};

std::span<const KindInfo> all_kinds();
const KindInfo& info(Kind kind);
// "batch/v1", "v1".
std::string api_version(Kind kind);
// By apiVersion and kind of a document. kueue.x-k8s.io has two versions of each kind and both are
// found; nullopt for kinds that nobody here reads.
std::optional<Kind> find_kind(std::string_view api_version, std::string_view kind);

// Which object: the address under which the API server knows it. namespace_ is empty for kinds that
// have none.
struct ObjectKey {
  Kind kind = Kind::kNode;
  std::string namespace_;
  std::string name;

  // "ClusterQueue team-a", "Job ml/train".
  [[nodiscard]] std::string text() const;
  auto operator<=>(const ObjectKey&) const = default;
};

}  // namespace phalanx::api
