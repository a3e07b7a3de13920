#include "cli/soak_autoscaler.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "cli/soak_world.h"
#include "core/names.h"
#include "sim/node_generator.h"
#include "sim/node_lifecycle.h"
#include "sim/object_fields.h"

namespace phalanx::cli {
namespace {

namespace names = core::names;

constexpr Duration kIdleFor = std::chrono::minutes(15);
constexpr Duration kLookEvery = std::chrono::minutes(5);

bool is_scaled(const json::value& node) {
  return string_at(node, {"metadata", "labels", sim::kNodeGroupLabel}) == kSoakScaledGroup;
}

// The node that a pod takes room of; empty: none.
std::string_view node_of(const sim::Stored& pod) {
  if (pod == nullptr || sim::is_terminal(*pod)) return "";
  return string_at(*pod, {"spec", "nodeName"});
}

}  // namespace

SoakAutoscaler::SoakAutoscaler(sim::ApiServer& server, uint64_t seed)
    : server_(server),
      random_(seed),
      informer_(server, {api::Kind::kNode, api::Kind::kPod, api::Kind::kProvisioningRequest}) {}

bool SoakAutoscaler::react() {
  const Time now = server_.clock().now();
  for (const sim::Change& change : informer_.poll()) {
    if (change.key.kind == api::Kind::kNode) observe_node(change);
    if (change.key.kind == api::Kind::kPod) observe_pod(change);
    if (change.key.kind == api::Kind::kProvisioningRequest) observe_request(change);
  }
  bool acted = wake_nodes();
  for (auto& [key, request] : requests_) {
    if (request.answer_at && *request.answer_at <= now) {
      request.answer_at.reset();
      answer(key, request);
      acted = true;
    }
    if (request.revoke_at && *request.revoke_at <= now) {
      request.revoke_at.reset();
      if (!reliable_) revoke(key, request);
      acted = true;
    }
  }
  return remove_idle() || acted;
}

std::optional<Time> SoakAutoscaler::wake_at() const {
  std::optional<Time> next;
  const auto consider = [&](Time time) { next = next ? std::min(*next, time) : time; };
  for (const auto& [key, request] : requests_) {
    if (request.answer_at) consider(*request.answer_at);
    if (request.revoke_at) consider(*request.revoke_at);
  }
  for (const auto& [name, time] : late_) consider(time);
  for (const auto& [name, node] : nodes_) {
    if (node.pods == 0) consider(node.empty_since + kIdleFor);
  }
  return next;
}

void SoakAutoscaler::observe_request(const sim::Change& change) {
  if (change.after == nullptr) {
    requests_.erase(change.key);
    return;
  }
  Request& request = requests_[change.key];
  const std::string uid(sim::uid_of(*change.after));
  if (request.uid == uid) return;
  request = {};
  request.uid = uid;
  const int64_t most = reliable_ ? 120 : (chance(10) ? 3000 : 600);
  request.answer_at = server_.clock().now() + std::chrono::seconds(random_.between(5, most));
  ++counts_["requests"];
}

void SoakAutoscaler::observe_pod(const sim::Change& change) {
  const auto count = [&](const sim::Stored& pod, int64_t sign) {
    const auto found = nodes_.find(std::string(node_of(pod)));
    if (found == nodes_.end()) return;
    found->second.pods += sign;
    if (found->second.pods == 0) found->second.empty_since = server_.clock().now();
  };
  count(change.before, -1);
  count(change.after, 1);
}

void SoakAutoscaler::observe_node(const sim::Change& change) {
  if (change.after == nullptr) {
    nodes_.erase(change.key.name);
    late_.erase(change.key.name);
  } else if (change.before == nullptr && is_scaled(*change.after)) {
    nodes_[change.key.name].empty_since = server_.clock().now();
  }
}

int64_t SoakAutoscaler::nodes_for(const json::value& request) const {
  int64_t nodes = 0;
  for (const json::value& pods : sim::list_field(request, {"spec", "podSets"})) {
    const api::ObjectKey key{api::Kind::kPodTemplate,
                             std::string(string_at(request, {"metadata", "namespace"})),
                             std::string(string_at(pods, {"podTemplateRef", "name"}))};
    const sim::Stored pod_template = server_.get(key);
    if (pod_template == nullptr) continue;
    int64_t gpus = 1;
    const auto containers = sim::list_field(*pod_template, {"template", "spec", "containers"});
    if (!containers.empty()) {
      const auto text = string_at(containers[0], {"resources", "requests", kSoakGpu});
      gpus = static_cast<int64_t>(sim::parse_unsigned(text).value_or(1));
    }
    const int64_t per_node = std::max<int64_t>(1, kSoakGpusOfNode / std::max<int64_t>(1, gpus));
    nodes += (integer_at(pods, {"count"}).value_or(1) + per_node - 1) / per_node;
  }
  return nodes;
}

void SoakAutoscaler::answer(const api::ObjectKey& key, Request& request) {
  const sim::Stored document = server_.get(key);
  if (document == nullptr) return;
  say(key, "Accepted", "The request was understood");
  const int64_t nodes = nodes_for(*document);
  const uint64_t lot = reliable_ ? 99 : random_.below(100);
  if (lot < 6) {
    ++counts_["failed at once"];
    return say(key, names::kFailed, "There is no capacity");
  }
  if (lot < 12) {
    ++counts_["failed with too few nodes"];
    provide(key, request, nodes / 2, false);
    return say(key, names::kFailed, "Not all of the nodes could be made");
  }
  const bool late = lot < 25;
  ++counts_[late ? "provided, nodes late" : "provided"];
  provide(key, request, nodes, late);
  say(key, names::kProvisioned, "The nodes are there", request.block);
  if (!reliable_ && chance(8)) {
    request.revoke_at = server_.clock().now() + std::chrono::seconds(random_.between(1, 7200));
  }
}

void SoakAutoscaler::provide(const api::ObjectKey& key, Request& request, int64_t nodes,
                             bool late) {
  CHECK(server_.get(key) != nullptr);
  request.block = fmt::format("s{:04}", ++blocks_);
  for (int64_t i = 0; i < nodes; ++i) make_node(request.block, i, late && chance(40));
}

void SoakAutoscaler::make_node(const std::string& block, int64_t index, bool not_ready) {
  const std::string rack = fmt::format("{}-r{}", block, index / kSoakHostsOfRack + 1);
  const std::string name = fmt::format("{}-h{:02}", rack, index % kSoakHostsOfRack + 1);
  json::value document = soak_scaled_node(name, block, rack);
  if (not_ready) {
    document.at("metadata").as_object()["annotations"] =
        json::object{{sim::kKubeletAnnotation, "not-ready"}};
    late_[name] = server_.clock().now() + std::chrono::seconds(random_.between(10, 500));
  }
  const auto created = server_.create(document);
  CHECK(created);
  json::value with_status = **created;
  with_status.as_object()["status"] = document.at("status");
  CHECK(server_.update(std::move(with_status), {.status = true}));
  ++counts_["nodes made"];
}

// The nodes under its pods go, or the booking is over before anybody has used it.
void SoakAutoscaler::revoke(const api::ObjectKey& key, Request& request) {
  const bool expires = chance(50);
  ++counts_[expires ? "booking expired" : "capacity revoked"];
  say(key, expires ? names::kBookingExpired : names::kCapacityRevoked,
      expires ? "Nobody has used the nodes in time" : "The nodes are needed elsewhere");
  if (expires) return;
  for (const auto& [name, node] : nodes_) {
    if (!name.starts_with(request.block + "-") ||
        server_.get({api::Kind::kNode, "", name}) == nullptr) {
      continue;
    }
    CHECK(server_.remove({api::Kind::kNode, "", name}));
  }
}

void SoakAutoscaler::say(const api::ObjectKey& key, std::string_view type, std::string_view message,
                         const std::string& pool) {
  const sim::Stored document = server_.get(key);
  CHECK(document != nullptr);
  json::object status = sim::status_of(*document);
  sim::set_condition(status, {type, "True", type, message}, server_.clock().now());
  if (!pool.empty()) status["provisioningClassDetails"] = json::object{{"Pool", pool}};
  CHECK(sim::write_status(server_, *document, std::move(status)));
}

bool SoakAutoscaler::wake_nodes() {
  bool acted = false;
  for (auto at = late_.begin(); at != late_.end();) {
    if (at->second > server_.clock().now()) {
      ++at;
      continue;
    }
    const json::value patch = json::object{
        {"metadata",
         json::object{{"annotations", json::object{{sim::kKubeletAnnotation, nullptr}}}}}};
    if (server_.get({api::Kind::kNode, "", at->first}) != nullptr) {
      CHECK(server_.patch({api::Kind::kNode, "", at->first}, sim::PatchType::kMerge, patch));
    }
    at = late_.erase(at);
    acted = true;
  }
  return acted;
}

bool SoakAutoscaler::remove_idle() {
  bool acted = false;
  for (auto& [name, node] : nodes_) {
    if (node.pods > 0 || node.empty_since + kIdleFor > server_.clock().now()) continue;
    node.empty_since = server_.clock().now() + kLookEvery;  // until the deletion is heard of
    if (server_.get({api::Kind::kNode, "", name}) == nullptr) continue;
    CHECK(server_.remove({api::Kind::kNode, "", name}));
    ++counts_["nodes taken back"];
    acted = true;
  }
  return acted;
}

}  // namespace phalanx::cli
