#include "sim/embedded_cluster.h"

#include "admission/job_admission.h"
#include "base/check.h"
#include "core/account_report.h"
#include "core/names.h"
#include "core/object.h"
#include "jobs/batch_job.h"
#include "sim/document.h"
#include "sim/manifest.h"
#include "sim/names.h"

namespace phalanx::sim {
namespace {

Simulation simulation_of(EmbeddedOptions& options) {
  if (options.saved) return Simulation(std::move(*options.saved));
  return {options.start, options.seed};
}

}  // namespace

EmbeddedCluster::EmbeddedCluster(EmbeddedOptions options)
    : adapters_(jobs::all_adapters()),
      configuration_(options.host.configuration),
      simulation_(simulation_of(options)) {
  ApiServer& api = server();
  api.set_converter([this](api::Kind kind, json::value& document) -> ApiResult<void> {
    const api::KindInfo& about = api::info(kind);
    auto converted = kueue_.convert(about.name, document, about.version);
    if (!converted) return invalid(key_of(kind, document), converted.error().message);
    document = std::move(*converted);
    return {};
  });
  api.add_mutating_hook([this](AdmissionRequest& request) { return admit_kueue(request); }, true);
  api.add_mutating_hook([this](AdmissionRequest& request) { return default_job(request); });
  api.add_validating_hook(validate_job);
  add_cluster_actors(simulation_, options.actors);
  auto host = std::make_unique<CoreHost>(api, adapters_, std::move(options.host));
  host_ = host.get();
  simulation_.add("phalanx", std::move(host));
}

ApiResult<void> EmbeddedCluster::admit_kueue(AdmissionRequest& request) {
  if (request.operation == Operation::kDelete || !kueue_.covers(request.kind)) return {};
  auto admitted = kueue_.admit(request.kind, request.old_object, *request.object,
                               {.strict_fields = request.strict_fields, .status = request.status});
  if (!admitted)
    return invalid(key_of(request.kind, *request.object), admission::texts_of(admitted.error()));
  *request.object = std::move(*admitted);
  return {};
}

ApiResult<void> EmbeddedCluster::default_job(AdmissionRequest& request) {
  if (request.kind != api::Kind::kJob || request.operation != Operation::kCreate) return {};
  admission::JobContext context =
      admission::job_context(core().state(), admission::job_facts(*request.object), adapters_);
  // Manifests of one file are taken in at once, before the core hears of any: a default queue that
  // stands beside its Jobs must do for them.
  const api::ObjectKey default_queue{api::Kind::kLocalQueue,
                                     key_of(request.kind, *request.object).namespace_,
                                     std::string(core::names::kDefaultLocalQueue)};
  context.default_queue_exists |= server().get(default_queue) != nullptr;
  admission::default_job(*request.object, context);
  return {};
}

ApiResult<void> EmbeddedCluster::validate_job(AdmissionRequest& request) {
  if (request.kind != api::Kind::kJob || request.operation == Operation::kDelete) return {};
  const auto problems = admission::validate_job(request.old_object, *request.object);
  if (problems.empty()) return {};
  return invalid(key_of(request.kind, *request.object), admission::texts_of(problems));
}

ApiResult<void> EmbeddedCluster::ensure_namespace(const api::ObjectKey& key) {
  const std::string& name = key.namespace_;
  if (name.empty() || server().get({api::Kind::kNamespace, "", name}) != nullptr) return {};
  if (const std::string problem = problem_of_dns_label(name); !problem.empty()) {
    return invalid(key, "metadata.namespace: " + problem);
  }
  RETURN_IF_ERROR(server().create(json::object{
      {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", name}}}}));
  return {};
}

ApiResult<Stored> EmbeddedCluster::apply(json::value document) {
  drop_generated_fields(document);
  complete_conditions(document, now());
  const auto kind =
      api::find_kind(string_at(document, {"apiVersion"}), string_at(document, {"kind"}));
  const WriteOptions strict{.status = false, .field_manager = "", .strict_fields = true};
  if (!kind) return server().create(std::move(document), strict);  // says what is wrong
  if (const auto checked = check_run_annotations(document); !checked) {
    return invalid(key_of(*kind, document), checked.error().message);
  }
  if (api::info(*kind).namespaced) {
    RETURN_IF_ERROR(ensure_namespace(key_of(*kind, document)));
  }
  // Here and not by the server's converter, which would take fields for unknown silently, and would
  // see a mixture of versions if the object exists already.
  if (string_at(document, {"apiVersion"}) != api::api_version(*kind)) {
    const api::ObjectKey written_key = key_of(*kind, document);
    auto upgraded = kueue_.upgrade(api::info(*kind).name, std::move(document), true);
    if (!upgraded) return invalid(written_key, admission::texts_of(upgraded.error()));
    document = std::move(*upgraded);
  }
  const json::value* written = find_at(document, {"status"});
  std::optional<json::value> status;
  if (written != nullptr && api::info(*kind).has_status) status = *written;
  api::ObjectKey key = key_of(*kind, document);
  if (api::info(*kind).namespaced && key.namespace_.empty()) key.namespace_ = "default";
  ApiResult<Stored> stored;
  if (!key.name.empty() && server().get(key) != nullptr) {
    erase_at(document, {"status"});
    stored = server().patch(key, PatchType::kMerge, document, strict);
  } else {
    stored = server().create(std::move(document), strict);
  }
  if (!stored || !status) return stored;
  key = key_of(*kind, **stored);
  return server().patch(key, PatchType::kMerge, json::object{{"status", std::move(*status)}},
                        {.status = true, .field_manager = ""});
}

Result<void> EmbeddedCluster::check_account() {
  std::vector<core::Object> objects;
  for (const api::Kind kind : core().watched_kinds()) {
    for (const Stored& document : server().list(kind).items) {
      auto object = core::decode_object(*document, adapters_);
      CHECK(object);
      objects.push_back(std::move(*object));
    }
  }
  return core::compare_accounts(
      core::account_of(core().state(), core().scheduler().nominations()),
      core::rebuilt_account(configuration_, adapters_, now(), std::move(objects)));
}

}  // namespace phalanx::sim
