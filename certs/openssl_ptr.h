// Owning pointers for OpenSSL's objects, and its error queue as an Error.
#pragma once

#include <memory>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/error.h"

namespace hedge::certs {

template <auto free_function>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const noexcept {
    free_function(object);
  }
};

struct X509StackFree {
  void operator()(STACK_OF(X509) * stack) const noexcept;  // with the certificates in it
};

using X509Ptr = std::unique_ptr<X509, OpensslFree<&X509_free>>;
using X509ExtensionPtr = std::unique_ptr<X509_EXTENSION, OpensslFree<&X509_EXTENSION_free>>;
using X509StackPtr = std::unique_ptr<STACK_OF(X509), X509StackFree>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree<&EVP_PKEY_free>>;
using PkeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, OpensslFree<&EVP_PKEY_CTX_free>>;
using BioPtr = std::unique_ptr<BIO, OpensslFree<&BIO_free_all>>;
using Asn1TimePtr = std::unique_ptr<ASN1_TIME, OpensslFree<&ASN1_TIME_free>>;
using Asn1IntegerPtr = std::unique_ptr<ASN1_INTEGER, OpensslFree<&ASN1_INTEGER_free>>;
using Asn1OctetStringPtr = std::unique_ptr<ASN1_OCTET_STRING, OpensslFree<&ASN1_OCTET_STRING_free>>;
using BignumPtr = std::unique_ptr<BIGNUM, OpensslFree<&BN_free>>;
using BasicConstraintsPtr = std::unique_ptr<BASIC_CONSTRAINTS, OpensslFree<&BASIC_CONSTRAINTS_free>>;
using NameConstraintsPtr = std::unique_ptr<NAME_CONSTRAINTS, OpensslFree<&NAME_CONSTRAINTS_free>>;
using GeneralNamePtr = std::unique_ptr<GENERAL_NAME, OpensslFree<&GENERAL_NAME_free>>;
using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslFree<&GENERAL_NAMES_free>>;
using AuthorityKeyIdPtr = std::unique_ptr<AUTHORITY_KEYID, OpensslFree<&AUTHORITY_KEYID_free>>;
using ExtendedKeyUsagePtr = std::unique_ptr<EXTENDED_KEY_USAGE, OpensslFree<&EXTENDED_KEY_USAGE_free>>;
using BitStringPtr = std::unique_ptr<ASN1_BIT_STRING, OpensslFree<&ASN1_BIT_STRING_free>>;

// Empties this thread's error queue into one Error of kind io: "doing: reason".
Error openssl_error(std::string_view doing);

// Keeps OpenSSL from reading openssl.cnf or $OPENSSL_CONF, so that no system setting changes our certificates
// or our TLS. Call once, from main, before anything else uses OpenSSL.
void ignore_openssl_configuration();

}  // namespace hedge::certs
