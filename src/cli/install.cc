// phalanx install: what has to be in a cluster for Phalanx to run there, on standard output or
// applied. See docs/how-to/install.md.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <memory>
#include <set>
#include <thread>

#include "admission/installation.h"
#include "base/json_path.h"
#include "base/wall_clock.h"
#include "base/yaml.h"
#include "cli/command.h"
#include "cli/kueue_cluster.h"
#include "kube/api_client.h"
#include "manager/settings.h"
#include "serve/certificate_folder.h"

namespace phalanx::cli {
namespace {

constexpr int kNotFound = 404;
constexpr auto kPatience = std::chrono::seconds(30);
constexpr auto kPause = std::chrono::milliseconds(200);

struct Arguments {
  kube::AccessOptions access;
  admission::InstallationOptions installation;
  std::string certificate_folder;
  bool apply = false;
  bool with_deployment = false;
  bool beside_kueue = false;
  int replicas = 0;
};

std::string name_of(const json::value& document) {
  DecodeStatus status;
  const JsonReader reader(&document, "", status);
  return fmt::format("{} {}", reader.string("kind"), reader.object("metadata").string("name"));
}

bool is_established(const json::value& crd) {
  DecodeStatus status;
  bool established = false;
  JsonReader(&crd, "", status)
      .object("status")
      .each("conditions", [&](const json::value& value, const std::string& path) {
        const JsonReader condition(&value, path, status);
        established |=
            condition.string("type") == "Established" && condition.string("status") == "True";
      });
  return established;
}

// A CRD is of use only once the API server serves it.
Result<void> wait_until_served(kube::ApiClient& client, const json::value& crd) {
  ASSIGN_OR_RETURN(const std::string path, client.path_of(crd));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (true) {
    const auto answer = client.get(path);
    if (answer && is_established(*answer)) return {};
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(
          fmt::format("{}: the API server does not serve it; see kubectl describe", name_of(crd)));
    }
    std::this_thread::sleep_for(kPause);
  }
}

// The ways to the webhooks that a document names anywhere: "url", "service".
void collect_ways(const json::value& value, std::set<std::string>& ways) {
  if (value.is_array()) {
    for (const json::value& element : value.get_array()) collect_ways(element, ways);
  }
  if (!value.is_object()) return;
  for (const auto& field : value.get_object()) {
    if (field.key() != "clientConfig" || !field.value().is_object()) {
      collect_ways(field.value(), ways);
      continue;
    }
    for (const auto& entry : field.value().get_object()) {
      if (entry.key() == "url" || entry.key() == "service") ways.emplace(entry.key());
    }
  }
}

std::set<std::string> ways_of(const json::value& document) {
  std::set<std::string> ways;
  collect_ways(document, ways);
  return ways;
}

// Somebody else may have installed it with the other way to the webhooks, by Service or by URL.
// Applying ours would leave both, which no API server accepts.
Result<void> make_way(kube::ApiClient& client, const json::value& document) {
  const std::string_view kind = string_at(document, {"kind"});
  const bool crd = kind == "CustomResourceDefinition";
  if (!crd && !kind.ends_with("WebhookConfiguration")) return {};
  ASSIGN_OR_RETURN(const std::string path, client.path_of(document));
  const auto present = client.get(path);
  if (!present && present.error().code == kNotFound) return {};
  if (!present) return fail(fmt::format("{}: {}", name_of(document), present.error().message));
  if (ways_of(*present) == ways_of(document)) return {};
  const auto freed =
      crd ? client.patch(path, json::object{{"spec", json::object{{"conversion", nullptr}}}})
          : client.remove(path);
  if (!freed) return fail(fmt::format("{}: {}", name_of(document), freed.error().message));
  return {};
}

// Two who decide about the same Workloads undo each other's work.
Result<void> refuse_beside_kueue(kube::ApiClient& client) {
  ASSIGN_OR_RETURN(const admission::KueueDocuments documents, read_kueue(client));
  const auto found = admission::find_active_kueue(documents);
  if (found.empty()) return {};
  std::string text = "nothing was applied, because Kueue is still there";
  for (const admission::KueuePresence& presence : found) {
    text += fmt::format("; {} {}", presence.object, presence.text);
  }
  return fail(text +
              "; see docs/how-to/migrate-from-kueue.md, or give --beside-kueue if you know better");
}

// The configuration is whoever's who changed it: a later installation must not undo that.
Result<bool> is_kept(kube::ApiClient& client, const json::value& document) {
  if (string_at(document, {"kind"}) != "ConfigMap") return false;
  ASSIGN_OR_RETURN(const std::string path, client.path_of(document));
  const auto present = client.get(path);
  if (!present && present.error().code != kNotFound) {
    return fail(fmt::format("{}: {}", name_of(document), present.error().message));
  }
  return present.has_value();
}

Result<void> apply_all(const Arguments& arguments, const std::vector<json::value>& documents) {
  ASSIGN_OR_RETURN(kube::ClusterAccess access, kube::find_access(arguments.access));
  kube::ApiClient client(std::move(access));
  if (!arguments.beside_kueue) RETURN_IF_ERROR(refuse_beside_kueue(client));
  for (const json::value& document : documents) {
    ASSIGN_OR_RETURN(const bool kept, is_kept(client, document));
    if (kept) {
      std::cout << "kept " << name_of(document) << " as it is\n";
      continue;
    }
    RETURN_IF_ERROR(make_way(client, document));
    if (auto applied = client.apply(document); !applied) {
      return within(name_of(document), applied.error());
    }
    std::cout << "applied " << name_of(document) << "\n";
  }
  for (const json::value& document : documents) {
    if (string_at(document, {"kind"}) != "CustomResourceDefinition") continue;
    RETURN_IF_ERROR(wait_until_served(client, document));
  }
  return {};
}

// The folder that the manager will use is made if it is not there, so that webhooks can be
// registered before it has started.
Result<std::string> bundle_of(const Arguments& arguments) {
  const std::string& folder = arguments.certificate_folder;
  if (folder.empty()) return std::string();
  serve::CertificateFolder certificates(
      {.path = folder,
       .names = manager::webhook_names(std::string(admission::kWebhookService),
                                       arguments.installation.namespace_)});
  const Time now = wall_now();
  if (auto refreshed = certificates.refresh(now); !refreshed) {
    return within("--webhook-cert-dir", refreshed.error());
  }
  return certificates.current().ca_bundle_pem;
}

int run_install(Arguments arguments) {
  auto bundle = bundle_of(arguments);
  if (!bundle) return bad_input("install: " + bundle.error().message);
  admission::InstallationOptions& installation = arguments.installation;
  installation.ca_bundle = *bundle;
  if (arguments.replicas != 0) installation.replicas = arguments.replicas;
  if (arguments.with_deployment) installation.with_deployment = true;
  const auto documents = admission::render_installation(installation);
  if (!documents) return bad_input("install: " + documents.error().message);
  if (!arguments.apply) {
    for (const json::value& document : *documents) std::cout << "---\n" << to_yaml(document);
    return kDone;
  }
  const auto applied = apply_all(arguments, *documents);
  if (!applied) return bad_input("install: " + applied.error().message);
  return kDone;
}

}  // namespace

