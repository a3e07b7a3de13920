// Objects as the core sees them: decoded, and reduced to what decides.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "api/kind.h"
#include "api/limit_range.h"
#include "api/node.h"
#include "api/object_meta.h"
#include "api/provisioning.h"
#include "api/queueing.h"
#include "api/topology.h"
#include "api/workload.h"

namespace phalanx::core {

class Adapters;

enum class PodPhase : uint8_t { kPending, kRunning, kSucceeded, kFailed };

struct Pod {
  Time created{};
  bool terminating = false;
  PodPhase phase = PodPhase::kPending;
  std::string node_name;  // empty: not bound
  api::ResourceAmounts requests;
  // Of pods that carry the workload annotation; empty of others.
  std::string workload;  // "namespace/name"
  std::string pod_set;
  std::string controller;  // uid of the object that made it, as it says
  // Labels that are a number: one of them may say its rank. Which one, its workload knows.
  std::vector<std::pair<std::string, int64_t>> ranks;
  std::map<std::string, std::string> node_selector;
  json::array conditions;        // as written, while it is neither gated nor bound
  bool gated = false;            // our gate
  json::array scheduling_gates;  // as written, while gated

  // Whether this controller made it; empty: any will do.
  [[nodiscard]] bool is_of(const std::string& uid) const {
    return uid.empty() || uid == controller;
  }
  [[nodiscard]] bool terminal() const {
    return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed;
  }
};

// One pod template of a job with the number of pods made from it.
struct JobPodSet {
  std::string name;
  int32_t count = 0;
  std::optional<int32_t> min_count;  // it may run with as few
  api::PodTemplate pod_template;
  json::value document;  // the template as written; null once the job is finished
  std::optional<api::TopologyRequest> topology;
  int32_t reclaimable = 0;  // pods that are done for good
  // Their ranks, where every pod of the pod set has one of its own.
  std::vector<int32_t> done_ranks;
};

// A workload of any kind that has an adapter (core/adapter.h): a batch/v1 Job, ...
struct Job {
  api::ObjectMeta meta;
  std::string managed_by;  // another controller that runs it; empty: the usual one
  bool suspended = false;
  bool started = false;  // status says that it has started; its directives are then fixed
  bool finished = false;
  bool succeeded = false;      // meaningful if finished
  std::string finish_message;  // meaningful if finished
  std::vector<JobPodSet> pod_sets;
  // What is wrong with its annotations; empty: nothing.
  std::string problem;
  int32_t active_pods = 0;  // by its status
  bool pods_ready = false;  // all of them are, or have succeeded
};

struct Topology {
  api::ObjectMeta meta;
  api::Topology spec;
};

struct Node {
  api::ObjectMeta meta;
  api::Node spec;
};

// An object that could not be decoded: what is known of it, and why.
struct Unreadable {
  std::string problem;
};

struct Object {
  api::ObjectKey key;
  std::string uid;
  uint64_t resource_version = 0;
  std::variant<Unreadable, api::Namespace, Node, Pod, api::LimitRange, api::PriorityClass,
               api::RuntimeClass, Job, Topology, api::ResourceFlavor, api::Cohort,
               api::AdmissionCheck, api::ClusterQueue, api::LocalQueue, api::Workload,
               api::ProvisioningRequestConfig, api::ProvisioningRequest, api::StoredPodTemplate>
      body;
};

// "namespace/name", or the name alone; and that taken apart.
std::string full_name(const api::ObjectKey& key);
api::ObjectKey key_of(api::Kind kind, const std::string& full_name);

// Decodes a document of an API server. An object that makes no sense becomes Unreadable, so that
// the core can say so; an Error means that not even its key can be read, or that nobody wants its
// kind.
Result<Object> decode_object(const json::value& document, const Adapters& adapters);

}  // namespace phalanx::core
