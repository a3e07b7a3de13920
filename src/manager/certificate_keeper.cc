#include "manager/certificate_keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include "admission/installation.h"
#include "base/base64.h"
#include "base/json_pointer.h"
#include "manager/log.h"
#include "serve/folder_files.h"

namespace phalanx::manager {
namespace {

// In the order in which they are written: a folder with a ca.key is ours, wherever we are
// interrupted.
constexpr std::array<std::string_view, 4> kFiles{"ca.key", "ca.crt", "tls.key", "tls.crt"};
constexpr kube::Resource kSecrets{"", "v1", "secrets", true};
constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kInvalid = 422;  // the test of a JSON patch did not hold
constexpr mode_t kOwnerOnly = 0600;
// Replicas look every minute, and all have taken a new authority over by then.
constexpr auto kOthersStay = std::chrono::minutes(5);
constexpr int kMostConflicts = 5;
// They tell cert-manager's injector whose CA to write into an object, again and again. Kueue's
// definitions have one where cert-manager makes its certificates.
constexpr std::array<std::string_view, 3> kInjections{"cert-manager.io/inject-ca-from",
                                                      "cert-manager.io/inject-ca-from-secret",
                                                      "cert-manager.io/inject-apiserver-ca"};

Result<CertificateFiles> read_files(const std::string& folder) {
  CertificateFiles files;
  for (const std::string_view file : kFiles) {
    ASSIGN_OR_RETURN(auto content, serve::read_if_there(fmt::format("{}/{}", folder, file)));
    if (content) files[std::string(file)] = std::move(*content);
  }
  return files;
}

Result<void> write_files(const std::string& folder, const CertificateFiles& files) {
  RETURN_IF_ERROR(serve::make_private_folder(folder));
  ASSIGN_OR_RETURN(const serve::FolderLock lock, serve::FolderLock::take(folder));
  for (const std::string_view name : kFiles) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (const auto file = files.find(std::string(name)); file != files.end()) {
      RETURN_IF_ERROR(serve::replace_file(path, file->second, kOwnerOnly));
      continue;
    }
    std::error_code failed;
    std::filesystem::remove(path, failed);
    if (failed) return fail(fmt::format("{}: {}", path, failed.message()));
  }
  return {};
}

// "127.0.0.1" of "https://127.0.0.1:9443/path", "::1" of "https://[::1]/".
std::string_view host_of(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  if (url.starts_with('[')) return url.substr(1, url.find(']') - 1);
  return url.substr(0, url.find_first_of(":/"));
}

// Whom a clientConfig calls.
std::string called_name(const JsonReader& config) {
  if (config.find("service") == nullptr) return std::string(host_of(config.string("url")));
  const JsonReader service = config.object("service");
  return fmt::format("{}.{}.svc", service.string("name"), service.string("namespace"));
}

// The certificates of `present` that are not in the bundle; none if it is damaged.
std::string others_in(const std::string& present, const std::string& bundle_pem) {
  const auto there = serve::split_bundle(present);
  const auto ours = serve::split_bundle(bundle_pem);
  if (!there || !ours) return "";
  std::string others;
  for (const std::string& pem : *there) {
    if (std::ranges::find(*ours, pem) == ours->end()) others += pem;
  }
  return others;
}

// Adds what makes one clientConfig trust the bundle.
void add_trust(const json::value* config, const std::string& path, const Trust& trust,
               std::span<const std::string> names, json::array& patch) {
  if (config == nullptr || !config->is_object()) return;
  DecodeStatus status;
  const JsonReader reader(config, "", status);
  if (std::ranges::find(names, called_name(reader)) == names.end()) return;
  const std::string encoded = reader.string("caBundle");
  std::string wanted = trust.ca_bundle_pem;
  if (trust.keeps_others) wanted += others_in(from_base64(encoded).value_or(""), wanted);
  if (to_base64(wanted) == encoded) return;
  patch.push_back(
      json::object{{"op", "add"}, {"path", path + "/caBundle"}, {"value", to_base64(wanted)}});
}

// Whoever wrote another CA than ours because of an annotation would do so again.
void end_injections(const JsonReader& metadata, json::array& patch) {
  const JsonReader annotations = metadata.object("annotations");
  for (const std::string_view name : kInjections) {
    if (annotations.find(name) == nullptr) continue;
    std::string path = "/metadata/annotations";
    append_json_pointer_step(path, name);
    patch.push_back(json::object{{"op", "remove"}, {"path", path}});
  }
}

serve::CertificateFolderOptions folder_of(const CertificateKeeperOptions& options) {
  serve::CertificateFolderOptions folder = options.folder;
  folder.only_read |= options.only_reads;
  return folder;
}

}  // namespace

