#include "admission/installation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "admission/deploy_files.h"
#include "admission/document.h"
#include "admission/names.h"
#include "base/base64.h"
#include "base/check.h"
#include "base/yaml.h"

namespace phalanx::admission {
namespace {

constexpr int kMostReplicas = 100;
constexpr size_t kLongestNamespace = 63;
constexpr int kHighestPort = 65535;

// In which order kinds are applied: what others need comes first, and the webhooks last, so that
// nothing waits for an answer before there is somebody to give it.
constexpr std::array<std::string_view, 13> kOrder{
    "Namespace",
    "CustomResourceDefinition",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "ConfigMap",
    "Service",
    "PodDisruptionBudget",
    "Deployment",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
};

std::string_view kind_of(const json::value& document) {
  return Place(&document)["kind"].text();
}

std::vector<json::value> all_documents() {
  std::vector<json::value> unordered;
  for (const auto files : {crds(), manifests()}) {
    for (const EmbeddedFile& file : files) {
      auto documents = parse_documents(file.text());
      CHECK(documents.has_value());
      for (Document& document : *documents) unordered.push_back(std::move(document.value));
    }
  }
  std::vector<json::value> all;
  for (const std::string_view kind : kOrder) {
    for (json::value& document : unordered) {
      if (kind_of(document) == kind) all.push_back(std::move(document));
    }
  }
  CHECK(all.size() == unordered.size());  // a new kind in deploy/ needs its place in the order
  return all;
}

// Calls visit(string) for every string in the value; keys are none.
template <typename Visit>
void each_string(json::value& value, Visit visit) {
  if (json::string* text = value.if_string()) {
    visit(*text);
  } else if (json::array* list = value.if_array()) {
    for (json::value& element : *list) each_string(element, visit);
  } else if (json::object* object = value.if_object()) {
    for (auto& field : *object) each_string(field.value(), visit);
  }
}

void rename_namespace(json::value& document, std::string_view name) {
  each_string(document, [&](json::string& text) {
    for (size_t at = text.find(kSystemNamespace); at != json::string::npos;
         at = text.find(kSystemNamespace, at + name.size())) {
      text.replace(at, kSystemNamespace.size(), name);
    }
  });
}

// Every clientConfig of a document: of its webhooks, and of the conversion of a CRD.
std::vector<json::object*> client_configs(json::value& document) {
  std::vector<json::object*> configs;
  if (kind_of(document) == "CustomResourceDefinition") {
    json::value& spec = document.at("spec");
    json::value* conversion = spec.get_object().if_contains("conversion");
    if (conversion == nullptr) return configs;
    configs.push_back(&conversion->at("webhook").at("clientConfig").as_object());
  } else if (json::value* webhooks = document.get_object().if_contains("webhooks")) {
    for (json::value& webhook : webhooks->as_array()) {
      configs.push_back(&webhook.at("clientConfig").as_object());
    }
  }
  return configs;
}

void point_to(json::object& client_config, const InstallationOptions& options) {
  if (!options.webhook_url.empty()) {
    const json::value* path = client_config.at("service").as_object().if_contains("path");
    CHECK(path != nullptr);
    std::string url = options.webhook_url;
    if (url.ends_with('/')) url.pop_back();
    client_config = {{"url", url + std::string(path->as_string())}};
  }
  if (!options.ca_bundle.empty()) client_config["caBundle"] = to_base64(options.ca_bundle);
}

void fill_in_deployment(json::value& document, const InstallationOptions& options) {
  json::value& spec = document.at("spec");
  if (options.replicas) spec.as_object()["replicas"] = *options.replicas;
  if (options.image.empty()) return;
  json::array& containers = spec.at("template").at("spec").at("containers").as_array();
  for (json::value& container : containers) container.as_object()["image"] = options.image;
}

bool is_wanted(const json::value& document, const InstallationOptions& options) {
  const bool through_service = options.webhook_url.empty();
  const bool deployment = options.with_deployment.value_or(through_service);
  const std::string_view kind = kind_of(document);
  if (kind == "Service") {
    const bool webhooks = Place(&document)["metadata"]["name"].text() == kWebhookService;
    return deployment || (webhooks && through_service);
  }
  if (kind == "Deployment" || kind == "PodDisruptionBudget" || kind == "ConfigMap") {
    return deployment;
  }
  return true;
}

// What API servers accept as the url of a webhook, without its path.
Result<void> check_url(std::string_view url) {
  const auto refuse = [&](std::string_view reason) {
    return fail(fmt::format("the webhook URL \"{}\" {}; write it like https://127.0.0.1:9443", url,
                            reason));
  };
  constexpr std::string_view kScheme = "https://";
  if (!url.starts_with(kScheme)) return refuse("does not begin with https://");
  std::string_view rest = url.substr(kScheme.size());
  if (rest.ends_with('/')) rest.remove_suffix(1);
  const auto is_odd = [](char c) { return c <= ' ' || c > '~' || c == '"' || c == '\\'; };
  if (std::ranges::any_of(rest, is_odd)) return refuse("has characters that no URL has");
  if (rest.contains('@')) return refuse("has a user, which webhooks cannot have");
  if (rest.find_first_of("?#") != std::string_view::npos) {
    return refuse("has a query or a fragment, which webhooks cannot have");
  }
  if (rest.contains('/')) return refuse("has a path; the paths are ours");
  const size_t bracket = rest.starts_with('[') ? rest.find(']') : 0;
  if (bracket == std::string_view::npos) return refuse("has a '[' without its ']'");
  const size_t colon = rest.find(':', bracket);
  if (rest.substr(0, colon).empty()) return refuse("names no host");
  if (colon == std::string_view::npos) return {};
  const std::string port(rest.substr(colon + 1));
  int number = 0;
  const char* end = port.data() + port.size();
  const auto [stop, code] = std::from_chars(port.data(), end, number);
  if (code != std::errc() || stop != end || number < 1 || number > kHighestPort) {
    return refuse("has no port between 1 and 65535 behind its ':'");
  }
  return {};
}

Result<void> check_options(const InstallationOptions& options) {
  if (!is_dns_label(options.namespace_) || options.namespace_.size() > kLongestNamespace) {
    return fail(
        fmt::format("the namespace \"{}\" is no name of one; use up to {} lower case "
                    "letters, digits and '-'",
                    options.namespace_, kLongestNamespace));
  }
  const auto is_odd = [](char c) { return c <= ' ' || c > '~'; };
  if (std::ranges::any_of(options.image, is_odd)) {
    return fail(fmt::format("the image \"{}\" has spaces or other characters that no image has",
                            options.image));
  }
  if (options.replicas && (*options.replicas < 1 || *options.replicas > kMostReplicas)) {
    return fail(fmt::format("{} replicas are not possible; choose between 1 and {}",
                            *options.replicas, kMostReplicas));
  }
  if (!options.webhook_url.empty()) RETURN_IF_ERROR(check_url(options.webhook_url));
  if (options.ca_bundle.contains("PRIVATE KEY")) {
    return fail(
        "the CA bundle has a private key in it, which everybody could then read; give only "
        "the certificate");
  }
  if (!options.ca_bundle.empty() && !options.ca_bundle.contains("-----BEGIN CERTIFICATE-----")) {
    return fail(
        "the CA bundle has no certificate in it; give a file in PEM form, with "
        "-----BEGIN CERTIFICATE-----");
  }
  return {};
}

}  // namespace

Result<std::vector<json::value>> render_installation(const InstallationOptions& options) {
  RETURN_IF_ERROR(check_options(options));
  std::vector<json::value> documents = all_documents();
  std::erase_if(documents,
                [&](const json::value& document) { return !is_wanted(document, options); });
  for (json::value& document : documents) {
    rename_namespace(document, options.namespace_);
    for (json::object* config : client_configs(document)) point_to(*config, options);
    if (kind_of(document) == "Deployment") fill_in_deployment(document, options);
  }
  return documents;
}

std::vector<std::string> converted_crds() {
  std::vector<std::string> names;
  for (json::value& document : all_documents()) {
    if (kind_of(document) != "CustomResourceDefinition" || client_configs(document).empty()) {
      continue;
    }
    names.emplace_back(document.at("metadata").at("name").as_string());
  }
  return names;
}

}  // namespace phalanx::admission
