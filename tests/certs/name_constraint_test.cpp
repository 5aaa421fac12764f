// A leaked key signs for nobody else: clients refuse names outside the constraints (T-17), and single-label
// wildcards (T-05).
#include <array>

#include <openssl/ssl.h>

#include "certs/key_pair.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

class NameConstraintTest : public AuthorityTest {
 protected:
  NameConstraintTest() : authority_(make_authority({"dev.example"})) {}

  X509Ptr leaf_for(const std::string& name) {
    auto leaf = mint_leaf({{name}, {}}, authority_.intermediate, clock_.wall());
    EXPECT_TRUE(leaf);
    return std::move(leaf->certificate);
  }
  std::string verdict(const std::string& name, const std::string& asked) {
    return openssl_verify(authority_, *leaf_for(name), asked);
  }
  std::string verdict(const std::string& name) { return verdict(name, name); }

  Authority authority_;
};

TEST_F(NameConstraintTest, T17_PermitsEverySuffixItselfAndBelow) {
  for (const char* name : {"localhost", "alpha.localhost", "a.b.c.localhost", "alpha.test", "alpha.internal",
                           "dev.example", "alpha.dev.example"}) {
    EXPECT_EQ(verdict(name), "OK") << name;
  }
}

TEST_F(NameConstraintTest, T17_RefusesEveryOtherName) {
  for (const char* name : {"example.com", "www.example.com", "example", "notlocalhost",
                           "localhost.example.com", "xdev.example", "notdev.example"}) {
    EXPECT_NE(verdict(name).find("permitted subtree violation"), std::string::npos)
        << name << ": " << verdict(name);
  }
}

TEST_F(NameConstraintTest, T17_RefusesAddressesThatAreNotLoopback) {
  const auto leaf = mint_leaf({{"alpha.localhost"}, {"192.0.2.1"}}, authority_.intermediate, clock_.wall());
  ASSERT_TRUE(leaf);
  EXPECT_NE(
      openssl_verify(authority_, *leaf->certificate, "alpha.localhost").find("permitted subtree violation"),
      std::string::npos);
}

// A stolen intermediate key cannot make another CA below it, with or without constraints.
TEST_F(NameConstraintTest, TheIntermediateCannotSignAnotherCa) {
  const auto key = generate_key();
  const auto rogue = make_intermediate(**key, *authority_.intermediate.certificate,
                                       *authority_.intermediate.key, clock_.wall());
  ASSERT_TRUE(rogue) << rogue.error().to_string();
  const Issuer issuer{X509Ptr(X509_dup(rogue->get())), PkeyPtr(EVP_PKEY_dup(key->get())), {}};
  const auto leaf = mint_leaf({{"alpha.localhost"}, {}}, issuer, clock_.wall());
  ASSERT_TRUE(leaf);
  const auto chain = directory_ / "rogue.pem";
  ASSERT_TRUE(write_file_atomically(chain, pem(**rogue) + pem(*authority_.intermediate.certificate), 0600));
  const auto root = directory_ / "root.pem";
  ASSERT_TRUE(write_file_atomically(root, pem(*authority_.root), 0600));
  CommandLine command;
  command.argv = {"openssl", "verify", "-no_check_time", "-CAfile", dir(root), "-untrusted", dir(chain)};
  command.input = pem(*leaf->certificate);
  const auto output = run_command(command);
  ASSERT_TRUE(output);
  EXPECT_FALSE(output->ok());
  EXPECT_NE((output->out + output->err).find("path length constraint exceeded"), std::string::npos)
      << output->err;
}

// Why we never ask for it: OpenSSL, and with it curl and Python, refuses a wildcard directly below a
// top-level label.
TEST_F(NameConstraintTest, T05_AWildcardNeedsTwoFixedLabels) {
  EXPECT_NE(verdict("*.localhost", "alpha.localhost").find("hostname mismatch"), std::string::npos);
  EXPECT_EQ(verdict("*.dev.localhost", "alpha.dev.localhost"), "OK");
}

}  // namespace
}  // namespace hedge::certs
