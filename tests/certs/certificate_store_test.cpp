#include "certs/certificate_store.h"

#include <atomic>
#include <barrier>
#include <map>
#include <thread>

#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::seconds;
using Shared = std::shared_ptr<const ServerCertificate>;

class StoreTest : public AuthorityTest {
 protected:
  // A route table of exact hosts and wildcards ("*.host").
  static RouteLookup routes(const std::vector<std::string>& hosts) {
    return [hosts](std::string_view name) -> std::optional<KnownRoute> {
      for (const std::string& host : hosts) {
        const bool wildcard = host.starts_with("*.");
        const std::string_view bare = std::string_view(host).substr(wildcard ? 2 : 0);
        if (name == bare || (wildcard && name.ends_with("." + std::string(bare))))
          return KnownRoute{bare, wildcard};
      }
      return std::nullopt;
    };
  }
  static RouteLookup none() { return routes({}); }

  CertificateStore& open(CertificateStoreOptions options = {}) {
    options.ca_directory = location().directory;
    if (options.suffixes.empty()) options.suffixes = default_suffixes();
    store_ = std::move(CertificateStore::open(options, clock_).value());
    return *store_;
  }
  Shared require(std::string_view name, const RouteLookup& lookup) {
    auto found = store_->certificate_for(name, lookup);
    EXPECT_TRUE(found) << name << ": " << found.error().to_string();
    return found ? *found : nullptr;
  }
  static std::string names_of(const Shared& certificate) {
    const std::string text = openssl_text(*certificate->leaf);
    constexpr std::string_view kHeading = "X509v3 Subject Alternative Name: \n";
    const std::size_t at = text.find(kHeading) + kHeading.size();
    return std::string(trim(std::string_view(text).substr(at, text.find('\n', at) - at)));
  }
  static std::string_view trim(std::string_view text) { return text.substr(text.find_first_not_of(' ')); }

  std::unique_ptr<CertificateStore> store_;
};

TEST_F(StoreTest, T05_ARouteGetsItsExactNameAndTheIssuerInTheChain) {
  const Authority authority = make_authority();
  open();
  const Shared shown = require("alpha.dev.localhost", routes({"alpha.dev.localhost"}));
  EXPECT_EQ(names_of(shown), "DNS:alpha.dev.localhost");
  ASSERT_EQ(sk_X509_num(shown->chain.get()), 1);
  EXPECT_EQ(fingerprint(*sk_X509_value(shown->chain.get(), 0)), authority.intermediate.fingerprint);
  EXPECT_EQ(openssl_verify(authority, *shown->leaf, "alpha.dev.localhost"), "OK");
}

TEST_F(StoreTest, T05_NeverAWildcardBelowASingleLabel) {
  make_authority();
  open();
  EXPECT_EQ(names_of(require("localhost", routes({"*.localhost"}))), "DNS:localhost");
  EXPECT_EQ(names_of(require("alpha.localhost", routes({"*.localhost"}))), "DNS:alpha.localhost");
}

TEST_F(StoreTest, T06_NamesAtAnyDepthGetTheirOwnCertificate) {
  const Authority authority = make_authority();
  open();
  const Shared shown = require("admin.api.alpha.dev.localhost", routes({"admin.api.alpha.dev.localhost"}));
  EXPECT_EQ(openssl_verify(authority, *shown->leaf, "admin.api.alpha.dev.localhost"), "OK");
}

TEST_F(StoreTest, AWildcardRouteSharesOneCertificateOneLabelDeep) {
  make_authority();
  open();
  const auto lookup = routes({"*.alpha.dev.localhost"});
  const Shared own = require("alpha.dev.localhost", lookup);
  EXPECT_EQ(names_of(own), "DNS:alpha.dev.localhost, DNS:*.alpha.dev.localhost");
  EXPECT_EQ(require("x.alpha.dev.localhost", lookup), own);
  EXPECT_EQ(names_of(require("y.x.alpha.dev.localhost", lookup)), "DNS:y.x.alpha.dev.localhost");
}

TEST_F(StoreTest, WithoutANameTheEdgesOwnCertificateIsShown) {
  const Authority authority = make_authority();
  open();
  const Shared shown = require("", none());
  EXPECT_EQ(names_of(shown), "DNS:hedge.localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1");
  EXPECT_EQ(require("hedge.localhost", none()), shown);
  EXPECT_EQ(openssl_verify(authority, *shown->leaf, "hedge.localhost"), "OK");
}

