#include "api/kind.h"

#include <array>

#include "base/check.h"

namespace phalanx::api {
namespace {

constexpr std::string_view kKueue = "kueue.x-k8s.io";

// In the order of the enumeration.
constexpr std::array kKinds{
    KindInfo{Kind::kNamespace, "", "v1", "Namespace", "namespaces", false, true},
    KindInfo{Kind::kNode, "", "v1", "Node", "nodes", false, true},
    KindInfo{Kind::kPod, "", "v1", "Pod", "pods", true, true},
    KindInfo{Kind::kLimitRange, "", "v1", "LimitRange", "limitranges", true, false},
    KindInfo{Kind::kPodTemplate, "", "v1", "PodTemplate", "podtemplates", true, false},
    KindInfo{Kind::kPriorityClass, "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses",
             false, false},
    KindInfo{Kind::kRuntimeClass, "node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", false,
             false},
    KindInfo{Kind::kJob, "batch", "v1", "Job", "jobs", true, true},
    KindInfo{Kind::kTopology, kKueue, "v1beta2", "Topology", "topologies", false, false},
    KindInfo{Kind::kResourceFlavor, kKueue, "v1beta2", "ResourceFlavor", "resourceflavors", false,
             false},
    KindInfo{Kind::kCohort, kKueue, "v1beta2", "Cohort", "cohorts", false, true},
    KindInfo{Kind::kAdmissionCheck, kKueue, "v1beta2", "AdmissionCheck", "admissionchecks", false,
             true},
    KindInfo{Kind::kProvisioningRequestConfig, kKueue, "v1beta2", "ProvisioningRequestConfig",
             "provisioningrequestconfigs", false, false},
    KindInfo{Kind::kClusterQueue, kKueue, "v1beta2", "ClusterQueue", "clusterqueues", false, true},
    KindInfo{Kind::kLocalQueue, kKueue, "v1beta2", "LocalQueue", "localqueues", true, true},
    KindInfo{Kind::kWorkload, kKueue, "v1beta2", "Workload", "workloads", true, true},
    KindInfo{Kind::kWorkloadPriorityClass, kKueue, "v1beta2", "WorkloadPriorityClass",
             "workloadpriorityclasses", false, false},
    KindInfo{Kind::kProvisioningRequest, "autoscaling.x-k8s.io", "v1", "ProvisioningRequest",
             "provisioningrequests", true, true, true},
    KindInfo{Kind::kEvent, "", "v1", "Event", "events", true, false},
};

constexpr bool in_order() {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (static_cast<size_t>(kKinds[i].kind) != i) return false;
  }
  return true;
}
static_assert(in_order());

bool serves(const KindInfo& info, std::string_view group, std::string_view version) {
  if (info.group != group) return false;
  return version == info.version || (group == kKueue && version == "v1beta1");
}

}  // namespace

std::span<const KindInfo> all_kinds() {
  return kKinds;
}

const KindInfo& info(Kind kind) {
  CHECK(static_cast<size_t>(kind) < kKinds.size());
  return kKinds[static_cast<size_t>(kind)];
}

std::string api_version(Kind kind) {
  const KindInfo& about = info(kind);
  if (about.group.empty()) return std::string(about.version);
  return std::string(about.group) + "/" + std::string(about.version);
}

std::optional<Kind> find_kind(std::string_view api_version, std::string_view kind) {
  const size_t slash = api_version.find('/');
  const std::string_view group =
      slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  const std::string_view version =
      slash == std::string_view::npos ? api_version : api_version.substr(slash + 1);
  for (const KindInfo& about : kKinds) {
    if (about.name == kind && serves(about, group, version)) return about.kind;
  }
  return std::nullopt;
}

std::string ObjectKey::text() const {
  std::string text(info(kind).name);
  text += ' ';
  if (!namespace_.empty()) text += namespace_ + "/";
  return text + name;
}

}  // namespace phalanx::api
