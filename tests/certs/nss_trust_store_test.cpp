#include "certs/nss_trust_store.h"

#include "tests/certs/trust_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;

class NssTrustTest : public TrustTest {
 protected:
  fs::path old_place() { return directory_ / "home/.pki/nssdb"; }
  fs::path new_place() { return directory_ / "home/.local/share/pki/nssdb"; }
  NssPlaces places() { return {directory_ / "home", directory_ / "home/.local/share"}; }
  NssTrustStore store(const fs::path& place, bool browser = true) {
    return NssTrustStore(place, browser ? NssNeed::required : NssNeed::optional, runner_);
  }

  Result<CommandOutput> certutil(const fs::path& place, std::vector<std::string> arguments) {
    CommandLine command;
    command.argv = {"certutil", "-d", "sql:" + dir(place)};
    command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
    return run_command(command);
  }
  void make_database(const fs::path& place) {
    fs::create_directories(place);
    ASSERT_TRUE(certutil(place, {"-N", "--empty-password"})->ok());
  }
};

TEST_F(NssTrustTest, T18_WithoutAnyDatabaseTheOneThatEveryChromiumReadsIsMade) {
  EXPECT_EQ(nss_databases(places()), std::vector<fs::path>{old_place()});
  const TrustedRoot root = make_root_to_trust();
  const TrustFinding before = store(old_place()).check(root);
  EXPECT_EQ(before.status, TrustStatus::absent);
  EXPECT_EQ(before.detail, "the database does not exist yet") << "reported, not skipped in silence";
  const TrustFinding after = store(old_place()).install(root);
  EXPECT_EQ(after.status, TrustStatus::installed) << after.detail;
  EXPECT_TRUE(fs::exists(old_place() / "cert9.db"));
}

TEST_F(NssTrustTest, T18_EveryDatabaseThatExistsIsCaredFor) {
  make_database(new_place());
  EXPECT_EQ(nss_databases(places()), std::vector<fs::path>{new_place()})
      << "a new old place would make Chromium leave the new one";
  make_database(old_place());
  EXPECT_EQ(nss_databases(places()), (std::vector<fs::path>{old_place(), new_place()}));
}

TEST_F(NssTrustTest, T18_AnEmptyNewPlaceIsUsedAndTheDataDirectoryHonoured) {
  fs::create_directories(directory_ / "data/pki/nssdb");
  EXPECT_EQ(nss_databases({directory_ / "home", directory_ / "data"}),
            std::vector<fs::path>{directory_ / "data/pki/nssdb"});
}

TEST_F(NssTrustTest, InstallsReadsBackAndIsRepeatable) {
  const TrustedRoot root = make_root_to_trust();
  make_database(new_place());
  const TrustFinding first = store(new_place()).install(root);
  EXPECT_EQ(first.status, TrustStatus::installed) << first.detail;
  EXPECT_EQ(first.fingerprint, root.fingerprint);
  EXPECT_EQ(store(new_place()).install(root).status, TrustStatus::trusted);
  EXPECT_EQ(store(new_place()).check(root).status, TrustStatus::trusted);
}

TEST_F(NssTrustTest, NssItselfAcceptsOurLeafAndRefusesAForeignName) {
  // certutil judges by the real time.
  clock_.jump_wall(std::chrono::ceil<std::chrono::seconds>(std::chrono::system_clock::now() - clock_.wall()));
  const TrustedRoot root = make_root_to_trust();
  ASSERT_EQ(store(old_place()).install(root).status, TrustStatus::installed);
  const Issuer issuer = std::move(*load_issuer(location().directory));
  const auto import = [&](const std::string& name, const X509& certificate) {
    const auto file = directory_ / (name + ".pem");
    ASSERT_TRUE(write_file_atomically(file, pem(certificate), 0600));
    ASSERT_TRUE(certutil(old_place(), {"-A", "-t", ",,", "-n", name, "-i", dir(file)})->ok());
  };
  import("intermediate", *issuer.certificate);
  const auto ours = mint_leaf({{"alpha.dev.localhost"}, {}}, issuer, clock_.wall());
  const auto foreign = mint_leaf({{"www.example.com"}, {}}, issuer, clock_.wall());
  import("ours", *ours->certificate);
  import("foreign", *foreign->certificate);
  EXPECT_TRUE(certutil(old_place(), {"-V", "-u", "V", "-e", "-n", "ours"})->ok());
  EXPECT_FALSE(certutil(old_place(), {"-V", "-u", "V", "-e", "-n", "foreign"})->ok()) << "T-17";
}

