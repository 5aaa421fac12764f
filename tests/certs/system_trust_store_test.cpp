#include "certs/system_trust_store.h"

#include "tests/certs/trust_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;

class SystemTrustTest : public TrustTest {
 protected:
  SystemTrustStore store() { return SystemTrustStore(layout(), runner_); }
  // A store that this process may not write, whoever runs the test: the directory for anchors cannot exist.
  SystemTrustStore foreign_store() {
    SystemStoreLayout elsewhere = layout();
    elsewhere.anchors = directory_ / "conf/not-a-directory";
    return SystemTrustStore(elsewhere, runner_);
  }
};

TEST_F(SystemTrustTest, InstallsReadsBackAndIsRepeatable) {
  const TrustedRoot root = make_root_to_trust();
  EXPECT_EQ(store().check(root).status, TrustStatus::absent);
  const TrustFinding first = store().install(root);
  EXPECT_EQ(first.status, TrustStatus::installed) << first.detail;
  EXPECT_EQ(first.fingerprint, root.fingerprint);
  EXPECT_EQ(bundle_fingerprints(), std::vector<std::string>{root.fingerprint});
  EXPECT_EQ(store().check(root).status, TrustStatus::trusted);
  const std::size_t commands = runner_.commands.size();
  EXPECT_EQ(store().install(root).status, TrustStatus::trusted);
  EXPECT_EQ(runner_.commands.size(), commands) << "nothing is run when nothing is to be done";
}

TEST_F(SystemTrustTest, AClientThatReadsTheStoreAcceptsOurLeaf) {
  const TrustedRoot root = make_root_to_trust();
  const Authority authority = std::move(*load_authority(location(), clock_.wall()));
  ASSERT_EQ(store().install(root).status, TrustStatus::installed);
  const auto leaf = mint_leaf({{"alpha.dev.localhost"}, {}}, authority.intermediate, clock_.wall());
  const auto chain = directory_ / "chain.pem";
  ASSERT_TRUE(write_file_atomically(chain, pem(*authority.intermediate.certificate), 0600));
  CommandLine command;
  // By the directory of hashed links, as OpenSSL itself looks; it is what a root of the same file name would
  // miss.
  command.argv = {"openssl",     "verify",  "-no_check_time",        "-no-CAfile",
                  "-no-CAstore", "-CApath", dir(directory_ / "etc"), "-untrusted",
                  dir(chain)};
  command.input = pem(*leaf->certificate);
  const auto output = run_command(command);
  EXPECT_TRUE(output->ok()) << output->err;
}

TEST_F(SystemTrustTest, T09_ANewRootReplacesTheOldOneOfTheSameInstallation) {
  const TrustedRoot first = make_root_to_trust();
  ASSERT_EQ(store().install(first).status, TrustStatus::installed);
  const TrustedRoot second = replace_root();
  ASSERT_EQ(second.installation, first.installation);
  const TrustFinding before = store().check(second);
  EXPECT_EQ(before.status, TrustStatus::absent) << "the same place, but another fingerprint";
  EXPECT_EQ(before.fingerprint, first.fingerprint);
  EXPECT_EQ(before.detail, "holds an older root of this installation");
  EXPECT_EQ(store().install(second).status, TrustStatus::installed);
  EXPECT_EQ(bundle_fingerprints(), std::vector<std::string>{second.fingerprint});
}

TEST_F(SystemTrustTest, LeavesTheRootsOfOthersAlone) {
  const TrustedRoot root = make_root_to_trust();
  const AuthorityLocation other{directory_ / "other/ca", directory_ / "other/ca.lock"};
  ASSERT_TRUE(ensure_authority(other, default_suffixes(), clock_));
  const TrustedRoot theirs = load_trusted_root(other).value();
  ASSERT_EQ(store().install(theirs).status, TrustStatus::installed);
  ASSERT_TRUE(write_file_atomically(directory_ / "anchors/company.crt", theirs.pem, 0644));
  ASSERT_EQ(store().install(root).status, TrustStatus::installed);
  EXPECT_EQ(store().remove(root.installation).status, TrustStatus::removed);
  EXPECT_TRUE(fs::exists(directory_ / "anchors/company.crt"));
  EXPECT_EQ(store().check(theirs).status, TrustStatus::trusted);
  EXPECT_EQ(store().check(root).status, TrustStatus::absent);
}

