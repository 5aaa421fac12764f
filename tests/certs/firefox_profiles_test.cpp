#include "certs/firefox_profiles.h"

#include "certs/trust_stores.h"
#include "tests/certs/trust_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;

class FirefoxTest : public TrustTest {
 protected:
  fs::path home() { return directory_ / "home"; }
  void touch(const fs::path& file, std::string_view content = "") {
    fs::create_directories(file.parent_path());
    ASSERT_TRUE(write_file_atomically(file, content, 0644));
  }
  std::vector<fs::path> profiles() { return firefox_profiles({home(), home() / ".config"}); }
  Environment environment() { return {{"HOME", dir(home())}, {"PATH", dir(directory_ / "bin")}}; }
};

TEST_F(FirefoxTest, ProfilesAreFoundInEveryPlaceThatFirefoxHas) {
  EXPECT_TRUE(profiles().empty());
  const std::vector<fs::path> places{".mozilla/firefox", ".config/mozilla/firefox",
                                     "snap/firefox/common/.mozilla/firefox",
                                     ".var/app/org.mozilla.firefox/.mozilla/firefox", ".librewolf"};
  std::vector<fs::path> wanted;
  for (const fs::path& place : places) {
    touch(home() / place / "ab12.default/times.json");
    fs::create_directories(home() / place / "Crash Reports");
    wanted.push_back(home() / place / "ab12.default");
  }
  EXPECT_EQ(profiles(), wanted) << "and directories that are no profiles are not taken for one";
}

TEST_F(FirefoxTest, AProfileElsewhereIsFoundThroughTheIndexAndEachIsNamedOnce) {
  const fs::path elsewhere = directory_ / "elsewhere";
  fs::create_directories(elsewhere);
  touch(home() / ".mozilla/firefox/ab12.default/cert9.db");
  touch(home() / ".mozilla/firefox/profiles.ini",
        "[Profile1]\nName=work\nIsRelative=0\nPath=" + dir(elsewhere) +
            "\r\n[Profile0]\nIsRelative=1\nPath=ab12.default\n[Profile2]\nPath=gone\nPath=\n");
  EXPECT_EQ(profiles(), (std::vector<fs::path>{elsewhere, home() / ".mozilla/firefox/ab12.default"}));
}

TEST_F(FirefoxTest, T04_EveryProfileIsTrustedAndCountsForTheExitCode) {
  const TrustedRoot root = make_root_to_trust();
  touch(home() / ".mozilla/firefox/ab12.default/times.json");
  const auto stores = find_trust_stores(environment(), StoreKind::firefox, runner_);
  ASSERT_EQ(stores.size(), 1U);
  const TrustFinding before = stores.front()->check(root);
  EXPECT_EQ(before.store, "firefox");
  EXPECT_TRUE(before.required);
  EXPECT_FALSE(is_right(before));
  const TrustFinding after = stores.front()->install(root);
  EXPECT_EQ(after.status, TrustStatus::installed) << after.detail;
  EXPECT_EQ(stores.front()->remove(root.installation).status, TrustStatus::removed);
}

TEST_F(FirefoxTest, T18_AFirefoxThatWasNeverStartedIsTold) {
  const TrustedRoot root = make_root_to_trust();
  EXPECT_TRUE(find_trust_stores(environment(), StoreKind::firefox, runner_).empty())
      << "there is no Firefox here";
  touch(directory_ / "bin/firefox-esr");
  fs::permissions(directory_ / "bin/firefox-esr", fs::perms::owner_all);
  const auto stores = find_trust_stores(environment(), StoreKind::firefox, runner_);
  ASSERT_EQ(stores.size(), 1U);
  const TrustFinding finding = stores.front()->install(root);
  EXPECT_EQ(finding.status, TrustStatus::skipped);
  EXPECT_NE(finding.detail.find("first start"), std::string::npos);
  EXPECT_EQ(finding.command, "hedge ca trust --store firefox");
}

}  // namespace
}  // namespace hedge::certs
