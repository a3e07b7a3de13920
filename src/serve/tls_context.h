// How the server speaks TLS, for one identity. Only for the .cc files of serve.
#pragma once

#include "base/error.h"
#include "serve/certificates.h"
#include "serve/openssl.h"

namespace phalanx::serve {

// TLS 1.2 with forward secrecy and authenticated encryption, TLS 1.3, ALPN http/1.1; no
// renegotiation, no compression, no sessions to resume. Fails if certificate and key are damaged
// or do not belong together; dates and names are not looked at.
Result<OwnedTlsContext> make_tls_context(const Identity& identity);

}  // namespace phalanx::serve
