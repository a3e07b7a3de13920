// Keeps the webhooks trusted: their certificate current, the same for all replicas, and its CA
// where the API server looks for it.
//
// - The certificates are in a folder (serve/certificate_folder.h), which renews them.
// - With a Secret, that is the truth and the folder a copy: whichever replica is first makes the
//   certificates, the others take them over, and so it is when they are renewed.
// - The leader writes the CA into the webhook configurations and the CRDs wherever they call us,
//   and puts it back if somebody applied them without it. What calls somebody else is left alone.
//   Where cert-manager's injector was told to write another one, it is not told so any more.
// - A new certificate is served only when the API server trusts it: whichever replica has one sees
//   to that first. An authority that is there already stays for some minutes, since other replicas
//   may still serve what it signed. So nobody is refused, whoever replaced whatever.
// - Where somebody else does all that (cert-manager), it only reads: what is not there yet is
// waited
//   for, and nothing is written anywhere.
//
// The time is the API server's, as soon as it has told it. On a thread of its own, with a client of
// its own: nobody waits for it, and an API server that cannot be reached is tried again. A replica
// looks at the Secret every ten seconds, so that a certificate which somebody else replaced is in
// use soon after; the leader looks at what API servers trust once a minute.
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

struct Trust {
  std::string ca_bundle_pem;
  bool keeps_others = false;  // authorities that are trusted already stay
};

// The JSON patch that makes every webhook of a configuration, or the conversion of a CRD, trust
// this bundle where it calls one of these names, and nobody inject another one; empty if they do.
// It fails if somebody changes the object meanwhile.
json::array trust_patch(const json::value& document, const Trust& trust,
                        std::span<const std::string> names);

struct CertificateKeeperOptions {
  kube::ClusterAccess access;
  serve::CertificateFolderOptions folder;
  std::string secret_namespace;
  std::string secret;                        // empty: none
  bool only_reads = false;                   // somebody else makes them, and spreads trust
  Duration retry = std::chrono::seconds(2);  // until there are certificates
  Duration interval = std::chrono::seconds(10);
  Duration trust_interval = std::chrono::minutes(1);
  // How long an API server may take to act on what was written to it.
  Duration settling = std::chrono::seconds(5);
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
  // From any thread: the same once, without leading. Where replicas share certificates any of them
  // may, and where nobody can lead before objects are converted somebody must.
  void spread();
  void stop();

 private:
  enum class Wish { kLook, kStop };

  void run();
  // The first certificates, without which nobody can listen; whether there are any.
  bool begin();
  // Whether somebody wants it to stop meanwhile.
  bool pause(Duration at_most);
  // Whether the certificates are others than before.
  Result<bool> refresh();
  Result<void> refused(const kube::Refusal& refusal);
  Result<void> take_from_secret();
  Result<void> put_into_secret();
  // Hands the folder's certificates to the server once the API server trusts them; looks after that
  // in any case if we lead.
  void serve_and_spread();
  [[nodiscard]] Trust trust() const;
  // Whether something had to be changed for it.
  Result<bool> spread_trust();
  Result<bool> spread_trust_to(const std::string& path, const Trust& trust);

  const CertificateKeeperOptions options_;
  kube::ApiClient client_;
  serve::CertificateFolder folder_;
  json::value secret_;  // as last seen; null: there is none
  CertificateFiles secret_files_;
  bool others_failed_ = false;  // the last refresh, for reasons that others can mend
  Time trust_due_ = {};         // when the leader looks again at what API servers trust
  serve::FolderCertificates served_;
  CertificateListener listener_;
  std::atomic<bool> leads_ = false;
  std::atomic<bool> asked_ = false;  // to spread the trust once
  std::atomic<bool> stopping_ = false;
  Mailbox<Wish> wishes_;
  std::jthread thread_;
};

}  // namespace phalanx::manager
