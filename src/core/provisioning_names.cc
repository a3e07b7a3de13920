#include "core/provisioning_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sha256.h"
#include "core/hashed_name.h"
#include "core/provisioning_holder.h"

namespace phalanx::core {
namespace {

constexpr size_t kMaxName = 253;
constexpr size_t kHash = 5;
constexpr size_t kHashOfPurpose = 8;

// Names leave room for a hash, as Kueue's do.
std::string shortened(const std::string& name) {
  if (name.size() <= kMaxName - 1 - kHash) return name;
  return with_hash(name, sha256_hex(name).substr(0, kHash), kMaxName);
}

// Whoever has an object keeps its name, whatever becomes of the other's.
template <typename HolderOf>
std::string chosen(std::string name, const std::string& purpose, HolderOf holder_of_name) {
  const Holder holder = holder_of_name(name);
  if (holder == Holder::kOwn) return name;
  std::string other = told_apart(name, purpose);
  if (holder == Holder::kOther || holder_of_name(other) == Holder::kOwn) return other;
  return name;
}

}  // namespace

std::string provisioning_request_name(const std::string& workload, const std::string& check,
                                      int64_t attempt) {
  return shortened(fmt::format("{}-{}-{}", workload, check, attempt));
}

std::string provisioning_template_name(const std::string& request, const std::string& pod_set) {
  return shortened(fmt::format("ppt-{}-{}", request, pod_set));
}

std::string told_apart(const std::string& name, const std::string& purpose) {
  return with_hash(name, sha256_hex(purpose).substr(0, kHashOfPurpose), kMaxName);
}

// No name has a slash in it: different things give different purposes.
ProvisioningNames::ProvisioningNames(const State& state, const WorkloadState& workload,
                                     const std::string& check, int64_t attempt)
    : state_(state),
      workload_(workload),
      purpose_(fmt::format("{}/{}/{}", workload.object.name, check, attempt)) {
  request_ = chosen(provisioning_request_name(workload.object.name, check, attempt), purpose_,
                    [&](const std::string& name) {
                      return holder_of(
                          state, workload,
                          {api::Kind::kProvisioningRequest, workload.object.namespace_, name});
                    });
}

std::string ProvisioningNames::pod_template(const std::string& pod_set,
                                            const std::set<std::string>& taken) const {
  return chosen(provisioning_template_name(request_, pod_set), purpose_ + "/" + pod_set,
                [&](const std::string& name) {
                  if (taken.contains(name) || is_of_another_request(name)) return Holder::kOther;
                  return holder_of(state_, workload_,
                                   {api::Kind::kPodTemplate, workload_.object.namespace_, name});
                });
}

// Two checks of one Workload can come to one name, too.
bool ProvisioningNames::is_of_another_request(const std::string& pod_template) const {
  const auto owned = state_.requests_of_workload.find(workload_.object.meta.uid);
  if (owned == state_.requests_of_workload.end()) return false;
  return std::ranges::any_of(owned->second, [&](const std::string& name) {
    const api::ProvisioningRequest& request = state_.provisioning_requests.at(name);
    return request.meta.name != request_ &&
           std::ranges::find(request.pod_sets, pod_template,
                             &api::ProvisionedPodSet::template_name) != request.pod_sets.end();
  });
}

}  // namespace phalanx::core
