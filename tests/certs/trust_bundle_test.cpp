#include "certs/trust_bundle.h"

#include "certs/authority_rotation.h"
#include "certs/java_trust_file.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;

class TrustBundleTest : public AuthorityTest {
 protected:
  // Two roots that are not ours, as the machine's public ones.
  fs::path public_roots() {
    std::string both;
    for (const char* name : {"one", "two"}) {
      const AuthorityLocation other{directory_ / name / "ca", directory_ / name / "ca.lock"};
      EXPECT_TRUE(ensure_authority(other, default_suffixes(), clock_));
      both += read_file(other.root_certificate()).value();
    }
    EXPECT_TRUE(write_file_atomically(directory_ / "public.crt", both, 0644));
    return directory_ / "public.crt";
  }
  static std::size_t roots_in(const fs::path& file) {
    return parse_certificates(read_file(file).value()).size();
  }
  // What OpenSSL's own program reads out of a PKCS#12 file.
  static std::string pkcs12_text(const fs::path& file) {
    CommandLine command;
    command.argv = {"openssl", "pkcs12", "-in", file.string(), "-nokeys", "-nomacver", "-passin", "pass:"};
    return run_for_output(command).value();
  }
};

TEST_F(TrustBundleTest, T20_JavasFileHoldsEveryRootMarkedAsTrusted) {
  make_authority();
  const auto bundle = ensure_trust_bundle(location(), {public_roots()});
  ASSERT_TRUE(bundle) << bundle.error().to_string();
  const std::string text = pkcs12_text(bundle->java);
  EXPECT_EQ(count(text, "BEGIN CERTIFICATE"), 3U);
  EXPECT_EQ(count(text, "2.16.840.1.113894.746875.1.1: "), 3U) << text;
  EXPECT_EQ(count(text, "friendlyName: root-"), 3U);
  EXPECT_EQ(trust_variables(*bundle).at("JAVA_TOOL_OPTIONS"),
            "-Djavax.net.ssl.trustStore=" + dir(bundle->java));
}

TEST_F(TrustBundleTest, FilesThatAreRightAreNotWrittenAgain) {
  make_authority();
  const fs::path machine = public_roots();
  const auto bundle = ensure_trust_bundle(location(), {machine});
  const std::vector<fs::path> files{bundle->root, bundle->bundle, bundle->java};
  const auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (const fs::path& file : files) fs::last_write_time(file, past);
  ASSERT_TRUE(ensure_trust_bundle(location(), {machine}));
  for (const fs::path& file : files) EXPECT_EQ(fs::last_write_time(file), past) << file;
}

TEST_F(TrustBundleTest, T09_WhileARootIsReplacedBothStandInEveryFile) {
  make_authority();
  const fs::path machine = public_roots();
  ASSERT_TRUE(prepare_successor(location(), default_suffixes(), clock_));
  for (const std::size_t own : {2U, 2U, 1U}) {
    const auto bundle = ensure_trust_bundle(location(), {machine});
    EXPECT_EQ(roots_in(bundle->root), own);
    EXPECT_EQ(roots_in(bundle->bundle), 2 + own);
    EXPECT_EQ(count(pkcs12_text(bundle->java), "BEGIN CERTIFICATE"), 2 + own);
    if (rotation_stage(location()) == RotationStage::prepared) {
      ASSERT_TRUE(switch_to_successor(location(), clock_));
    } else {
      ASSERT_TRUE(end_rotation(location()));
    }
  }
}

TEST_F(TrustBundleTest, NoKeyIsEverInTheDirectoryThatContainersMount) {
  make_authority();
  const auto bundle = ensure_trust_bundle(location(), {public_roots()});
  for (const auto& entry : fs::directory_iterator(bundle->directory)) {
    const std::string content = read_file(entry.path()).value();
    EXPECT_EQ(content.find("PRIVATE KEY"), std::string::npos) << entry.path();
    EXPECT_EQ(fs::status(entry.path()).permissions(), fs::perms(0644)) << entry.path();
  }
  EXPECT_EQ(fs::status(bundle->directory).permissions(), fs::perms(0755));
}

TEST_F(TrustBundleTest, APathThatAnOptionOfTheJvmCannotHoldIsLeftOut) {
  const AuthorityLocation spaced{directory_ / "my state/ca", directory_ / "my state/ca.lock"};
  ASSERT_TRUE(ensure_authority(spaced, default_suffixes(), clock_));
  const auto bundle = ensure_trust_bundle(spaced, {public_roots()});
  const Environment variables = trust_variables(*bundle);
  EXPECT_FALSE(variables.contains("JAVA_TOOL_OPTIONS"));
  EXPECT_EQ(variables.at("SSL_CERT_FILE"), dir(bundle->bundle));
}

TEST_F(TrustBundleTest, APlannedBundleIsWhereItWillBe) {
  make_authority();
  const fs::path machine = public_roots();
  const TrustBundle planned = find_trust_bundle(location(), {machine});
  EXPECT_FALSE(fs::exists(planned.directory));
  const auto made = ensure_trust_bundle(location(), {machine});
  EXPECT_EQ(planned.bundle, made->bundle);
  EXPECT_EQ(planned.java, made->java);
  EXPECT_EQ(trust_variables(planned), trust_variables(*made));
}

}  // namespace
}  // namespace hedge::certs
