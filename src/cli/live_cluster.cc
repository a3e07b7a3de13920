#include "cli/live_cluster.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>

#include "api/object_meta.h"
#include "base/wall_clock.h"
#include "cli/command.h"
#include "kube/api_client.h"
#include "sim/document.h"

namespace phalanx::cli {
namespace {

constexpr int kNotFound = 404;

}  // namespace

void add_live_options(CLI::App& command, LiveArguments& arguments) {
  command
      .add_option("--kubeconfig", arguments.access.kubeconfig,
                  "Read the state of this cluster; nothing is written")
      ->type_name("FILE");
  command.add_option("--context", arguments.access.context, "A context of the kubeconfig")
      ->type_name("NAME");
}

Result<void> read_live(const LiveArguments& arguments, std::span<const api::Kind> kinds,
                       const std::function<Result<void>(Manifest)>& visit) {
  ASSIGN_OR_RETURN(kube::ClusterAccess access, kube::find_access(arguments.access));
  const std::string origin = access.server;
  kube::ApiClient client(std::move(access));
  for (const api::Kind kind : kinds) {
    auto documents = client.list(kind);
    if (!documents && documents.error().code == kNotFound) {
      remark(fmt::format("{}: has no {}; is Phalanx installed there?", origin,
                         api::info(kind).plural));
      continue;
    }
    if (!documents) {
      return fail(fmt::format("{}: {} cannot be listed: {}", origin, api::info(kind).plural,
                              documents.error().message));
    }
    for (json::value& document : *documents) {
      Manifest manifest;
      manifest.header = {api::api_version(kind), std::string(api::info(kind).name),
                         std::string(string_at(document, {"metadata", "namespace"})),
                         std::string(string_at(document, {"metadata", "name"}))};
      manifest.origin = fmt::format("{}: {}", origin, manifest.header.text());
      manifest.value = std::move(document);
      RETURN_IF_ERROR(visit(std::move(manifest)));
    }
  }
  return {};
}

Result<sim::ClusterState> read_live_state(const LiveArguments& arguments, uint64_t seed) {
  sim::ClusterState state;
  state.random_state = seed;
  std::vector<api::Kind> kinds;
  for (const api::KindInfo& kind : api::all_kinds()) {
    if (kind.kind != api::Kind::kEvent) kinds.push_back(kind.kind);
  }
  RETURN_IF_ERROR(read_live(arguments, kinds, [&](Manifest manifest) -> Result<void> {
    const auto kind = api::find_kind(manifest.header.api_version, manifest.header.kind);
    erase_at(manifest.value, {"metadata", "managedFields"});
    const auto version =
        api::parse_resource_version(string_at(manifest.value, {"metadata", "resourceVersion"}));
    state.resource_version = std::max(state.resource_version, version.value_or(0));
    state.objects.emplace(sim::key_of(*kind, manifest.value),
                          std::make_shared<const json::value>(std::move(manifest.value)));
    return {};
  }));
  state.now = wall_now();  // after the last object that was read
  return state;
}

}  // namespace phalanx::cli
