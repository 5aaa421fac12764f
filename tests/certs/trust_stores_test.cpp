#include "certs/trust_stores.h"

#include "certs/trust_bundle.h"
#include "tests/certs/trust_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;

TEST_F(TrustTest, EveryStoreIsReportedAlsoWithoutAHome) {
  const TrustedRoot root = make_root_to_trust();
  const auto stores = find_trust_stores({}, runner_);
  ASSERT_EQ(stores.size(), 3U);
  EXPECT_EQ(stores[0]->check(root).store, "system");
  const TrustFinding nss = stores[1]->check(root);
  EXPECT_EQ(nss.store, "nss");
  EXPECT_EQ(nss.status, TrustStatus::skipped);
  EXPECT_EQ(nss.detail, "there is no home directory");
  EXPECT_EQ(stores[2]->check(root).store, "firefox");
}

TEST_F(TrustTest, ADatabaseCountsOnceABrowserIsInstalled) {
  const TrustedRoot root = make_root_to_trust();
  fs::create_directories(directory_ / "bin");
  Environment environment{{"HOME", dir(directory_ / "home")}, {"PATH", dir(directory_ / "bin")}};
  const auto required = [&] {
    return find_trust_stores(environment, StoreKind::nss, runner_).front()->check(root).required;
  };
  EXPECT_FALSE(required());
  ASSERT_TRUE(write_file_atomically(directory_ / "bin/chromium", "", 0755));
  EXPECT_TRUE(required());
}

TEST_F(TrustTest, ASelectionNamesOneKindOfStore) {
  const Environment environment{{"HOME", dir(directory_ / "home")}};
  const TrustedRoot root = make_root_to_trust();
  for (const auto& [kind, name] :
       {std::pair(StoreKind::system, "system"), std::pair(StoreKind::nss, "nss")}) {
    const auto stores = find_trust_stores(environment, kind, runner_);
    ASSERT_EQ(stores.size(), 1U);
    EXPECT_EQ(stores.front()->check(root).store, name);
  }
}

TEST_F(TrustTest, T20_TheBundleIsThePublicRootsAndOursOnce) {
  make_authority();
  const AuthorityLocation other{directory_ / "other/ca", directory_ / "other/ca.lock"};
  ASSERT_TRUE(ensure_authority(other, default_suffixes(), clock_));
  const std::string own = read_file(location().root_certificate()).value();
  const std::string theirs = read_file(other.root_certificate()).value();
  for (const std::string& present : {theirs, theirs + own, own + theirs}) {
    ASSERT_TRUE(write_file_atomically(directory_ / "public.crt", present, 0644));
    const auto bundle = ensure_trust_bundle(location(), {directory_ / "none.crt", directory_ / "public.crt"});
    ASSERT_TRUE(bundle) << bundle.error().to_string();
    EXPECT_EQ(read_file(bundle->bundle).value(), theirs + own);
  }
}

TEST_F(TrustTest, T20_TheBundleFollowsANewRoot) {
  make_authority();
  ASSERT_TRUE(write_file_atomically(directory_ / "public.crt",
                                    read_file(location().root_certificate()).value(), 0644));
  ASSERT_TRUE(ensure_trust_bundle(location(), {directory_ / "public.crt"}));
  const TrustedRoot second = replace_root();
  const auto bundle = ensure_trust_bundle(location(), {directory_ / "public.crt"});
  EXPECT_EQ(parse_certificates(read_file(bundle->bundle).value()).size(), 2U);
  EXPECT_EQ(fingerprint(*parse_certificates(read_file(bundle->bundle).value()).back()), second.fingerprint);
}

TEST_F(TrustTest, T20_WithoutPublicRootsNoVariableTakesThemAway) {
  make_authority();
  const auto bundle = ensure_trust_bundle(location(), {directory_ / "none.crt"});
  ASSERT_TRUE(bundle);
  const Environment variables = trust_variables(*bundle);
  EXPECT_EQ(variables.at("NODE_EXTRA_CA_CERTS"), dir(bundle->root));
  EXPECT_EQ(read_file(bundle->root).value(), read_file(location().root_certificate()).value());
  for (const char* name : {"SSL_CERT_FILE", "GIT_SSL_CAINFO", "JAVA_TOOL_OPTIONS", "DENO_TLS_CA_STORE"})
    EXPECT_FALSE(variables.contains(name)) << name;
}

TEST_F(TrustTest, T20_EveryVariableThatReplacesTheRootsNamesTheBundle) {
  make_authority();
  ASSERT_TRUE(write_file_atomically(directory_ / "public.crt",
                                    read_file(location().root_certificate()).value(), 0644));
  const auto bundle = ensure_trust_bundle(location(), {directory_ / "public.crt"});
  const Environment variables = trust_variables(*bundle);
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO"}) {
    EXPECT_EQ(variables.at(name), dir(bundle->bundle)) << name;
  }
}

TEST_F(TrustTest, ABundleNeedsACa) {
  const auto bundle = ensure_trust_bundle(location(), {});
  ASSERT_FALSE(bundle);
  EXPECT_EQ(bundle.error().id(), "ca_missing");
}

TEST(TrustFinding, OnlyRequiredStoresCount) {
  TrustFinding finding;
  for (const auto& [status, right] :
       {std::pair(TrustStatus::trusted, true), std::pair(TrustStatus::installed, true),
        std::pair(TrustStatus::removed, true), std::pair(TrustStatus::absent, false),
        std::pair(TrustStatus::skipped, false), std::pair(TrustStatus::needs_root, false),
        std::pair(TrustStatus::failed, false)}) {
    finding.status = status;
    EXPECT_EQ(is_right(finding), right) << to_string(status);
  }
  finding.required = false;
  finding.status = TrustStatus::skipped;
  EXPECT_TRUE(is_right(finding));
}

}  // namespace
}  // namespace hedge::certs
