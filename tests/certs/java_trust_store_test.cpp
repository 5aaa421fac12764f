#include "certs/java_trust_store.h"

#include <map>

#include "certs/trust_stores.h"
#include "tests/certs/trust_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;

// A Java home whose keytool is played by the test: it keeps certificates by alias.
class JavaTrustTest : public TrustTest {
 protected:
  JavaTrustTest() {
    make_home(home());
    runner_.answer = [this](const CommandLine& command) { return play_keytool(command); };
  }

  fs::path home() { return directory_ / "jdk"; }
  static void make_home(const fs::path& home) {
    fs::create_directories(home / "bin");
    fs::create_directories(home / "lib/security");
    for (const char* file : {"bin/keytool", "bin/java", "lib/security/cacerts"})
      EXPECT_TRUE(write_file_atomically(home / file, "", 0755));
  }
  Environment environment() {
    return {{"JAVA_HOME", dir(home())}, {"PATH", "/nowhere"}, {"JAVA_TOOL_OPTIONS", "-Dx=y"}};
  }
  JavaTrustStore store() {
    return JavaTrustStore(java_installations(environment()).at(0), environment(), runner_);
  }

  static std::string option(const CommandLine& command, const std::string& name) {
    const auto found = std::find(command.argv.begin(), command.argv.end(), name);
    return found == command.argv.end() ? std::string() : *(found + 1);
  }

  std::optional<Result<CommandOutput>> play_keytool(const CommandLine& command) {
    const auto has = [&command](const char* word) {
      return std::find(command.argv.begin(), command.argv.end(), word) != command.argv.end();
    };
    CommandOutput output;
    if (!failure.empty()) {
      output.exit_code = 1;
      output.out = failure;
    } else if (has("-list")) {
      for (const auto& [alias, held] : entries) output.out += "Alias name: " + alias + "\n" + held + "\n";
    } else if (has("-importcert")) {
      if (!forgets) entries[option(command, "-alias")] = read_file(option(command, "-file")).value();
    } else if (has("-delete")) {
      output.exit_code = entries.erase(option(command, "-alias")) == 1 ? 0 : 1;
    }
    return Result<CommandOutput>(std::move(output));
  }

  std::map<std::string, std::string> entries;
  std::string failure;
  bool forgets = false;
};

TEST_F(JavaTrustTest, T20_InstallsReadsBackAndIsRepeatable) {
  const TrustedRoot root = make_root_to_trust();
  EXPECT_EQ(store().check(root).status, TrustStatus::absent);
  const TrustFinding first = store().install(root);
  EXPECT_EQ(first.status, TrustStatus::installed) << first.detail;
  EXPECT_EQ(first.fingerprint, root.fingerprint);
  EXPECT_EQ(store().check(root).status, TrustStatus::trusted);
  EXPECT_EQ(store().install(root).status, TrustStatus::trusted);
  EXPECT_EQ(entries.size(), 1U);
}

TEST_F(JavaTrustTest, ARootThatDebiansOwnHookPutThereCountsWhateverItsAlias) {
  const TrustedRoot root = make_root_to_trust();
  entries["debian:hedge.pem"] = root.pem;
  EXPECT_EQ(store().check(root).status, TrustStatus::trusted);
  EXPECT_EQ(store().install(root).status, TrustStatus::trusted);
}

TEST_F(JavaTrustTest, T09_ANewRootStandsBesideTheOldOneUntilItIsAlone) {
  const TrustedRoot first = make_root_to_trust();
  ASSERT_EQ(store().install(first).status, TrustStatus::installed);
  TrustedRoot second = replace_root();
  const TrustFinding before = store().check(second);
  EXPECT_EQ(before.status, TrustStatus::absent);
  EXPECT_EQ(before.fingerprint, first.fingerprint);
  second.keeps_older = true;
  EXPECT_EQ(store().install(second).status, TrustStatus::installed);
  EXPECT_EQ(entries.size(), 2U);
  second.keeps_older = false;
  EXPECT_EQ(store().install(second).status, TrustStatus::trusted);
  ASSERT_EQ(entries.size(), 1U);
  EXPECT_EQ(entries.begin()->second, second.pem);
}

TEST_F(JavaTrustTest, T09_AnOlderRootIsTakenOutUnderTheNameThatDebiansHookGaveItToo) {
  const TrustedRoot first = make_root_to_trust();
  const std::string own = "hedge-" + first.installation + "-" + first.fingerprint.substr(0, 12);
  for (const bool has_both : {false, true}) {
    entries.clear();
    entries["debian:" + own + ".pem"] = first.pem;
    if (has_both) entries[own] = first.pem;
    EXPECT_EQ(store().remove(first.installation).status, TrustStatus::removed);
    EXPECT_TRUE(entries.empty());
  }
}

