#include "serve/openssl.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>
#include <climits>

namespace phalanx::serve {
namespace {

// Without one of our own, OpenSSL would ask on the terminal.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* /*context*/) {
  return -1;
}

OwnedBio reader(std::string_view text) {
  if (text.size() > INT_MAX) text = {};
  return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

}  // namespace

std::unexpected<Error> openssl_failure(std::string_view what) {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  if (reason == nullptr) return fail(std::string(what));
  return fail(fmt::format("{} ({})", what, reason));
}

Result<std::vector<OwnedCertificate>> read_certificates(std::string_view pem) {
  ERR_clear_error();
  std::vector<OwnedCertificate> certificates;
  const OwnedBio bio = reader(pem);
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (!at_end) return openssl_failure("holds a damaged certificate");
  ERR_clear_error();
  if (certificates.empty()) {
    return fail("holds no certificate; it has to begin with -----BEGIN CERTIFICATE-----");
  }
  return certificates;
}

Result<OwnedKey> read_key(std::string_view pem) {
  ERR_clear_error();
  OwnedKey key(PEM_read_bio_PrivateKey(reader(pem).get(), nullptr, no_password, nullptr));
  if (!key) {
    return openssl_failure("holds no private key that can be read without a password");
  }
  return key;
}

}  // namespace phalanx::serve
