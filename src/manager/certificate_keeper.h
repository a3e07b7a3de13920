// Keeps the webhooks trusted: their certificate current, the same for all replicas, and its CA
// where the API server looks for it.
//
// - The certificates are in a folder (serve/certificate_folder.h), which renews them.
// - With a Secret, that is the truth and the folder a copy: whichever replica is first makes the
//   certificates, the others take them over, and so it is when they are renewed.
// - The leader writes the CA into the webhook configurations and the CRDs wherever they call us,
// and
//   puts it back if somebody applied them without it. What calls somebody else is left alone.
//
// On a thread of its own, with a client of its own, once a minute: nobody waits for it, and an API
// server that cannot be reached is tried again.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/mailbox.h"
#include "kube/api_client.h"
#include "serve/certificate_folder.h"

namespace phalanx::manager {

using CertificateFiles = std::map<std::string, std::string>;  // by name: "tls.crt"

// The JSON patch that makes every webhook of a configuration, or the conversion of a CRD, trust
// this bundle where it calls one of these names; empty if they do. It fails if somebody changes the
// object meanwhile.
json::array trust_patch(const json::value& document, std::string_view ca_bundle_pem,
                        std::span<const std::string> names);

struct CertificateKeeperOptions {
  kube::ClusterAccess access;
  serve::CertificateFolderOptions folder;
  std::string secret_namespace;
  std::string secret;                        // empty: none
  Duration retry = std::chrono::seconds(2);  // until there are certificates
  Duration interval = std::chrono::minutes(1);
};

// Both are called on the keeper's thread.
struct CertificateListener {
  // There are certificates, or others than before. An error is the end, as is one of the folder.
  std::function<Result<void>(const serve::Identity&)> changed;
  std::function<void(const Error&)> gave_up;
};

class CertificateKeeper {
 public:
  explicit CertificateKeeper(CertificateKeeperOptions options);
  ~CertificateKeeper();
  CertificateKeeper(const CertificateKeeper&) = delete;
  CertificateKeeper& operator=(const CertificateKeeper&) = delete;

  void start(CertificateListener listener);
  // From any thread; the leader looks after what the API server trusts, at once.
  void lead(bool leads);
  void stop();

 private:
  enum class Wish { kLook, kStop };

  void run();
  // The first certificates, without which nobody can listen; whether there are any.
  bool begin();
  // Whether somebody wants it to stop meanwhile.
  bool pause(Duration at_most);
  // Whether the certificates are others than before.
  Result<bool> refresh(Time now);
  Result<void> refused(const kube::Refusal& refusal);
  Result<void> take_from_secret();
  Result<void> put_into_secret();
  Result<void> spread_trust();
  Result<void> spread_trust_to(const std::string& path);

  const CertificateKeeperOptions options_;
  kube::ApiClient client_;
  serve::CertificateFolder folder_;
  json::value secret_;  // as last seen; null: there is none
  CertificateFiles secret_files_;
  bool server_failed_ = false;  // the last refresh, for reasons that are not the folder's
  CertificateListener listener_;
  std::atomic<bool> leads_ = false;
  std::atomic<bool> stopping_ = false;
  Mailbox<Wish> wishes_;
  std::jthread thread_;
};

}  // namespace phalanx::manager