TEST_F(NssTrustTest, T09_ANewRootReplacesTheOldOne) {
  const TrustedRoot first = make_root_to_trust();
  ASSERT_EQ(store(old_place()).install(first).status, TrustStatus::installed);
  const TrustedRoot second = replace_root();
  const TrustFinding before = store(old_place()).check(second);
  EXPECT_EQ(before.status, TrustStatus::absent);
  EXPECT_EQ(before.fingerprint, first.fingerprint);
  EXPECT_EQ(store(old_place()).install(second).status, TrustStatus::installed);
  const auto held = certutil(old_place(), {"-L", "-a", "-n", "Hedge local CA " + second.installation});
  const auto certificates = parse_certificates(held->out);
  ASSERT_EQ(certificates.size(), 1U);
  EXPECT_EQ(fingerprint(*certificates.front()), second.fingerprint);
}

TEST_F(NssTrustTest, AHeldRootThatIsNotTrustedIsMadeTrusted) {
  const TrustedRoot root = make_root_to_trust();
  make_database(old_place());
  ASSERT_TRUE(certutil(old_place(),
                       {"-A", "-t", ",,", "-n", "Hedge local CA " + root.installation, "-i", dir(root.file)})
                  ->ok());
  const TrustFinding before = store(old_place()).check(root);
  EXPECT_EQ(before.status, TrustStatus::absent);
  EXPECT_EQ(before.detail, "holds the root, but does not trust it");
  EXPECT_EQ(store(old_place()).install(root).status, TrustStatus::installed);
}

TEST_F(NssTrustTest, RemovesOnlyOurs) {
  const TrustedRoot root = make_root_to_trust();
  ASSERT_EQ(store(old_place()).install(root).status, TrustStatus::installed);
  const AuthorityLocation other{directory_ / "other/ca", directory_ / "other/ca.lock"};
  ASSERT_TRUE(ensure_authority(other, default_suffixes(), clock_));
  const TrustedRoot theirs = load_trusted_root(other).value();
  ASSERT_EQ(store(old_place()).install(theirs).status, TrustStatus::installed);
  EXPECT_EQ(store(old_place()).remove(root.installation).status, TrustStatus::removed);
  EXPECT_EQ(store(old_place()).remove(root.installation).status, TrustStatus::removed)
      << "the absent one is success";
  EXPECT_EQ(store(old_place()).check(root).status, TrustStatus::absent);
  EXPECT_EQ(store(old_place()).check(theirs).status, TrustStatus::trusted);
}

TEST_F(NssTrustTest, T04_AMissingToolIsNamedWithItsPackage) {
  const TrustedRoot root = make_root_to_trust();
  runner_.answer = [](const CommandLine&) {
    return Result<CommandOutput>(Error(ErrorKind::not_found, "no certutil"));
  };
  const TrustFinding needed = store(old_place()).install(root);
  EXPECT_EQ(needed.status, TrustStatus::failed);
  EXPECT_EQ(needed.error, "missing_tool");
  EXPECT_EQ(needed.command, "sudo apt-get install libnss3-tools");
  EXPECT_FALSE(is_right(needed));
  fs::remove_all(old_place());
  const TrustFinding unneeded = store(old_place(), false).install(root);
  EXPECT_EQ(unneeded.status, TrustStatus::skipped) << "no browser reads it";
  EXPECT_NE(unneeded.command.find("libnss3-tools"), std::string::npos);
  EXPECT_TRUE(is_right(unneeded));
}

TEST_F(NssTrustTest, T04_ADamagedDatabaseIsAFailureNotAnAbsence) {
  const TrustedRoot root = make_root_to_trust();
  fs::create_directories(old_place());
  ASSERT_TRUE(write_file_atomically(old_place() / "cert9.db", "this is no database", 0600));
  const TrustFinding result = store(old_place()).check(root);
  EXPECT_EQ(result.status, TrustStatus::failed);
  EXPECT_EQ(result.error, "trust_failed");
  EXPECT_FALSE(result.detail.empty());
  EXPECT_EQ(store(old_place()).install(root).status, TrustStatus::failed);
}

