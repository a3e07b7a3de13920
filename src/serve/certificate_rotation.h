// When a certificate folder of ours needs something new: pure decisions on dates.
//
// A life begins at birth, not when the certificate is valid from, which is a day before.
// A serving certificate is replaced at two thirds of its life. An authority is replaced at two
// thirds of its own, in three steps that are an overlap apart, so that clients have time to learn:
//
//   at        the bundle holds    what is served is signed by
//   birth     new and old         the old authority
//   + 1 overlap   new and old     the new authority
//   + 2 overlaps  new             the new authority
//
// Everything is derived from the certificates themselves: a restart at any point goes on where
// the last run stopped. What is not valid at all is replaced at once, overlap or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "serve/certificates.h"

namespace phalanx::serve {

struct RotationPolicy {
  Duration certificate_lifetime = std::chrono::hours(24 * 365);
  Duration authority_lifetime = std::chrono::hours(24 * 3650);
  Duration overlap = std::chrono::hours(24);
};

// When it was made, if it was by us (kClockSkew).
Time birth(const CertificateInfo& certificate);

// An overlap that fits into the lifetimes, however short they are.
Duration effective_overlap(const RotationPolicy& policy);

// Whether a new authority is due. `signer` is the one whose key we have.
bool authority_due(const std::optional<CertificateInfo>& signer, Time now);

// What is served, and by whom it was signed.
struct Serving {
  CertificateInfo certificate;
  bool by_signer = false;  // otherwise by another authority of the bundle
};

// Whether a new serving certificate is due. `serving` is empty if what there is is not good: no
// certificate, not its key, not verified by the bundle. `names` are canonical and sorted.
bool certificate_due(const std::optional<Serving>& serving, const CertificateInfo& signer,
                     const std::vector<std::string>& names, const RotationPolicy& policy, Time now);

// Whether an authority other than the signer still belongs into the bundle.
bool stays_in_bundle(const CertificateInfo& authority, const CertificateInfo& signer,
                     const RotationPolicy& policy, Time now);

}  // namespace phalanx::serve