json::array trust_patch(const json::value& document, const Trust& trust,
                        std::span<const std::string> names) {
  json::array patch;
  DecodeStatus status;
  const JsonReader reader(&document, "", status);
  size_t index = 0;
  reader.each("webhooks", [&](const json::value& value, const std::string& path) {
    const JsonReader webhook(&value, path, status);
    add_trust(webhook.find("clientConfig"), fmt::format("/webhooks/{}/clientConfig", index++),
              trust, names, patch);
  });
  const JsonReader conversion = reader.object("spec").object("conversion").object("webhook");
  add_trust(conversion.find("clientConfig"), "/spec/conversion/webhook/clientConfig", trust, names,
            patch);
  if (patch.empty()) return patch;
  end_injections(reader.object("metadata"), patch);
  // Lists are addressed by place, so nobody may have moved it.
  patch.insert(patch.begin(),
               json::object{{"op", "test"},
                            {"path", "/metadata/resourceVersion"},
                            {"value", reader.object("metadata").string("resourceVersion")}});
  return patch;
}

CertificateKeeper::CertificateKeeper(CertificateKeeperOptions options)
    : options_(std::move(options)),
      client_(options_.access),
      folder_(folder_of(options_)),
      wishes_(16) {}

CertificateKeeper::~CertificateKeeper() {
  stop();
}

void CertificateKeeper::start(CertificateListener listener) {
  listener_ = std::move(listener);
  thread_ = std::jthread([this] { run(); });
}

void CertificateKeeper::lead(bool leads) {
  leads_ = leads;
  if (leads) wishes_.put(Wish::kLook);
}

void CertificateKeeper::spread() {
  if (!asked_.exchange(true)) wishes_.put(Wish::kLook);
}

void CertificateKeeper::stop() {
  stopping_ = true;
  client_.interrupt();  // an API server that hangs is not waited for
  wishes_.put(Wish::kStop);
  if (thread_.joinable()) thread_.join();
}

bool CertificateKeeper::pause(Duration at_most) {
  const auto wishes = wishes_.take(at_most);
  if (std::ranges::find(wishes, Wish::kLook) != wishes.end()) trust_due_ = {};
  return stopping_ || std::ranges::find(wishes, Wish::kStop) != wishes.end();
}

bool CertificateKeeper::begin() {
  while (true) {
    const auto refreshed = refresh();
    if (stopping_) return false;
    if (refreshed) break;
    if (!others_failed_) {
      listener_.gave_up(refreshed.error());
      return false;
    }
    log_warning(fmt::format("the webhooks have no certificate yet: {}", refreshed.error().message));
    if (pause(options_.retry)) return false;
  }
  // There may be replicas whose certificate it is not: somebody has emptied the Secret meanwhile.
  if (!options_.secret.empty()) {
    const auto spread = spread_trust();
    if (!spread && !stopping_) log_warning(spread.error().message);
  }
  const auto taken = listener_.changed(folder_.current().identity);
  if (!taken) listener_.gave_up(taken.error());
  served_ = folder_.current();
  return taken.has_value();
}

void CertificateKeeper::run() {
  if (!begin()) return;
  // It may have been elected or asked meanwhile.
  Duration wait = leads_ || asked_ ? Duration(0) : options_.interval;
  while (!pause(wait)) {
    wait = options_.interval;
    const auto renewed = refresh();
    if (stopping_) return;
    if (!renewed) log_error(renewed.error().message);
    serve_and_spread();
  }
}

void CertificateKeeper::serve_and_spread() {
  const bool is_new = folder_.current().identity != served_.identity;
  const Time now = client_.now();
  const bool asked = asked_.exchange(false);
  if (!is_new && !asked && (!leads_ || now < trust_due_)) return;
  trust_due_ = now + options_.trust_interval;
  const auto spread = spread_trust();
  if (stopping_) return;
  if (!spread) log_warning(spread.error().message);
  if (!is_new) return;
  // What is served is good until it runs out; then a new one that is not trusted can only be
  // better.
  if (!spread && client_.now() < served_.not_after) return;
  if (spread && *spread && pause(options_.settling)) return;
  log_info("the webhooks have a new certificate");
  const auto taken = listener_.changed(folder_.current().identity);
  if (!taken) return log_error(taken.error().message);
  served_ = folder_.current();
}

Result<bool> CertificateKeeper::refresh() {
  others_failed_ = false;
  if (!options_.secret.empty()) RETURN_IF_ERROR(take_from_secret());
  auto refreshed = folder_.refresh(client_.now());
  if (options_.only_reads) others_failed_ = !refreshed;
  if (!refreshed || options_.only_reads || options_.secret.empty()) return refreshed;
  const bool changed = *refreshed;
  RETURN_IF_ERROR(put_into_secret());
  ASSIGN_OR_RETURN(const bool replaced, folder_.refresh(client_.now()));
  return changed || replaced;
}

Result<void> CertificateKeeper::refused(const kube::Refusal& refusal) {
  others_failed_ = true;
  return fail(
      fmt::format("Secret {}/{}: {}", options_.secret_namespace, options_.secret, refusal.message));
}