void add_install_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command =
      app.add_subcommand("install", "Print what a cluster needs to run Phalanx, or apply it");
  command->add_flag("--apply", arguments->apply, "Apply it to the cluster instead of printing it");
  command->add_option("--kubeconfig", arguments->access.kubeconfig,
                      "Where to apply it; by default as kubectl does");
  command->add_option("--context", arguments->access.context, "A context of the kubeconfig");
  command->add_option("--namespace", arguments->installation.namespace_, "Where the manager lives")
      ->capture_default_str();
  command->add_option("--image", arguments->installation.image, "Of the manager's container");
  command->add_option("--replicas", arguments->replicas, "Of the manager")
      ->check(CLI::Range(1, 100));
  command->add_option("--webhook-url", arguments->installation.webhook_url,
                      "Where the API server reaches a manager outside the cluster: "
                      "https://127.0.0.1:9443");
  command->add_option("--webhook-cert-dir", arguments->certificate_folder,
                      "The manager's certificates: made if they are not there; their CA is what "
                      "the API server will trust");
  command->add_flag("--with-deployment", arguments->with_deployment,
                    "Also with --webhook-url: the manager runs in the cluster, and is reached by "
                    "another way than its Service");
  command->add_flag("--beside-kueue", arguments->beside_kueue,
                    "Apply it even if Kueue's manager runs or its webhooks are there");
  command->callback([arguments, &run] { run = [arguments] { return run_install(*arguments); }; });
}

}  // namespace phalanx::cli
