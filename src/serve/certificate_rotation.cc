#include "serve/certificate_rotation.h"

#include <algorithm>

namespace phalanx::serve {
namespace {

// The moment at which a part of a certificate's life is over.
Time at_part(const CertificateInfo& certificate, int part, int parts) {
  const Time begin = birth(certificate);
  return begin + (certificate.not_after - begin) / parts * part;
}

}  // namespace

Time birth(const CertificateInfo& certificate) {
  return certificate.not_before + kClockSkew;
}

Duration effective_overlap(const RotationPolicy& policy) {
  return std::min({policy.overlap, policy.certificate_lifetime / 6, policy.authority_lifetime / 6});
}

bool authority_due(const std::optional<CertificateInfo>& signer, Time now) {
  return !signer || !signer->valid_at(now) || now >= at_part(*signer, 2, 3);
}

bool certificate_due(const std::optional<Serving>& serving, const CertificateInfo& signer,
                     const std::vector<std::string>& names, const RotationPolicy& policy,
                     Time now) {
  if (!serving || !serving->certificate.valid_at(now) || serving->certificate.names != names) {
    return true;
  }
  if (serving->by_signer) return now >= at_part(serving->certificate, 2, 3);
  // Clients may not know the new authority yet. What is left of the certificate's life is longer
  // than an overlap, unless nobody was there to renew it; then knowing it is a hope, expiry a fact.
  return now >= birth(signer) + effective_overlap(policy) ||
         now >= at_part(serving->certificate, 9, 10);
}

bool stays_in_bundle(const CertificateInfo& authority, const CertificateInfo& signer,
                     const RotationPolicy& policy, Time now) {
  return now < authority.not_after && now < birth(signer) + 2 * effective_overlap(policy);
}

}  // namespace phalanx::serve
