#include <sys/stat.h>

#include "certs/certificate_authority.h"
#include "certs/key_pair.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;

mode_t mode_of(const fs::path& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777U;
}

TEST_F(AuthorityTest, IsMadeOnceAndThenFoundAgain) {
  const auto first = ensure_authority(location(), default_suffixes(), clock_);
  ASSERT_TRUE(first) << first.error().to_string();
  EXPECT_EQ(first->change, AuthorityChange::created);
  const auto second = ensure_authority(location(), default_suffixes(), clock_);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->change, AuthorityChange::none);
  EXPECT_EQ(fingerprint(*first->authority.root), fingerprint(*second->authority.root));
  EXPECT_EQ(first->authority.intermediate.fingerprint, second->authority.intermediate.fingerprint);
}

TEST_F(AuthorityTest, KeepsItsKeysToTheOwner) {
  make_authority();
  EXPECT_EQ(mode_of(location().directory), 0700U);
  EXPECT_EQ(mode_of(location().root_key()), 0400U);
  EXPECT_EQ(mode_of(location().intermediate()), 0600U);
  EXPECT_EQ(mode_of(location().root_certificate()), 0644U);
}

TEST_F(AuthorityTest, KeepsTheModesWhateverTheUmaskIs) {
  const mode_t before = ::umask(0);
  make_authority();
  ::umask(before);
  EXPECT_EQ(mode_of(location().directory), 0700U);
  EXPECT_EQ(mode_of(location().root_key()), 0400U);
}

