#include "certs/leaf_profile.h"

#include <set>

#include "certs/certificate_builder.h"
#include "certs/key_pair.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

using std::chrono::hours;

LeafNames named(std::initializer_list<std::string> dns) {
  return {dns, {}};
}

// 120 characters, labels of at most 63.
std::string long_host() {
  return std::string(50, 'a') + "." + std::string(59, 'b') + ".localhost";
}

class LeafTest : public AuthorityTest {
 protected:
  LeafTest() : authority_(make_authority()) {}
  Leaf mint(const LeafNames& names) {
    auto leaf = mint_leaf(names, authority_.intermediate, clock_.wall());
    EXPECT_TRUE(leaf) << leaf.error().to_string();
    return std::move(*leaf);
  }
  Authority authority_;
};

TEST_F(LeafTest, T07_IsAServersCertificateAndNothingElse) {
  const Leaf leaf = mint(named({"alpha.dev.localhost"}));
  const std::string text = openssl_text(*leaf.certificate);
  EXPECT_NE(text.find("X509v3 Basic Constraints: critical\n                CA:FALSE"), std::string::npos)
      << text;
  EXPECT_NE(text.find("X509v3 Key Usage: critical\n                Digital Signature\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("X509v3 Extended Key Usage: \n                TLS Web Server Authentication\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("X509v3 Subject Alternative Name: \n                DNS:alpha.dev.localhost\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("X509v3 Authority Key Identifier"), std::string::npos);
  EXPECT_NE(text.find("X509v3 Subject Key Identifier"), std::string::npos);
  EXPECT_NE(text.find("ecdsa-with-SHA256"), std::string::npos);
  EXPECT_TRUE(has_key(*leaf.certificate, *leaf.key));
}

TEST_F(LeafTest, T16_LivesThirtyDaysAndAnHourBackdated) {
  const Leaf leaf = mint(named({"alpha.localhost"}));
  EXPECT_EQ(clock_.wall() - not_before(*leaf.certificate), hours(1));
  EXPECT_EQ(not_after(*leaf.certificate) - clock_.wall(), hours(24 * 30));
  EXPECT_LE(not_after(*leaf.certificate) - not_before(*leaf.certificate), hours(24 * 397));
}

TEST_F(LeafTest, T16_NeverOutlivesItsIssuer) {
  clock_.jump_wall(hours(24 * 360));
  const Leaf leaf = mint(named({"alpha.localhost"}));
  EXPECT_EQ(not_after(*leaf.certificate), not_after(*authority_.intermediate.certificate));
  clock_.jump_wall(hours(24 * 6));
  const auto refused = mint_leaf(named({"alpha.localhost"}), authority_.intermediate, clock_.wall());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id(), "ca_expired");
}

TEST_F(LeafTest, IsNeverValidBeforeItsIssuer) {
  const Leaf leaf = mint(named({"alpha.localhost"}));
  EXPECT_GE(not_before(*leaf.certificate), not_before(*authority_.intermediate.certificate));
}

TEST_F(LeafTest, VerifiesForItsNameOnly) {
  const Leaf leaf = mint(named({"alpha.dev.localhost", "*.alpha.dev.localhost"}));
  EXPECT_EQ(openssl_verify(authority_, *leaf.certificate, "alpha.dev.localhost"), "OK");
  EXPECT_EQ(openssl_verify(authority_, *leaf.certificate, "api.alpha.dev.localhost"), "OK");
  EXPECT_NE(openssl_verify(authority_, *leaf.certificate, "beta.dev.localhost").find("hostname mismatch"),
            std::string::npos);
}

TEST_F(LeafTest, T07_AHostOf120CharactersGetsAValidLeafWithoutCommonName) {
  ASSERT_EQ(long_host().size(), 120U);
  const Leaf leaf = mint(named({long_host()}));
  EXPECT_EQ(common_name(*leaf.certificate), "");
  EXPECT_EQ(openssl_verify(authority_, *leaf.certificate, long_host()), "OK");
}

TEST_F(LeafTest, ACommonNameOf64BytesStandsAndOneOf65IsLeftOut) {
  const std::string fits = std::string(54, 'a') + ".localhost";
  ASSERT_EQ(fits.size(), 64U);
  EXPECT_EQ(common_name(*mint(named({fits})).certificate), fits);
  EXPECT_EQ(common_name(*mint(named({"x" + fits})).certificate), "");
}

TEST_F(LeafTest, IsValidForLoopbackAddressesThatItNames) {
  const Leaf leaf = mint({{"hedge.localhost"}, {"127.0.0.1", "::1"}});
  EXPECT_EQ(openssl_verify(authority_, *leaf.certificate, "hedge.localhost"), "OK");
  EXPECT_NE(openssl_text(*leaf.certificate).find("IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1"),
            std::string::npos);
}

TEST_F(LeafTest, SerialNumbersAre128BitsAndNeverRepeat) {
  std::set<std::string> serials;
  int widest = 0;
  for (int i = 0; i < 200; ++i) {
    const Leaf leaf = mint(named({"alpha.localhost"}));
    const BignumPtr number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(leaf.certificate.get()), nullptr));
    EXPECT_FALSE(BN_is_negative(number.get()));
    widest = std::max(widest, BN_num_bits(number.get()));
    std::string raw(32, '\0');
    raw.resize(
        static_cast<std::size_t>(BN_bn2bin(number.get(), reinterpret_cast<unsigned char*>(raw.data()))));
    serials.insert(raw);
  }
  EXPECT_EQ(serials.size(), 200U);
  EXPECT_EQ(widest, 128);
}

TEST_F(LeafTest, AnUnreadableAddressIsAnErrorNotACertificate) {
  EXPECT_FALSE(mint_leaf({{"hedge.localhost"}, {"999.0.0.1"}}, authority_.intermediate, clock_.wall()));
}

}  // namespace
}  // namespace hedge::certs
