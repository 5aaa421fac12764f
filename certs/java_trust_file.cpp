#include "certs/java_trust_file.h"

#include <memory>

#include <openssl/objects.h>
#include <openssl/pkcs12.h>

namespace hedge::certs {
namespace {

// Oracle's attribute, without which Java takes a certificate for one of a chain and trusts nothing.
constexpr const char* kTrustedKeyUsage = "2.16.840.1.113894.746875.1.1";

struct BagsFree {
  void operator()(STACK_OF(PKCS12_SAFEBAG) * bags) const noexcept {
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  }
};
struct SafesFree {
  void operator()(STACK_OF(PKCS7) * safes) const noexcept { sk_PKCS7_pop_free(safes, PKCS7_free); }
};
using BagsPtr = std::unique_ptr<STACK_OF(PKCS12_SAFEBAG), BagsFree>;
using SafesPtr = std::unique_ptr<STACK_OF(PKCS7), SafesFree>;
using Pkcs12Ptr = std::unique_ptr<PKCS12, OpensslFree<&PKCS12_free>>;

// Java finds entries by name, so each needs one.
bool add_root(STACK_OF(PKCS12_SAFEBAG) * bags, const X509& root, std::size_t number) {
  const std::string name = "root-" + std::to_string(number);
  PKCS12_SAFEBAG* bag = PKCS12_SAFEBAG_create_cert(const_cast<X509*>(&root));
  if (bag == nullptr || sk_PKCS12_SAFEBAG_push(bags, bag) <= 0) {
    PKCS12_SAFEBAG_free(bag);
    return false;
  }
  // Length -1: the value is an object identifier, not bytes.
  const auto* any_usage = reinterpret_cast<const unsigned char*>(OBJ_nid2obj(NID_anyExtendedKeyUsage));
  return PKCS12_add_friendlyname_utf8(bag, name.data(), static_cast<int>(name.size())) == 1 &&
         PKCS12_add1_attr_by_txt(bag, kTrustedKeyUsage, V_ASN1_OBJECT, any_usage, -1) == 1;
}

}  // namespace

Result<std::string> java_trust_file(const std::vector<const X509*>& roots) {
  const BagsPtr bags(sk_PKCS12_SAFEBAG_new_null());
  if (!bags) return openssl_error("make a trust store for Java");
  std::size_t number = 0;
  for (const X509* root : roots) {
    if (!add_root(bags.get(), *root, ++number)) return openssl_error("add a root to Java's trust store");
  }
  STACK_OF(PKCS7)* list = nullptr;
  constexpr int kNotEncrypted = -1;
  const int added = PKCS12_add_safe(&list, bags.get(), kNotEncrypted, 0, nullptr);
  const SafesPtr safes(list);
  const Pkcs12Ptr file(added == 1 ? PKCS12_add_safes(safes.get(), 0) : nullptr);
  unsigned char* der = nullptr;
  const int size = file ? i2d_PKCS12(file.get(), &der) : -1;
  if (size <= 0) return openssl_error("write Java's trust store");
  std::string content(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return content;
}

}  // namespace hedge::certs
