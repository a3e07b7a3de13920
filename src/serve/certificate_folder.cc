#include "serve/certificate_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "serve/folder_files.h"

namespace phalanx::serve {
namespace {

constexpr mode_t kPublicMode = 0644;
constexpr mode_t kKeyMode = 0600;

struct Files {
  std::optional<std::string> ca_crt;
  std::optional<std::string> ca_key;
  std::optional<std::string> tls_crt;
  std::optional<std::string> tls_key;

  [[nodiscard]] bool foreign() const { return !ca_key && (ca_crt || tls_crt || tls_key); }
};

std::string in_folder(const std::string& folder, const char* name) {
  return folder + "/" + name;
}

Result<Files> read_files(const std::string& folder) {
  Files files;
  ASSIGN_OR_RETURN(files.ca_crt, read_if_there(in_folder(folder, "ca.crt")));
  ASSIGN_OR_RETURN(files.ca_key, read_if_there(in_folder(folder, "ca.key")));
  ASSIGN_OR_RETURN(files.tls_crt, read_if_there(in_folder(folder, "tls.crt")));
  ASSIGN_OR_RETURN(files.tls_key, read_if_there(in_folder(folder, "tls.key")));
  return files;
}

struct Trusted {
  std::string pem;
  CertificateInfo info;
};

// The authorities of ca.crt; none if it is missing or damaged.
std::vector<Trusted> read_bundle(const std::optional<std::string>& ca_crt) {
  std::vector<Trusted> bundle;
  const auto texts = split_bundle(ca_crt.value_or(""));
  if (!texts) return bundle;
  for (const std::string& pem : *texts) {
    auto info = inspect(pem);
    if (info) bundle.push_back({.pem = pem, .info = std::move(*info)});
  }
  return bundle;
}

std::string bundle_text(const std::vector<Trusted>& bundle) {
  std::string text;
  for (const Trusted& each : bundle) text += each.pem;
  return text;
}

// Whose key we have comes first; whether there is one.
bool signer_first(std::vector<Trusted>& bundle, const std::optional<std::string>& ca_key) {
  if (!ca_key) return false;
  const auto signer = std::ranges::find_if(bundle, [&](const Trusted& each) {
    return each.info.authority && check_key(each.pem, *ca_key).has_value();
  });
  if (signer == bundle.end()) return false;
  std::rotate(bundle.begin(), signer, signer + 1);
  return true;
}

// What the folder has to serve, if it is good for anything.
std::optional<Serving> find_serving(const Files& files, const std::vector<Trusted>& bundle,
                                    Time now) {
  if (!files.tls_crt || !files.tls_key) return std::nullopt;
  auto info = inspect(*files.tls_crt);
  if (!info || !check_key(*files.tls_crt, *files.tls_key)) return std::nullopt;
  if (!verify(bundle_text(bundle), *files.tls_crt, "", now)) return std::nullopt;
  const bool by_signer = verify(bundle.front().pem, *files.tls_crt, "", now).has_value();
  return Serving{.certificate = std::move(*info), .by_signer = by_signer};
}

// The order matters: a folder with a ca.key is ours, wherever we are interrupted.
Result<void> write_files(const std::string& folder, const Files& before, const Files& after) {
  const auto write = [&](const char* name, const auto Files::* file, mode_t mode) -> Result<void> {
    if (before.*file == after.*file) return {};
    return replace_file(in_folder(folder, name), *(after.*file), mode);
  };
  RETURN_IF_ERROR(write("ca.key", &Files::ca_key, kKeyMode));
  RETURN_IF_ERROR(write("ca.crt", &Files::ca_crt, kPublicMode));
  RETURN_IF_ERROR(write("tls.key", &Files::tls_key, kKeyMode));
  return write("tls.crt", &Files::tls_crt, kPublicMode);
}

std::vector<std::string> canonical_names(const std::vector<std::string>& names) {
  std::vector<std::string> canonical;
  canonical.reserve(names.size());
  for (const std::string& name : names) canonical.push_back(canonical_name(name));
  std::ranges::sort(canonical);
  const auto repeated = std::ranges::unique(canonical);
  canonical.erase(repeated.begin(), repeated.end());
  return canonical;
}

// Somebody else's: only read.
Result<FolderCertificates> take_foreign(const CertificateFolderOptions& options, const Files& files,
                                        Time now) {
  const char* missing = !files.tls_crt ? "tls.crt" : !files.tls_key ? "tls.key" : nullptr;
  if (missing != nullptr && options.only_read) {
    return fail(fmt::format("{}: {} is missing; whoever keeps the certificates has to put it there",
                            options.path, missing));
  }
  if (missing != nullptr) {
    return fail(fmt::format(
        "{}: without ca.key it is somebody else's, and {} is missing; put the missing file there, "
        "or remove all of them to have certificates made",
        options.path, missing));
  }
  // cert-manager writes an empty ca.crt for authorities that everybody knows. Then the certificate
  // is measured by itself: its dates and its names.
  const std::string ca_crt = files.ca_crt.value_or("");
  const auto blame = [&](const char* file, Error error) {
    error.message += "; whoever keeps this folder has to renew it";
    return within(in_folder(options.path, file), std::move(error));
  };
  const auto own = split_bundle(*files.tls_crt);
  if (!own) return blame("tls.crt", own.error());
  if (const auto bundle = split_bundle(ca_crt); !ca_crt.empty() && !bundle) {
    return blame("ca.crt", bundle.error());
  }
  if (auto outcome = check_key(*files.tls_crt, *files.tls_key); !outcome) {
    return blame("tls.key", outcome.error());
  }
  auto outcome =
      verify(ca_crt.empty() ? own->front() : ca_crt, *files.tls_crt, options.names[0], now);
  if (!outcome) return blame("tls.crt", outcome.error());
  ASSIGN_OR_RETURN(const CertificateInfo info, inspect(*files.tls_crt));
  return FolderCertificates{
      .identity = {.certificate_pem = *files.tls_crt, .key_pem = *files.tls_key},
      .ca_bundle_pem = ca_crt,
      .not_after = info.not_after,
      .foreign = true};
}

// Ours: read, and brought to what `now` asks for.
Result<FolderCertificates> keep_own(const CertificateFolderOptions& options, Time now) {
  RETURN_IF_ERROR(make_private_folder(options.path));
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::take(options.path));
  ASSIGN_OR_RETURN(const Files before, read_files(options.path));
  Files after = before;
  const RotationPolicy& policy = options.rotation;