Result<void> CertificateKeeper::take_from_secret() {
  auto answer =
      client_.get(kube::object_path(kSecrets, options_.secret_namespace, options_.secret));
  if (!answer && answer.error().code == kNotFound && !options_.only_reads) {
    secret_ = nullptr;
    secret_files_.clear();
    return {};
  }
  if (!answer) return refused(answer.error());
  DecodeStatus status;
  const JsonReader data = JsonReader(&*answer, "", status).object("data");
  CertificateFiles files;
  for (const std::string_view file : kFiles) {
    // Whoever took a Secret of ours over may have left the key of our CA in it.
    if (options_.only_reads && file == "ca.key") continue;
    auto content = from_base64(data.string(file));
    if (!content) {
      return within(fmt::format("Secret {}: data[{}]", options_.secret, file), content.error());
    }
    if (!content->empty()) files[std::string(file)] = std::move(*content);
  }
  if (!status.ok()) return within("Secret " + options_.secret, *status.error());
  // Also if the Secret is as it was: somebody may have emptied the folder.
  ASSIGN_OR_RETURN(const CertificateFiles present, read_files(options_.folder.path));
  if (present != files) RETURN_IF_ERROR(write_files(options_.folder.path, files));
  secret_ = std::move(*answer);
  secret_files_ = std::move(files);
  return {};
}

Result<void> CertificateKeeper::put_into_secret() {
  ASSIGN_OR_RETURN(CertificateFiles files, read_files(options_.folder.path));
  if (files == secret_files_) return {};
  const bool is_new = secret_.is_null();
  json::value secret = secret_;
  if (is_new) {
    secret = json::object{{"apiVersion", "v1"},
                          {"kind", "Secret"},
                          {"metadata", json::object{{"name", options_.secret},
                                                    {"namespace", options_.secret_namespace}}},
                          {"type", "Opaque"}};
  }
  json::value& data = secret.get_object()["data"];
  if (!data.is_object()) data.emplace_object();
  for (const auto& [file, content] : files) data.get_object()[file] = to_base64(content);
  kube::HttpRequest request = kube::create_request(kSecrets, options_.secret_namespace, secret);
  if (!is_new) {
    request.method = kube::Method::kPut;
    request.target = kube::object_path(kSecrets, options_.secret_namespace, options_.secret);
  }
  auto written = client_.send(std::move(request));
  // Another replica was faster: its certificates count.
  if (!written && written.error().code == kConflict) return take_from_secret();
  if (!written) return refused(written.error());
  secret_ = std::move(*written);
  secret_files_ = std::move(files);
  return {};
}

Trust CertificateKeeper::trust() const {
  const std::string& bundle = folder_.current().ca_bundle_pem;
  const auto newest = serve::inspect(bundle);
  // Only the leader takes something away, so that replicas do not fight.
  return {
      .ca_bundle_pem = bundle,
      .keeps_others = !leads_ || !newest || client_.now() < serve::birth(*newest) + kOthersStay};
}

Result<bool> CertificateKeeper::spread_trust() {
  const Trust trusted = trust();
  if (options_.only_reads || trusted.ca_bundle_pem.empty()) {
    return false;  // whoever keeps the certificates tells the API server
  }
  std::vector<std::string> paths;
  for (const std::string_view plural :
       {"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}) {
    paths.push_back(kube::object_path({"admissionregistration.k8s.io", "v1", plural, false}, "",
                                      admission::kWebhookConfiguration));
  }
  for (const std::string& crd : admission::converted_crds()) {
    paths.push_back(kube::object_path(
        {"apiextensions.k8s.io", "v1", "customresourcedefinitions", false}, "", crd));
  }
  Result<bool> outcome = false;
  for (const std::string& path : paths) {
    auto changed = spread_trust_to(path, trusted);
    if (!outcome) continue;  // the others are looked at all the same
    if (!changed) {
      outcome = std::move(changed);
    } else if (*changed) {
      outcome = true;
    }
  }
  return outcome;
}

Result<bool> CertificateKeeper::spread_trust_to(const std::string& path, const Trust& trust) {
  for (int conflicts = 0; conflicts < kMostConflicts; ++conflicts) {
    const auto document = client_.get(path);
    if (!document && document.error().code == kNotFound) return false;  // installed without it
    if (!document) return fail(fmt::format("{}: {}", path, document.error().message));
    const json::array patch = trust_patch(*document, trust, options_.folder.names);
    if (patch.empty()) return false;
    const auto patched = client_.patch(path, patch, {.kind = kube::PatchKind::kJson});
    if (patched) {
      log_info(fmt::format("{}: trusts the webhooks' certificates", path));
      return true;
    }
    const int code = patched.error().code;
    if (code != kConflict && code != kInvalid) {
      return fail(fmt::format("{}: {}", path, patched.error().message));
    }
    // Somebody changes it at this moment: what matters is how it is then.
  }
  return fail(fmt::format("{}: others change it all the time; it is tried again", path));
}

}  // namespace phalanx::manager