TEST_F(AuthorityTest, T07_RootIsAConstrainedCaWithoutAlternativeNames) {
  const Authority authority = make_authority({"dev.example"});
  const std::string text = openssl_text(*authority.root);
  EXPECT_NE(text.find("Version: 3"), std::string::npos) << text;
  EXPECT_NE(text.find("X509v3 Basic Constraints: critical\n                CA:TRUE, pathlen:1"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("X509v3 Key Usage: critical\n                Certificate Sign, CRL Sign"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("X509v3 Name Constraints: critical"), std::string::npos) << text;
  EXPECT_NE(text.find("IP:127.0.0.0/255.0.0.0"), std::string::npos) << text;
  EXPECT_NE(text.find("NIST CURVE: P-256"), std::string::npos) << text;
  EXPECT_EQ(text.find("Subject Alternative Name"), std::string::npos) << text;
  EXPECT_EQ(permitted_suffixes(*authority.root),
            (std::vector<std::string>{"localhost", "test", "internal", "dev.example"}));
  EXPECT_EQ(not_after(*authority.root) - not_before(*authority.root), hours(24 * 3650 + 1));
}

TEST_F(AuthorityTest, IntermediateSignsLeavesOnlyUnderTheSameConstraints) {
  const Authority authority = make_authority({"dev.example"});
  const X509& intermediate = *authority.intermediate.certificate;
  const std::string text = openssl_text(intermediate);
  EXPECT_NE(text.find("CA:TRUE, pathlen:0"), std::string::npos) << text;
  EXPECT_EQ(permitted_suffixes(intermediate), permitted_suffixes(*authority.root));
  EXPECT_EQ(not_after(intermediate) - not_before(intermediate), hours(24 * 365 + 1));
  EXPECT_TRUE(is_signed_by(intermediate, *authority.root));
}

// OpenSSL reads any non-zero byte as true; Chromium, rightly, reads DER and passes over a CA that is not.
TEST_F(AuthorityTest, SaysThatItIsACaInDer) {
  const Authority authority = make_authority();
  for (const auto& [certificate, path_length] :
       {std::pair{authority.root.get(), 1}, std::pair{authority.intermediate.certificate.get(), 0}}) {
    const int at = X509_get_ext_by_NID(certificate, NID_basic_constraints, -1);
    ASSERT_GE(at, 0);
    const ASN1_OCTET_STRING* value = X509_EXTENSION_get_data(X509_get_ext(certificate, at));
    const unsigned char* bytes = ASN1_STRING_get0_data(value);
    EXPECT_EQ(std::vector<int>(bytes, bytes + ASN1_STRING_length(value)),
              (std::vector<int>{0x30, 0x06, 0x01, 0x01, 0xff, 0x02, 0x01, path_length}));
  }
}

// Whatever a build of OpenSSL adds by default, each extension of ours stands exactly once (T-12).
TEST_F(AuthorityTest, T12_EachExtensionStandsExactlyOnce) {
  const Authority authority = make_authority();
  for (const X509* certificate : {authority.root.get(), authority.intermediate.certificate.get()}) {
    std::vector<int> kinds;
    for (int i = 0; i < X509_get_ext_count(certificate); ++i) {
      kinds.push_back(OBJ_obj2nid(X509_EXTENSION_get_object(X509_get_ext(certificate, i))));
    }
    std::sort(kinds.begin(), kinds.end());
    EXPECT_EQ(std::adjacent_find(kinds.begin(), kinds.end()), kinds.end());
    EXPECT_EQ(count(openssl_text(*certificate), "X509v3 Basic Constraints"), 1U);
  }
}

TEST_F(AuthorityTest, T09_ANewRootNeverHasAnOldOnesName) {
  const Authority first = make_authority();
  fs::remove_all(location().directory);
  const Authority second = make_authority();
  EXPECT_NE(common_name(*first.root), common_name(*second.root));
  EXPECT_NE(fingerprint(*first.root), fingerprint(*second.root));
  EXPECT_EQ(organizational_unit(*first.root), organizational_unit(*second.root))
      << "the tag of the directory";
  EXPECT_EQ(organizational_unit(*second.root), installation_id(location().directory));
}

TEST_F(AuthorityTest, NamesFitIntoACommonNameHoweverTheMachineIsCalled) {
  const auto key = generate_key();
  for (const std::string& host :
       {std::string(255, 'h'), std::string("caf\xc3\xa9 \"x\",O=y"), std::string()}) {
    const auto root = make_root(**key, {"tag", host}, default_suffixes(), clock_.wall());
    ASSERT_TRUE(root) << root.error().to_string();
    EXPECT_LE(common_name(**root).size(), 64U);
    EXPECT_TRUE(common_name(**root).starts_with("Hedge local CA ")) << common_name(**root);
    const auto intermediate = make_intermediate(**key, **root, **key, clock_.wall());
    ASSERT_TRUE(intermediate) << intermediate.error().to_string();
    EXPECT_LE(common_name(**intermediate).size(), 64U);
  }
}

TEST_F(AuthorityTest, RenewsTheIntermediateWhenLessThanSixtyDaysAreLeft) {
  const Authority before = make_authority();
  clock_.jump_wall(hours(24 * (365 - 61)));
  EXPECT_EQ(ensure_authority(location(), default_suffixes(), clock_)->change, AuthorityChange::none);
  clock_.jump_wall(hours(24 * 2));
  const auto after = ensure_authority(location(), default_suffixes(), clock_);
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(after->change, AuthorityChange::intermediate_renewed);
  EXPECT_EQ(fingerprint(*after->authority.root), fingerprint(*before.root)) << "trust stays";
  EXPECT_NE(after->authority.intermediate.fingerprint, before.intermediate.fingerprint);
  EXPECT_EQ(not_after(*after->authority.intermediate.certificate) - clock_.wall(), hours(24 * 365));
}

TEST_F(AuthorityTest, NeverLetsTheIntermediateOutliveTheRoot) {
  const Authority before = make_authority();
  clock_.jump_wall(hours(24 * (3650 - 100)));
  const auto after = ensure_authority(location(), default_suffixes(), clock_);
  ASSERT_TRUE(after);
  EXPECT_EQ(not_after(*after->authority.intermediate.certificate), not_after(*before.root));
  // And it is not renewed again and again although less than sixty days are left.
  clock_.jump_wall(hours(24 * 60));
  EXPECT_EQ(ensure_authority(location(), default_suffixes(), clock_)->change, AuthorityChange::none);
}

TEST_F(AuthorityTest, T14_AnEndedRootIsNamedAsOurs) {
  const Authority before = make_authority();
  clock_.jump_wall(hours(24 * 3651));
  const auto found = load_authority(location(), clock_.wall());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().id(), "ca_expired");
  EXPECT_NE(found.error().text().find(common_name(*before.root)), std::string::npos)
      << found.error().to_string();
}

TEST_F(AuthorityTest, AbsentIsAnErrorOfItsOwn) {
  const auto found = load_authority(location(), clock_.wall());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().id(), "ca_missing");
  EXPECT_EQ(found.error().kind(), ErrorKind::not_found);
}