TEST_F(NssTrustTest, T01_EveryCommandIsBoundedAndHasNoTerminalToAsk) {
  const TrustedRoot root = make_root_to_trust();
  ASSERT_EQ(store(old_place()).install(root).status, TrustStatus::installed);
  for (const CommandLine& command : runner_.commands) {
    EXPECT_LE(command.limit, std::chrono::seconds(10));
    EXPECT_TRUE(command.input.empty());
    const bool changes = std::find(command.argv.begin(), command.argv.end(), "-A") != command.argv.end();
    const bool asks_nobody = std::find(command.argv.begin(), command.argv.end(), "-f") != command.argv.end();
    EXPECT_TRUE(!changes || asks_nobody) << shell_line(command.argv);
  }
}

TEST_F(NssTrustTest, T18_ASnapOfChromiumIsCaredForBesideTheUsersOwnDatabase) {
  make_database(directory_ / "home/snap/chromium/current/.pki/nssdb");
  EXPECT_EQ(nss_databases(places()),
            (std::vector<fs::path>{directory_ / "home/snap/chromium/current/.pki/nssdb", old_place()}));
}

TEST_F(NssTrustTest, T09_WhileARootIsReplacedBothAreTrustedAndThenOnlyTheNewOne) {
  const TrustedRoot first = make_root_to_trust();
  ASSERT_EQ(store(old_place()).install(first).status, TrustStatus::installed);
  // Twice: the new root then stands under the nickname that the first one had, or under the other.
  TrustedRoot older = first;
  older.file = directory_ / "older.crt";
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(write_file_atomically(older.file, older.pem, 0600));
    TrustedRoot next = replace_root();
    next.keeps_older = true;
    EXPECT_EQ(store(old_place()).install(next).status, TrustStatus::installed);
    EXPECT_EQ(store(old_place()).install(next).status, TrustStatus::trusted);
    EXPECT_EQ(store(old_place()).check(older).status, TrustStatus::trusted) << round;
    EXPECT_EQ(store(old_place()).check(next).status, TrustStatus::trusted) << round;
    next.keeps_older = false;
    EXPECT_EQ(store(old_place()).install(next).status, TrustStatus::trusted);
    EXPECT_EQ(store(old_place()).check(older).fingerprint, next.fingerprint) << "only the new one is there";
    older.pem = next.pem;
    older.fingerprint = next.fingerprint;
  }
  EXPECT_EQ(store(old_place()).remove(first.installation).status, TrustStatus::removed);
  EXPECT_EQ(store(old_place()).check(older).fingerprint, "");
}

TEST_F(NssTrustTest, T07_AnIntermediateUnderOurNameIsToldAndReplaced) {
  const TrustedRoot root = make_root_to_trust();
  make_database(old_place());
  const auto file = location().directory / "intermediate.pem";
  ASSERT_TRUE(
      certutil(old_place(), {"-A", "-t", "C,,", "-n", "Hedge local CA " + root.installation, "-i", dir(file)})
          ->ok());
  const TrustFinding before = store(old_place()).check(root);
  EXPECT_EQ(before.status, TrustStatus::absent);
  EXPECT_EQ(before.error, "ca_misplaced");
  EXPECT_EQ(store(old_place()).install(root).status, TrustStatus::installed);
}

TEST_F(NssTrustTest, ADatabaseThatCannotBeMadeIsAFailureWithItsReason) {
  const TrustedRoot root = make_root_to_trust();
  ASSERT_TRUE(write_file_atomically(directory_ / "home", "a file where the home should be", 0600));
  const TrustFinding result = store(old_place()).install(root);
  EXPECT_EQ(result.status, TrustStatus::failed);
  EXPECT_EQ(result.error, "trust_failed");
  EXPECT_NE(result.detail.find(".pki"), std::string::npos) << result.detail;
}

TEST_F(NssTrustTest, ManualStepsMakeTheDatabaseFirst) {
  const TrustedRoot root = make_root_to_trust();
  EXPECT_EQ(store(old_place()).manual_steps(root).size(), 3U);
  make_database(old_place());
  EXPECT_EQ(store(old_place()).manual_steps(root).size(), 1U);
}

}  // namespace
}  // namespace hedge::certs