TEST_F(SystemTrustTest, RemovingWhatIsNotThereIsSuccessAndRunsNothing) {
  const TrustedRoot root = make_root_to_trust();
  EXPECT_EQ(store().remove(root.installation).status, TrustStatus::removed);
  EXPECT_TRUE(runner_.commands.empty());
}

TEST_F(SystemTrustTest, T01_WithoutPermissionSudoIsNeverAllowedToAsk) {
  if (::geteuid() == 0) {
    // Root may write everywhere, so the foreign store cannot be reached: ask the policy of the commands
    // instead.
    ASSERT_EQ(::seteuid(65534), 0);
  }
  runner_.answer = [](const CommandLine& command) -> std::optional<Result<CommandOutput>> {
    if (command.argv.front() == "sudo") return exited(1, "sudo: a password is required\n");
    return std::nullopt;
  };
  TrustedRoot root{directory_ / "ca dir/root.crt", "", std::string(64, 'a'), "tag"};
  const TrustFinding result = foreign_store().install(root);
  ::seteuid(::getuid());
  EXPECT_EQ(result.status, TrustStatus::needs_root);
  EXPECT_EQ(result.error, "needs_root");
  EXPECT_EQ(result.detail, "sudo: a password is required");
  EXPECT_NE(result.command.find("sudo install -D -m 0644 '" + dir(root.file) + "' "), std::string::npos)
      << result.command;
  EXPECT_NE(result.command.find(" && sudo /usr/sbin/update-ca-certificates"), std::string::npos)
      << result.command;
  ASSERT_EQ(runner_.commands.size(), 1U) << "the first refusal ends it";
  EXPECT_EQ(runner_.commands.front().argv.at(1), "-n");
  EXPECT_TRUE(runner_.commands.front().input.empty());
}

TEST_F(SystemTrustTest, T04_AFailedUpdateIsAFailureWithItsReason) {
  const TrustedRoot root = make_root_to_trust();
  runner_.answer = [](const CommandLine& command) -> std::optional<Result<CommandOutput>> {
    if (command.argv.front().ends_with("update-ca-certificates"))
      return exited(1, "first\nread-only file system\n");
    return std::nullopt;
  };
  const TrustFinding result = store().install(root);
  EXPECT_EQ(result.status, TrustStatus::failed);
  EXPECT_EQ(result.error, "trust_failed");
  EXPECT_NE(result.detail.find("read-only file system"), std::string::npos);
  EXPECT_FALSE(result.command.empty());
  EXPECT_FALSE(is_right(result));
}

TEST_F(SystemTrustTest, T04_AnUpdateThatOnlyClaimsSuccessIsNotBelieved) {
  const TrustedRoot root = make_root_to_trust();
  runner_.answer = [](const CommandLine& command) -> std::optional<Result<CommandOutput>> {
    if (command.argv.front().ends_with("update-ca-certificates")) return exited(0);
    return std::nullopt;
  };
  const TrustFinding result = store().install(root);
  EXPECT_EQ(result.status, TrustStatus::failed);
  EXPECT_NE(result.detail.find("does not hold the root although the update succeeded"), std::string::npos);
}

TEST_F(SystemTrustTest, T07_AnIntermediateInThePlaceOfTheRootIsTold) {
  const TrustedRoot root = make_root_to_trust();
  const auto issuer = load_issuer(location().directory);
  ASSERT_TRUE(write_file_atomically(directory_ / "anchors/mine.crt", pem(*issuer->certificate), 0644));
  const TrustFinding result = store().check(root);
  EXPECT_EQ(result.status, TrustStatus::absent);
  EXPECT_EQ(result.error, "ca_misplaced");
  EXPECT_NE(result.detail.find("mine.crt holds a leaf or an intermediate"), std::string::npos)
      << result.detail;
  EXPECT_TRUE(result.command.starts_with("sudo rm -f " + dir(directory_ / "anchors/mine.crt")))
      << result.command;
}