struct Damage {
  const char* name;
  void (*apply)(const AuthorityLocation& location, const std::string& foreign_pem);
};

class DamagedAuthority : public AuthorityTest, public ::testing::WithParamInterface<Damage> {};

// A damaged CA is reported and left alone: replacing it silently would break every store that trusts it
// (T-10).
TEST_P(DamagedAuthority, T10_IsRefusedByIdAndNeverReplaced) {
  make_authority();
  const AuthorityLocation other{directory_ / "other/ca", directory_ / "other/ca.lock"};
  ASSERT_TRUE(ensure_authority(other, default_suffixes(), clock_));
  GetParam().apply(location(), read_file(other.intermediate()).value());
  const auto damaged = read_file(location().intermediate());
  const auto found = ensure_authority(location(), default_suffixes(), clock_);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().id(), "ca_invalid") << found.error().to_string();
  EXPECT_FALSE(found.error().hints().empty());
  const auto after = read_file(location().intermediate());
  ASSERT_EQ(damaged.has_value(), after.has_value());
  EXPECT_TRUE(!damaged || *damaged == *after);
}

INSTANTIATE_TEST_SUITE_P(
    Each, DamagedAuthority,
    ::testing::Values(
        Damage{"RootMissing", [](const auto& at, const auto&) { fs::remove(at.root_certificate()); }},
        Damage{"IntermediateMissing", [](const auto& at, const auto&) { fs::remove(at.intermediate()); }},
        Damage{"RootIsGarbage",
               [](const auto& at, const auto&) {
                 ASSERT_TRUE(write_file_atomically(at.root_certificate(), "x", 0644));
               }},
        Damage{"IntermediateOfAnotherCa",
               [](const auto& at, const auto& foreign) {
                 ASSERT_TRUE(write_file_atomically(at.intermediate(), foreign, 0600));
               }},
        Damage{"KeyOfAnotherCertificate",
               [](const auto& at, const auto& foreign) {
                 const auto own = parse_certificate(read_file(at.intermediate()).value());
                 const auto key = parse_private_key(foreign);
                 ASSERT_TRUE(
                     write_file_atomically(at.intermediate(), pem(**own) + *private_key_pem(**key), 0600));
               }},
        Damage{"CertificateWithoutKey",
               [](const auto& at, const auto&) {
                 const auto own = parse_certificate(read_file(at.intermediate()).value());
                 ASSERT_TRUE(write_file_atomically(at.intermediate(), pem(**own), 0600));
               }}),
    [](const auto& tested) { return tested.param.name; });

TEST_F(AuthorityTest, T10_ARootKeyOfAnotherCaSignsNoIntermediate) {
  const Authority before = make_authority();
  const auto key = generate_key();
  ASSERT_TRUE(write_file_atomically(location().root_key(), *private_key_pem(**key), 0400));
  clock_.jump_wall(hours(24 * 320));
  const auto after = ensure_authority(location(), default_suffixes(), clock_);
  ASSERT_FALSE(after);
  EXPECT_EQ(after.error().id(), "ca_invalid");
  EXPECT_EQ(load_issuer(location().directory)->fingerprint, before.intermediate.fingerprint);
}

TEST_F(AuthorityTest, WhatIsInTheWayIsNotOverwritten) {
  fs::create_directories(location().directory.parent_path());
  ASSERT_TRUE(write_file_atomically(location().directory, "mine", 0600));
  EXPECT_FALSE(ensure_authority(location(), default_suffixes(), clock_));
  EXPECT_EQ(read_file(location().directory).value(), "mine");
}

TEST_F(AuthorityTest, LeftoversOfKilledProcessesAreRemoved) {
  const fs::path leftover = location().directory.parent_path() / ".ca-new-0123456789ab";
  fs::create_directories(leftover);
  ASSERT_TRUE(write_file_atomically(leftover / "root.key", "half", 0400));
  make_authority();
  EXPECT_FALSE(fs::exists(leftover));
}

}  // namespace
}  // namespace hedge::certs
