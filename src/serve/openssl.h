// Ownership of OpenSSL's objects, and its errors as sentences. Only for the .cc files of serve.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace phalanx::serve {

template <auto FreeFunction>
struct OpensslDeleter {
  template <typename T>
  void operator()(T* object) const {
    FreeFunction(object);
  }
};
template <typename T, auto FreeFunction>
using OpensslOwned = std::unique_ptr<T, OpensslDeleter<FreeFunction>>;

using OwnedBio = OpensslOwned<BIO, BIO_free>;
using OwnedKey = OpensslOwned<EVP_PKEY, EVP_PKEY_free>;
using OwnedCertificate = OpensslOwned<X509, X509_free>;
using OwnedTlsContext = OpensslOwned<SSL_CTX, SSL_CTX_free>;

// `what`, and OpenSSL's own reason in brackets, which is taken from the thread's list of errors.
std::unexpected<Error> openssl_failure(std::string_view what);

// Every certificate of a PEM text, at least one.
Result<std::vector<OwnedCertificate>> read_certificates(std::string_view pem);

// A key that is protected by a password is refused: nobody is there to type it.
Result<OwnedKey> read_key(std::string_view pem);

}  // namespace phalanx::serve