TEST_F(SystemTrustTest, T09_WhileARootIsReplacedBothAreTrustedAndThenOnlyTheNewOne) {
  const TrustedRoot first = make_root_to_trust();
  ASSERT_EQ(store().install(first).status, TrustStatus::installed);
  TrustedRoot second = replace_root();
  second.keeps_older = true;
  EXPECT_EQ(store().install(second).status, TrustStatus::installed);
  EXPECT_EQ(store().install(second).status, TrustStatus::trusted);
  EXPECT_EQ(bundle_fingerprints().size(), 2U);
  EXPECT_EQ(store().check(first).status, TrustStatus::trusted);
  const TrustFinding both = store().check(second);
  EXPECT_EQ(both.status, TrustStatus::trusted);
  EXPECT_NE(both.detail.find("also holds an older root"), std::string::npos) << both.detail;
  second.keeps_older = false;
  EXPECT_EQ(store().install(second).status, TrustStatus::installed);
  EXPECT_EQ(bundle_fingerprints(), std::vector<std::string>{second.fingerprint});
}

struct Distribution {
  std::string name;
  std::vector<std::string> directories;
  std::string tool;
  std::string anchors;
};

class SystemStoreLayoutOf : public TrustTest, public ::testing::WithParamInterface<Distribution> {};

TEST_P(SystemStoreLayoutOf, IsFoundByWhatIsInstalled) {
  const fs::path root = directory_ / "system";
  fs::create_directories(root);
  EXPECT_FALSE(find_system_store_layout(root));
  for (const std::string& directory : GetParam().directories) fs::create_directories(root / directory);
  EXPECT_FALSE(find_system_store_layout(root)) << "without its tool it cannot be changed";
  fs::create_directories((root / GetParam().tool).parent_path());
  ASSERT_TRUE(write_file_atomically(root / GetParam().tool, "", 0755));
  const auto layout = find_system_store_layout(root);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->anchors, root / GetParam().anchors);
  EXPECT_EQ(layout->update_command, std::vector<std::string>{dir(root / GetParam().tool)});
  EXPECT_FALSE(layout->bundle.empty());
}

INSTANTIATE_TEST_SUITE_P(Known, SystemStoreLayoutOf,
                         ::testing::Values(Distribution{"debian",
                                                        {"usr/local/share/ca-certificates"},
                                                        "usr/sbin/update-ca-certificates",
                                                        "usr/local/share/ca-certificates"},
                                           Distribution{"fedora",
                                                        {"etc/pki/ca-trust/source/anchors"},
                                                        "usr/bin/update-ca-trust",
                                                        "etc/pki/ca-trust/source/anchors"},
                                           Distribution{"arch",
                                                        {"etc/ca-certificates/trust-source/anchors"},
                                                        "usr/bin/update-ca-trust",
                                                        "etc/ca-certificates/trust-source/anchors"},
                                           Distribution{"opensuse",
                                                        {"etc/pki/trust/anchors", "usr/local/share"},
                                                        "usr/sbin/update-ca-certificates",
                                                        "etc/pki/trust/anchors"}),
                         [](const auto& distribution) { return distribution.param.name; });

TEST_F(SystemTrustTest, ManualStepsAreWhatWouldBeRun) {
  const TrustedRoot root = make_root_to_trust();
  const auto steps = store().manual_steps(root);
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_TRUE(steps[0].starts_with("sudo install -D -m 0644 "));
  EXPECT_TRUE(steps[1].starts_with("sudo /usr/sbin/update-ca-certificates"));
}

TEST(ShellLine, QuotesWhatAShellWouldRead) {
  EXPECT_EQ(shell_line({"a", "b c", "", "it's", "$HOME", "x;y"}), "a 'b c' '' 'it'\\''s' '$HOME' 'x;y'");
}

}  // namespace
}  // namespace hedge::certs