TEST_F(StoreTest, T06_ANameBelowASuffixGetsACertificateSoThatThe404CanBeSeen) {
  make_authority();
  open();
  EXPECT_EQ(names_of(require("nobody.localhost", none())), "DNS:nobody.localhost");
}

TEST_F(StoreTest, T06_EveryOtherNameIsUnrecognized) {
  make_authority();
  open();
  for (const char* name :
       {"x.example.com", "127.0.0.1", "*.localhost", "a..localhost", "../x", "-a.localhost"}) {
    const auto found = store_->certificate_for(name, none());
    ASSERT_FALSE(found) << name;
    EXPECT_EQ(found.error().id(), "name_unrecognized");
    EXPECT_EQ(found.error().kind(), ErrorKind::not_found);
  }
  EXPECT_EQ(store_->counts().minted, 0U);
}

TEST_F(StoreTest, HostileNamesNeverReachTheLookup) {
  make_authority();
  open();
  bool asked = false;
  const auto lookup = [&](std::string_view) -> std::optional<KnownRoute> {
    asked = true;
    return std::nullopt;
  };
  EXPECT_FALSE(store_->certificate_for("a/../b\n", lookup));
  EXPECT_FALSE(asked);
}

TEST_F(StoreTest, TheCaseOfTheNameMakesNoDifference) {
  make_authority();
  open();
  const auto lookup = routes({"alpha.localhost"});
  EXPECT_EQ(require("ALPHA.localhost", lookup), require("alpha.localhost.", lookup));
  EXPECT_EQ(store_->counts().minted, 1U);
}

TEST_F(StoreTest, T06_AThousandRandomNamesLeaveNoFileAndABoundedMemory) {
  make_authority();
  CertificateStoreOptions options;
  options.max_other_certificates = 32;
  open(options);
  const auto listing = [&] {
    std::map<std::string, fs::file_time_type> files;
    for (const auto& entry : fs::recursive_directory_iterator(location().directory.parent_path())) {
      files[entry.path()] = entry.last_write_time();
    }
    return files;
  };
  const auto before = listing();
  std::size_t shown = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string below = i % 2 == 0 ? ".localhost" : ".example.com";
    if (store_->certificate_for("n" + std::to_string(i) + below, none())) ++shown;
  }
  EXPECT_EQ(listing(), before);
  EXPECT_EQ(shown, 100U) << "the burst of the token bucket, although 500 names were below a suffix";
  EXPECT_EQ(store_->counts().minted, 100U);
  EXPECT_EQ(store_->counts().kept, 32U);
}

TEST_F(StoreTest, TheBucketFillsAgainWithTimeAndNeverDelaysRoutes) {
  make_authority();
  open();
  int i = 0;
  const auto fresh = [&] { return "n" + std::to_string(i++) + ".localhost"; };
  while (store_->certificate_for(fresh(), none())) {
  }
  require("alpha.localhost", routes({"alpha.localhost"}));
  clock_.advance(seconds(1));
  int more = 0;
  while (store_->certificate_for(fresh(), none())) ++more;
  EXPECT_EQ(more, 20);
}

TEST_F(StoreTest, TwentyParallelFirstHandshakesMintOnce) {
  make_authority();
  open();
  const auto lookup = routes({"alpha.localhost"});
  std::barrier start(20);
  std::vector<Shared> shown(20);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 20; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      shown[i] = require("alpha.localhost", lookup);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->counts().minted, 1U);
  for (const Shared& each : shown) EXPECT_EQ(each, shown.front());
}

TEST_F(StoreTest, DifferentNamesAreMadeSideBySideWithoutMixing) {
  make_authority();
  open();
  std::vector<std::string> hosts;
  for (int i = 0; i < 16; ++i) hosts.push_back("w" + std::to_string(i) + ".localhost");
  const auto lookup = routes(hosts);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 64; ++i) {
        const std::string& host = hosts[(t * 7 + i) % hosts.size()];
        const auto found = store_->certificate_for(host, lookup);
        if (!found || common_name(*(*found)->leaf) != host) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store_->counts().minted, hosts.size());
}

TEST_F(StoreTest, T13_AfterASleepOfFortyDaysTheFirstHandshakeGetsAValidLeaf) {
  const Authority authority = make_authority();
  open();
  const auto lookup = routes({"alpha.localhost"});
  const Shared before = require("alpha.localhost", lookup);
  clock_.jump_wall(hours(24 * 40));  // the monotonic clock stood still
  ASSERT_LT(before->not_after, clock_.wall());
  std::barrier start(50);
  std::vector<Shared> shown(50);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 50; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      shown[i] = require("alpha.localhost", lookup);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store_->counts().minted, 2U) << "fifty handshakes, one new certificate";
  EXPECT_EQ(openssl_verify(authority, *shown.front()->leaf, "alpha.localhost"), "OK");
}

