#include "core/provisioning_holder.h"

#include <algorithm>

namespace phalanx::core {
namespace {

template <typename Objects>
const api::ObjectMeta* meta_in(const Objects& objects, const std::string& name) {
  const auto found = objects.find(name);
  return found == objects.end() ? nullptr : &found->second.meta;
}

Holder holder_by(const WorkloadState& workload, const api::OwnerReference& owner) {
  if (owner.uid == workload.object.meta.uid) return Holder::kOwn;
  return owner.name == workload.object.name ? Holder::kEarlier : Holder::kOther;
}

// Kueue has a request own the PodTemplates that it names.
Holder holder_by_request(const State& state, const WorkloadState& workload,
                         const api::ObjectMeta& pod_template) {
  const auto owner =
      std::ranges::find(pod_template.owners, api::info(api::Kind::kProvisioningRequest).name,
                        &api::OwnerReference::kind);
  if (owner == pod_template.owners.end()) return Holder::kOther;
  const api::ObjectMeta* request =
      meta_in(state.provisioning_requests, pod_template.namespace_ + "/" + owner->name);
  if (request == nullptr || request->uid != owner->uid) return Holder::kEarlier;
  const api::OwnerReference* of_request = owning_workload(*request);
  return of_request == nullptr ? Holder::kOther : holder_by(workload, *of_request);
}

}  // namespace

const api::OwnerReference* owning_workload(const api::ObjectMeta& meta) {
  const auto found = std::ranges::find_if(meta.owners, [](const api::OwnerReference& owner) {
    return api::find_kind(owner.api_version, owner.kind) == api::Kind::kWorkload;
  });
  return found == meta.owners.end() ? nullptr : &*found;
}

Holder holder_of(const State& state, const WorkloadState& workload, const api::ObjectKey& key) {
  const bool is_template = key.kind == api::Kind::kPodTemplate;
  const api::ObjectMeta* meta = is_template ? meta_in(state.pod_templates, full_name(key))
                                            : meta_in(state.provisioning_requests, full_name(key));
  if (meta == nullptr) {
    if (!state.known.contains(key)) return Holder::kNobody;
    // Every request is kept that can be read, but no PodTemplate that is nobody's.
    return is_template ? Holder::kOther : Holder::kUnreadable;
  }
  if (const api::OwnerReference* owner = owning_workload(*meta)) return holder_by(workload, *owner);
  return is_template ? holder_by_request(state, workload, *meta) : Holder::kOther;
}

}  // namespace phalanx::core
