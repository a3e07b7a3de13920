#include "serve/tls_context.h"

#include <openssl/err.h>

#include <string_view>

namespace phalanx::serve {
namespace {

// As on the wire: each protocol after its length.
constexpr std::string_view kProtocols = "\x08http/1.1";
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

int choose_protocol(SSL* /*connection*/, const unsigned char** chosen, unsigned char* chosen_size,
                    const unsigned char* offered, unsigned offered_size, void* /*context*/) {
  unsigned char* found = nullptr;
  const int code = SSL_select_next_proto(
      &found, chosen_size, reinterpret_cast<const unsigned char*>(kProtocols.data()),
      static_cast<unsigned>(kProtocols.size()), offered, offered_size);
  // Who offers only h2 may still speak HTTP/1.1 when nothing was agreed on.
  if (code != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

Result<void> use_identity(SSL_CTX* context, const Identity& identity) {
  RETURN_IF_ERROR(check_key(identity.certificate_pem, identity.key_pem));
  ASSIGN_OR_RETURN(auto chain, read_certificates(identity.certificate_pem));
  ASSIGN_OR_RETURN(const OwnedKey key, read_key(identity.key_pem));
  bool used = SSL_CTX_use_certificate(context, chain.front().get()) == 1;
  for (size_t i = 1; used && i < chain.size(); ++i) {
    used = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  used = used && SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  if (!used) return openssl_failure("the certificate cannot be used for TLS");
  return {};
}

}  // namespace

Result<OwnedTlsContext> make_tls_context(const Identity& identity) {
  ERR_clear_error();
  OwnedTlsContext context(SSL_CTX_new(TLS_server_method()));
  const bool made = context && SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
                    SSL_CTX_set_cipher_list(context.get(), kTls12Ciphers) == 1;
  if (!made) return openssl_failure("cannot set up TLS");
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                         SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // A resumed session would show an identity that has since been replaced.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_alpn_select_cb(context.get(), choose_protocol, nullptr);
  RETURN_IF_ERROR(use_identity(context.get(), identity));
  return context;
}

}  // namespace phalanx::serve