TEST_F(StoreTest, T13_RenewsWhenAThirdOfItsLifeIsLeft) {
  make_authority();
  open();
  const auto lookup = routes({"alpha.localhost"});
  const Shared first = require("alpha.localhost", lookup);
  clock_.jump_wall(hours(24 * 19));
  EXPECT_EQ(require("alpha.localhost", lookup), first);
  clock_.jump_wall(hours(24 * 2));
  EXPECT_GT(clock_.wall() + hours(24 * 8), first->renew_after);
  EXPECT_NE(require("alpha.localhost", lookup), first);
}

TEST_F(StoreTest, AClockSetBackMakesANewLeafToo) {
  const Authority authority = make_authority();
  clock_.jump_wall(hours(24 * 10));
  open();
  const auto lookup = routes({"alpha.localhost"});
  const Shared first = require("alpha.localhost", lookup);
  clock_.jump_wall(-hours(24 * 5));
  const Shared second = require("alpha.localhost", lookup);
  EXPECT_NE(second, first);
  EXPECT_EQ(openssl_verify(authority, *second->leaf, "alpha.localhost"), "OK");
}

TEST_F(StoreTest, ALeafCutShortByItsIssuerIsNotMadeAgainAtEveryHandshake) {
  make_authority();
  clock_.jump_wall(hours(24 * 364));
  open();
  const auto lookup = routes({"alpha.localhost"});
  const Shared first = require("alpha.localhost", lookup);
  clock_.jump_wall(hours(23));
  EXPECT_EQ(require("alpha.localhost", lookup), first);
  clock_.jump_wall(hours(2));
  const auto found = store_->certificate_for("alpha.localhost", lookup);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().id(), "ca_expired");
}

TEST_F(StoreTest, AReplacedCaSignsTheNextHandshakeWithoutARestart) {
  make_authority();
  open();
  const auto lookup = routes({"alpha.localhost"});
  const Shared first = require("alpha.localhost", lookup);
  fs::remove_all(location().directory);
  const Authority second = make_authority();
  EXPECT_EQ(require("alpha.localhost", lookup), first) << "looked at once a second at most";
  clock_.advance(seconds(1));
  const Shared shown = require("alpha.localhost", lookup);
  EXPECT_EQ(shown->issuer_fingerprint, second.intermediate.fingerprint);
  EXPECT_EQ(openssl_verify(second, *shown->leaf, "alpha.localhost"), "OK");
}

TEST_F(StoreTest, ACaThatGoesAwayOrBreaksCostsNothingThatWorked) {
  make_authority();
  open();
  const auto lookup = routes({"alpha.localhost", "beta.localhost"});
  require("alpha.localhost", lookup);
  fs::remove_all(location().directory);
  clock_.advance(seconds(1));
  require("alpha.localhost", lookup);
  require("beta.localhost", lookup);
  fs::create_directories(location().directory);
  ASSERT_TRUE(write_file_atomically(location().intermediate(), "garbage", 0600));
  clock_.advance(seconds(1));
  require("alpha.localhost", lookup);
}

TEST_F(StoreTest, WithoutACaHandshakesFailByIdUntilItAppears) {
  open();
  const auto lookup = routes({"alpha.localhost"});
  const auto refused = store_->certificate_for("alpha.localhost", lookup);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id(), "ca_missing");
  make_authority();
  clock_.advance(seconds(1));
  require("alpha.localhost", lookup);
}

TEST_F(StoreTest, ManyRoutesStayWithinTheCache) {
  make_authority();
  CertificateStoreOptions options;
  options.max_route_certificates = 8;
  open(options);
  for (int i = 0; i < 40; ++i) {
    const std::string host = "w" + std::to_string(i) + ".localhost";
    require(host, routes({host}));
  }
  EXPECT_EQ(store_->counts().kept, 8U);
}

TEST_F(StoreTest, T06_TenThousandHostnamesAreMintedAndAFixedNumberIsKept) {
  make_authority();
  open(CertificateStoreOptions());
  const RouteLookup everything = [](std::string_view name) { return KnownRoute{name, false}; };
  for (int i = 0; i < 10'000; ++i) require("n" + std::to_string(i) + ".localhost", everything);
  EXPECT_EQ(store_->counts().minted, 10'000U);
  EXPECT_EQ(store_->counts().kept, CertificateStoreOptions().max_route_certificates);
}

}  // namespace
}  // namespace hedge::certs
