#include "certs/given_certificate.h"

#include "certs/key_pair.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

using std::chrono::hours;

class GivenCertificateTest : public AuthorityTest {
 protected:
  GivenCertificateTest() : authority_(make_authority()) {}

  GivenCertificate write(const std::string& chain, const EVP_PKEY& key) {
    const GivenCertificate given{directory_ / "server.crt", directory_ / "server.key"};
    EXPECT_TRUE(write_file_atomically(given.certificate, chain, 0644));
    EXPECT_TRUE(write_file_atomically(given.private_key, *private_key_pem(key), 0600));
    return given;
  }
  Leaf mint() {
    return std::move(mint_leaf({{"alpha.localhost"}, {}}, authority_.intermediate, clock_.wall()).value());
  }
  std::string refusal(const GivenCertificate& given) {
    const auto loaded = load_given_certificate(given, clock_.wall());
    EXPECT_FALSE(loaded);
    if (loaded) return {};
    EXPECT_EQ(loaded.error().id(), "certificate_invalid");
    return loaded.error().text();
  }

  Authority authority_;
};

TEST_F(GivenCertificateTest, IsShownForEveryNameWithoutACa) {
  const Leaf leaf = mint();
  CertificateStoreOptions options;
  options.ca_directory = directory_ / "no-ca-here";
  options.given = write(pem(*leaf.certificate) + pem(*authority_.intermediate.certificate), *leaf.key);
  const auto store = CertificateStore::open(options, clock_);
  ASSERT_TRUE(store) << store.error().to_string();
  for (const char* name : {"", "alpha.localhost", "anything.example.com"}) {
    const auto shown = (*store)->certificate_for(name, [](std::string_view) { return std::nullopt; });
    ASSERT_TRUE(shown);
    EXPECT_EQ(fingerprint(*(*shown)->leaf), fingerprint(*leaf.certificate));
    EXPECT_EQ(sk_X509_num((*shown)->chain.get()), 1);
  }
}

TEST_F(GivenCertificateTest, T07_ACaCertificateIsRefused) {
  const auto root_key = parse_private_key(read_file(location().root_key()).value());
  EXPECT_NE(refusal(write(pem(*authority_.root), **root_key)).find("is a CA certificate"), std::string::npos);
}

TEST_F(GivenCertificateTest, AKeyOfAnotherCertificateIsRefused) {
  const auto other = generate_key();
  EXPECT_NE(refusal(write(pem(*mint().certificate), **other)).find("does not belong to"), std::string::npos);
}

TEST_F(GivenCertificateTest, AnEndedOneIsRefused) {
  const Leaf leaf = mint();
  const auto given = write(pem(*leaf.certificate), *leaf.key);
  clock_.jump_wall(hours(24 * 31));
  EXPECT_NE(refusal(given).find("ended at"), std::string::npos);
}

TEST_F(GivenCertificateTest, GarbageIsRefusedByFile) {
  const auto key = generate_key();
  EXPECT_NE(refusal(write("not PEM", **key)).find("server.crt holds no readable certificate"),
            std::string::npos);
  const auto given = write(pem(*mint().certificate), **key);
  ASSERT_TRUE(write_file_atomically(given.private_key, "not PEM", 0600));
  EXPECT_NE(refusal(given).find("server.key holds no readable private key"), std::string::npos);
}

TEST_F(GivenCertificateTest, AnAbsentFileIsNotFound) {
  const auto loaded =
      load_given_certificate({directory_ / "none.crt", directory_ / "none.key"}, clock_.wall());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind(), ErrorKind::not_found);
}

}  // namespace
}  // namespace hedge::certs
