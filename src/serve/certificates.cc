#include "serve/certificates.h"

#include <fmt/format.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "serve/ip_address.h"
#include "serve/openssl.h"

namespace phalanx::serve {
namespace {

using OwnedExtension = OpensslOwned<X509_EXTENSION, X509_EXTENSION_free>;
using OwnedNames = OpensslOwned<GENERAL_NAMES, GENERAL_NAMES_free>;
using OwnedName = OpensslOwned<GENERAL_NAME, GENERAL_NAME_free>;
using OwnedNumber = OpensslOwned<BIGNUM, BN_free>;
using OwnedStore = OpensslOwned<X509_STORE, X509_STORE_free>;
// Only borrows what it holds.
using BorrowedCertificates =
    OpensslOwned<STACK_OF(X509), [](STACK_OF(X509) * list) { sk_X509_free(list); }>;
using OwnedStoreContext = OpensslOwned<X509_STORE_CTX, X509_STORE_CTX_free>;

constexpr size_t kMaxCommonName = 64;  // X.520

std::string taken_from(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

std::string to_pem(X509* certificate) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return taken_from(bio.get());
}

std::string to_pem(EVP_PKEY* key) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return taken_from(bio.get());
}

time_t to_seconds(Time time) {
  return std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
}

Result<Time> to_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return openssl_failure("has an unreadable date");
  return Time(std::chrono::seconds(timegm(&parts)));
}

// As DNS has them, and a star in front; longer or with other characters no client would take it.
bool is_dns_name(std::string_view name) {
  if (name.starts_with("*.")) name.remove_prefix(2);
  if (name.empty() || name.size() > 253 || name.starts_with('.') || name.contains("..")) {
    return false;
  }
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._") ==
         std::string_view::npos;
}

bool set_random_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, never short
  const OwnedNumber number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool add_subject_part(X509* certificate, const char* part, std::string_view text) {
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), part, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const OwnedExtension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool add_names(X509* certificate, const std::vector<std::string>& names) {
  const OwnedNames list(GENERAL_NAMES_new());
  if (!list) return false;
  for (const std::string& name : names) {
    OwnedName entry(a2i_GENERAL_NAME(nullptr, nullptr, nullptr,
                                     canonical_ip(name) ? GEN_IPADD : GEN_DNS, name.c_str(), 0));
    if (!entry || sk_GENERAL_NAME_push(list.get(), entry.get()) <= 0) return false;
    [[maybe_unused]] const auto* owned_by_list = entry.release();
  }
  return X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), 0, X509V3_ADD_DEFAULT) ==
         1;
}

// Version, serial number, dates and key: what every certificate begins with.
Result<OwnedCertificate> begin_certificate(EVP_PKEY* key, Time not_before, Time not_after) {
  OwnedCertificate certificate(X509_new());
  const bool made =
      certificate && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
      set_random_serial(certificate.get()) &&
      ASN1_TIME_set(X509_getm_notBefore(certificate.get()), to_seconds(not_before)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(certificate.get()), to_seconds(not_after)) != nullptr &&
      X509_set_pubkey(certificate.get(), key) == 1;
  if (!made) return openssl_failure("cannot make a certificate");
  return certificate;
}

Result<void> sign(X509* certificate, EVP_PKEY* key) {
  // Keys of these kinds bring their own digest; an authority may have been made by somebody else.
  const bool own_digest = EVP_PKEY_is_a(key, "ED25519") == 1 || EVP_PKEY_is_a(key, "ED448") == 1;
  if (X509_sign(certificate, key, own_digest ? nullptr : EVP_sha256()) == 0) {
    return openssl_failure("cannot sign a certificate");
  }
  return {};
}

Result<OwnedKey> make_key() {
  OwnedKey key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("cannot make a key");
  return key;
}