TEST_F(JavaTrustTest, RemovesOnlyOurs) {
  const TrustedRoot root = make_root_to_trust();
  const AuthorityLocation other{directory_ / "other/ca", directory_ / "other/ca.lock"};
  ASSERT_TRUE(ensure_authority(other, default_suffixes(), clock_));
  entries["company"] = load_trusted_root(other).value().pem;
  ASSERT_EQ(store().install(root).status, TrustStatus::installed);
  EXPECT_EQ(store().remove(root.installation).status, TrustStatus::removed);
  EXPECT_EQ(store().remove(root.installation).detail, "held no root of this installation");
  EXPECT_EQ(entries.size(), 1U);
  EXPECT_TRUE(entries.contains("company"));
}

TEST_F(JavaTrustTest, T04_AFailureIsToldWithItsReasonAndSuccessIsReadBack) {
  const TrustedRoot root = make_root_to_trust();
  forgets = true;
  const TrustFinding claimed = store().install(root);
  EXPECT_EQ(claimed.status, TrustStatus::failed);
  EXPECT_FALSE(claimed.command.empty());
  failure = "keytool error: java.io.IOException: keystore password was incorrect";
  for (const TrustFinding& finding :
       {store().check(root), store().install(root), store().remove(root.installation)}) {
    EXPECT_EQ(finding.status, TrustStatus::failed);
    EXPECT_EQ(finding.error, "trust_failed");
    EXPECT_NE(finding.detail.find("password was incorrect"), std::string::npos);
  }
}

TEST_F(JavaTrustTest, T01_EveryCommandIsBoundedAndNothingOfTheCallersJavaOptionsIsInTheWay) {
  const TrustedRoot root = make_root_to_trust();
  ASSERT_EQ(store().install(root).status, TrustStatus::installed);
  ASSERT_FALSE(runner_.commands.empty());
  for (const CommandLine& command : runner_.commands) {
    EXPECT_LE(command.limit, std::chrono::seconds(60));
    EXPECT_TRUE(command.input.empty());
    EXPECT_FALSE(command.environment->contains("JAVA_TOOL_OPTIONS"));
  }
}

TEST_F(JavaTrustTest, T07_AnIntermediateThatWasTakenForTheRootIsTold) {
  const TrustedRoot root = make_root_to_trust();
  entries["mine"] = pem(*load_issuer(location().directory)->certificate);
  const TrustFinding finding = store().check(root);
  EXPECT_EQ(finding.status, TrustStatus::absent);
  EXPECT_EQ(finding.error, "ca_misplaced");
}

TEST_F(JavaTrustTest, InstallationsThatShareAStoreAreOne) {
  EXPECT_EQ(java_installations(environment()).size(), 1U);
  make_home(directory_ / "other");
  Environment both{{"JAVA_HOME", dir(home())}, {"PATH", dir(directory_ / "other/bin")}};
  EXPECT_EQ(java_installations(both).size(), 2U);
  fs::remove(directory_ / "other/lib/security/cacerts");
  fs::create_symlink(home() / "lib/security/cacerts", directory_ / "other/lib/security/cacerts");
  EXPECT_EQ(java_installations(both).size(), 1U);
  EXPECT_TRUE(java_installations({{"PATH", "/nowhere"}}).empty());
}

TEST_F(JavaTrustTest, RootRunsAKeytoolOnlyWhereNobodyElseCanHavePutIt) {
  if (::geteuid() == 0) {
    EXPECT_TRUE(java_installations(environment()).at(0).is_the_systems);
  }
  fs::permissions(home() / "bin/keytool", fs::perms::all);
  EXPECT_FALSE(java_installations(environment()).at(0).is_the_systems);
  EXPECT_FALSE(is_the_systems(environment(), StoreKind::java));
}

TEST_F(JavaTrustTest, AJavaWithoutAStoreIsToldAndNotPassedOver) {
  fs::remove(home() / "lib/security/cacerts");
  const auto stores = find_trust_stores(environment(), StoreKind::java, runner_);
  ASSERT_EQ(stores.size(), 1U);
  const TrustFinding finding = stores.front()->check(make_root_to_trust());
  EXPECT_EQ(finding.store, "java");
  EXPECT_EQ(finding.status, TrustStatus::skipped);
  EXPECT_NE(finding.detail.find("JAVA_HOME"), std::string::npos);
  EXPECT_TRUE(find_trust_stores({{"PATH", "/nowhere"}}, StoreKind::java, runner_).empty())
      << "there is no Java";
}

}  // namespace
}  // namespace hedge::certs