  std::vector<Trusted> bundle = read_bundle(before.ca_crt);
  const std::string bundle_before = bundle_text(bundle);
  const bool has_signer = signer_first(bundle, before.ca_key);
  if (authority_due(has_signer ? std::optional(bundle.front().info) : std::nullopt, now)) {
    ASSIGN_OR_RETURN(const Authority authority,
                     make_authority(options.authority_name, now, policy.authority_lifetime));
    ASSIGN_OR_RETURN(CertificateInfo info, inspect(authority.certificate_pem));
    bundle.insert(bundle.begin(), {.pem = authority.certificate_pem, .info = std::move(info)});
    after.ca_key = authority.key_pem;
  }
  const Trusted signer = bundle.front();

  const auto serving = find_serving(before, bundle, now);
  if (certificate_due(serving, signer.info, canonical_names(options.names), policy, now)) {
    ASSIGN_OR_RETURN(const Identity identity,
                     issue({.certificate_pem = signer.pem, .key_pem = *after.ca_key}, options.names,
                           now, policy.certificate_lifetime));
    after.tls_crt = identity.certificate_pem;
    after.tls_key = identity.key_pem;
  }

  std::erase_if(bundle, [&](const Trusted& each) {
    return each.pem != signer.pem && !stays_in_bundle(each.info, signer.info, policy, now);
  });
  // A file that says the same in other words is left alone.
  if (bundle_text(bundle) != bundle_before) after.ca_crt = bundle_text(bundle);
  RETURN_IF_ERROR(write_files(options.path, before, after));
  ASSIGN_OR_RETURN(const CertificateInfo info, inspect(*after.tls_crt));
  return FolderCertificates{
      .identity = {.certificate_pem = *after.tls_crt, .key_pem = *after.tls_key},
      .ca_bundle_pem = bundle_text(bundle),
      .not_after = info.not_after,
      .foreign = false};
}

}  // namespace

CertificateFolder::CertificateFolder(CertificateFolderOptions options)
    : options_(std::move(options)) {
  CHECK(!options_.names.empty());
}

Result<bool> CertificateFolder::refresh(Time now) {
  ASSIGN_OR_RETURN(const Files files, read_files(options_.path));
  ASSIGN_OR_RETURN(FolderCertificates found, options_.only_read || files.foreign()
                                                 ? take_foreign(options_, files, now)
                                                 : keep_own(options_, now));
  const bool changed = found != current_;
  current_ = std::move(found);
  return changed;
}

}  // namespace phalanx::serve