std::string address_text(const ASN1_OCTET_STRING* address) {
  const unsigned char* bytes = ASN1_STRING_get0_data(address);
  const int size = ASN1_STRING_length(address);
  if (size == 4) return fmt::format("{}.{}.{}.{}", bytes[0], bytes[1], bytes[2], bytes[3]);
  if (size != 16) return "";
  std::string text;
  for (int i = 0; i < size; i += 2) {
    text += fmt::format("{}{:x}", i == 0 ? "" : ":", bytes[i] << 8 | bytes[i + 1]);
  }
  return canonical_name(text);
}

std::vector<std::string> names_of(const X509* certificate) {
  std::vector<std::string> names;
  const OwnedNames list(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(list.get(), i);
    if (name->type == GEN_IPADD) names.push_back(address_text(name->d.iPAddress));
    if (name->type != GEN_DNS) continue;
    const auto* data = reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName));
    names.push_back(canonical_name(
        std::string_view(data, static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)))));
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

std::string subject_of(const X509* certificate) {
  const OwnedBio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  return taken_from(bio.get());
}

// What the client asks for: a server, of this name, at this time, below one of the bundle.
bool set_demands(X509_VERIFY_PARAM* demands, std::string_view name, Time now) {
  X509_VERIFY_PARAM_set_time(demands, to_seconds(now));
  X509_VERIFY_PARAM_set_flags(demands, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_purpose(demands, X509_PURPOSE_SSL_SERVER);
  if (name.empty()) return true;
  if (const auto address = canonical_ip(name)) {
    return X509_VERIFY_PARAM_set1_ip_asc(demands, address->c_str()) == 1;
  }
  X509_VERIFY_PARAM_set_hostflags(demands, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  return X509_VERIFY_PARAM_set1_host(demands, name.data(), name.size()) == 1;
}

}  // namespace

std::string canonical_name(std::string_view name) {
  if (auto address = canonical_ip(name)) return *address;
  std::string text(name);
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

Result<Authority> make_authority(std::string_view name, Time now, Duration lifetime) {
  ERR_clear_error();
  ASSIGN_OR_RETURN(const OwnedKey key, make_key());
  ASSIGN_OR_RETURN(const OwnedCertificate certificate,
                   begin_certificate(key.get(), now - kClockSkew, now + lifetime));
  X509* const self = certificate.get();
  std::array<unsigned char, 8> random{};
  std::string number;
  const bool random_made = RAND_bytes(random.data(), random.size()) == 1;
  for (const unsigned char byte : random) number += fmt::format("{:02x}", byte);
  const bool made =
      random_made && add_subject_part(self, "CN", name) &&
      add_subject_part(self, "serialNumber", number) &&
      X509_set_issuer_name(self, X509_get_subject_name(self)) == 1 &&
      add_extension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      add_extension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      add_extension(self, self, NID_subject_key_identifier, "hash");
  if (!made) return openssl_failure(fmt::format("cannot make the authority \"{}\"", name));
  RETURN_IF_ERROR(sign(self, key.get()));
  return Authority{.certificate_pem = to_pem(self), .key_pem = to_pem(key.get())};
}

Result<Identity> issue(const Authority& authority, const std::vector<std::string>& names, Time now,
                       Duration lifetime) {
  std::vector<std::string> canonical;
  for (const std::string& name : names) {
    canonical.push_back(canonical_name(name));
    if (!canonical_ip(name) && !is_dns_name(canonical.back())) {
      return fail(fmt::format("\"{}\" is neither a DNS name nor an IP address", name));
    }
  }
  if (canonical.empty()) return fail("a certificate needs at least one name");
  RETURN_IF_ERROR(check_key(authority.certificate_pem, authority.key_pem));
  ASSIGN_OR_RETURN(const CertificateInfo about, inspect(authority.certificate_pem));
  if (!about.authority) return fail(about.subject + " may not sign certificates");
  ASSIGN_OR_RETURN(const auto issuers, read_certificates(authority.certificate_pem));
  ASSIGN_OR_RETURN(const OwnedKey issuer_key, read_key(authority.key_pem));
  X509* const issuer = issuers.front().get();

  ASSIGN_OR_RETURN(const OwnedKey key, make_key());
  ASSIGN_OR_RETURN(
      const OwnedCertificate certificate,
      begin_certificate(key.get(), now - kClockSkew, std::min(now + lifetime, about.not_after)));
  X509* const self = certificate.get();
  // Nobody verifies the common name any more; it is for people who look.
  const std::string common_name = canonical[0].size() <= kMaxCommonName ? canonical[0] : "phalanx";
  const bool made = add_subject_part(self, "CN", common_name) &&
                    X509_set_issuer_name(self, X509_get_subject_name(issuer)) == 1 &&
                    add_extension(self, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                    add_extension(self, issuer, NID_key_usage, "critical,digitalSignature") &&
                    add_extension(self, issuer, NID_ext_key_usage, "serverAuth") &&
                    add_extension(self, issuer, NID_subject_key_identifier, "hash") &&
                    add_extension(self, issuer, NID_authority_key_identifier, "keyid") &&
                    add_names(self, canonical);
  if (!made) return openssl_failure("cannot make a certificate for " + canonical[0]);
  RETURN_IF_ERROR(sign(self, issuer_key.get()));
  return Identity{.certificate_pem = to_pem(self), .key_pem = to_pem(key.get())};
}

Result<CertificateInfo> inspect(std::string_view certificate_pem) {
  ASSIGN_OR_RETURN(const auto certificates, read_certificates(certificate_pem));
  X509* const first = certificates.front().get();
  CertificateInfo info;
  ASSIGN_OR_RETURN(info.not_before, to_time(X509_get0_notBefore(first)));
  ASSIGN_OR_RETURN(info.not_after, to_time(X509_get0_notAfter(first)));
  info.subject = subject_of(first);
  info.names = names_of(first);
  info.authority = X509_check_ca(first) > 0;
  return info;
}

Result<std::vector<std::string>> split_bundle(std::string_view bundle_pem) {
  ASSIGN_OR_RETURN(const auto certificates, read_certificates(bundle_pem));
  std::vector<std::string> texts;
  texts.reserve(certificates.size());
  for (const OwnedCertificate& each : certificates) texts.push_back(to_pem(each.get()));
  return texts;
}

Result<void> check_key(std::string_view certificate_pem, std::string_view key_pem) {
  ASSIGN_OR_RETURN(const auto certificates, read_certificates(certificate_pem));
  ASSIGN_OR_RETURN(const OwnedKey key, read_key(key_pem));
  if (X509_check_private_key(certificates.front().get(), key.get()) == 1) return {};
  ERR_clear_error();
  return fail("the key does not belong to the certificate");
}

Result<void> verify(std::string_view bundle_pem, std::string_view certificate_pem,
                    std::string_view name, Time now) {
  ASSIGN_OR_RETURN(const auto trusted, read_certificates(bundle_pem));
  ASSIGN_OR_RETURN(const auto chain, read_certificates(certificate_pem));
  const OwnedStore store(X509_STORE_new());
  for (const OwnedCertificate& each : trusted) X509_STORE_add_cert(store.get(), each.get());
  const BorrowedCertificates links(sk_X509_new_null());
  for (const OwnedCertificate& each : chain) sk_X509_push(links.get(), each.get());

  const OwnedStoreContext context(X509_STORE_CTX_new());
  const bool ready =
      X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), links.get()) == 1 &&
      set_demands(X509_STORE_CTX_get0_param(context.get()), name, now);
  if (!ready) return openssl_failure("cannot verify the certificate");
  if (X509_verify_cert(context.get()) == 1) return {};
  const int code = X509_STORE_CTX_get_error(context.get());
  ERR_clear_error();
  return fail(fmt::format("the certificate is not good for \"{}\" at {}: {}", name,
                          format_time(now), X509_verify_cert_error_string(code)));
}

}  // namespace phalanx::serve
