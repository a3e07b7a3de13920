// Certificates for a server that others verify: an authority of our own, certificates that it
// issues, and what can be said of any of them.
//
// Keys are ECDSA P-256, signatures SHA-256: what every client of the last ten years takes, and a
// handshake costs a tenth of that with RSA. Time comes in from the caller. A certificate is valid
// from a day before it was made (kClockSkew), because the clock of whoever verifies it may be
// behind ours: a cluster whose clocks are hours apart has enough to worry about without it.
//
// Everything costs some milliseconds. Everything here can be called from any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace phalanx::serve {

inline constexpr Duration kClockSkew = std::chrono::hours(24);

// The certificate with which a server shows who it is, followed by those that link it to an
// authority, if any; and its key.
struct Identity {
  std::string certificate_pem;
  std::string key_pem;

  bool operator==(const Identity&) const = default;
};

struct Authority {
  std::string certificate_pem;
  std::string key_pem;
};

struct CertificateInfo {
  Time not_before;
  Time not_after;  // the first moment at which it is no longer valid
  std::string subject;
  std::vector<std::string> names;  // DNS names and IP addresses, each in canonical form, sorted
  bool authority = false;          // may sign others

  [[nodiscard]] bool valid_at(Time now) const { return not_before <= now && now < not_after; }
};

// A certificate that signs itself. A part of its subject is random: two authorities of one name
// can stand in one bundle.
Result<Authority> make_authority(std::string_view name, Time now, Duration lifetime);

// For DNS names and IP addresses, at least one. Never outlives the authority.
Result<Identity> issue(const Authority& authority, const std::vector<std::string>& names, Time now,
                       Duration lifetime);

// "FD00:0::1" is "fd00::1", "Example.Com" is "example.com".
std::string canonical_name(std::string_view name);

// The first certificate of a PEM text.
Result<CertificateInfo> inspect(std::string_view certificate_pem);

// Every certificate of a PEM text as a PEM text of its own, in its order. Fails if there is none,
// or if one is damaged.
Result<std::vector<std::string>> split_bundle(std::string_view bundle_pem);

// Whether the key belongs to the (first) certificate.
Result<void> check_key(std::string_view certificate_pem, std::string_view key_pem);

// Whether a client that trusts exactly the certificates of the bundle takes this server for
// `name`; the Error says why not. As in Go, every certificate of the bundle is trusted for itself,
// whoever signed it. An empty name is not looked at.
Result<void> verify(std::string_view bundle_pem, std::string_view certificate_pem,
                    std::string_view name, Time now);

}  // namespace phalanx::serve
