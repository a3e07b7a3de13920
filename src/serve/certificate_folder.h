// The folder that holds a server's certificates: ca.crt, ca.key, tls.crt, tls.key.
//
// It has one of two owners. If there is a ca.key, or nothing at all, the folder is ours: what is
// missing, damaged, for other names or about to run out is made anew (certificate_rotation.h says
// when). If there are tls.crt and tls.key without a ca.key, somebody else keeps it (cert-manager, a
// mounted Secret): it is only read, and a change is taken over once certificate and key belong
// together. A folder of which we are told that it is somebody else's is treated so whatever it
// holds.
//
// There is no moment at which a client that trusts the bundle does not trust the identity: a new
// authority is in the bundle for a while before anything is signed with it, and the old one for a
// while after. For that the caller has to hand every new bundle on to its clients within the
// overlap.
//
// Files are replaced whole (temporary file and rename), keys are readable for their owner only, and
// so is a folder that we make. A crash between two files leaves a folder that the next refresh
// repairs. Processes that share a folder of ours wait for each other.
//
// Not for two threads at once. No clock inside; a refresh that finds nothing to do costs four small
// reads and some milliseconds.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "serve/certificate_rotation.h"
#include "serve/certificates.h"

namespace phalanx::serve {

struct CertificateFolderOptions {
  std::string path;
  // Of the server, at least one. A certificate of ours has exactly these; a foreign one has to be
  // good for the first, under which the API server calls.
  std::vector<std::string> names;
  std::string authority_name = "phalanx";
  RotationPolicy rotation = {};
  bool only_read = false;  // somebody else's, also while it is empty or has a ca.key of old
};

// What a folder holds, found good.
struct FolderCertificates {
  Identity identity;
  // What clients have to trust. Empty if the folder is foreign and has no ca.crt: then its keeper
  // tells them.
  std::string ca_bundle_pem;
  Time not_after = {};  // when the certificate in use runs out
  bool foreign = false;

  bool operator==(const FolderCertificates&) const = default;
};

class CertificateFolder {
 public:
  explicit CertificateFolder(CertificateFolderOptions options);

  // Reads the folder and renews what `now` asks for. True if current() is other than before. On an
  // Error it stays as it was; try again later. Call it about once a minute: that is how a foreign
  // folder's changes are seen, and a rotation has months to succeed.
  Result<bool> refresh(Time now);

  // Of the last refresh that succeeded; empty before.
  [[nodiscard]] const FolderCertificates& current() const { return current_; }

 private:
  CertificateFolderOptions options_;
  FolderCertificates current_;
};

}  // namespace phalanx::serve
