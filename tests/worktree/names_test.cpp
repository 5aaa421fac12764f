#include "worktree/names.h"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>
#include <unordered_set>

#include <gtest/gtest.h>

#include "base/text.h"
#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

std::string slug_of(const std::string& branch, const std::string& instance = {}) {
  SlugRequest request;
  request.branch = branch;
  request.instance = instance;
  auto slug = choose_slug(request);
  EXPECT_TRUE(slug) << branch;
  return slug ? *slug : std::string();
}

bool is_hashed(const std::string& slug, const std::string& readable) {
  return slug.size() == readable.size() + 1 + kHashBytes && slug.starts_with(readable + "-");
}

TEST(Slug, IsTheBranchWhereNothingIsLost) {
  EXPECT_EQ(slug_of("login-fix"), "login-fix");
  EXPECT_EQ(slug_of("feature/login-fix"), "feature-login-fix");
  EXPECT_EQ(slug_of("v2"), "v2");
}

TEST(Slug, HasAHashWhereTheMappingLostSomething) {
  EXPECT_TRUE(is_hashed(slug_of("Feature/Foo"), "feature-foo"));
  EXPECT_TRUE(is_hashed(slug_of("feature.foo"), "feature-foo"));
  EXPECT_TRUE(is_hashed(slug_of("feature_foo"), "feature-foo"));
  EXPECT_TRUE(is_hashed(slug_of("a--b"), "a-b"));
  EXPECT_TRUE(is_hashed(slug_of("-a"), "a"));
  EXPECT_TRUE(is_hashed(slug_of("a-"), "a"));
  EXPECT_TRUE(is_hashed(slug_of("🎉"), "wt"));
}

TEST(Slug, IsStableForOneBranch) {
  EXPECT_EQ(slug_of("Feature/Foo"), slug_of("Feature/Foo"));
}

TEST(Slug, IsHashedWhereTheWordIsReserved) {
  for (const char* word : {"main", "www", "hedge", "localhost", "golden", "test"}) {
    EXPECT_TRUE(is_hashed(slug_of(word), word)) << word;
  }
  SlugRequest request;
  request.branch = "shop";
  request.reserved = {"shop"};
  EXPECT_TRUE(is_hashed(*choose_slug(request), "shop"));
}

TEST(Slug, NeverMeetsTheTestDatabaseOfAnother) {
  const auto plain = derive_names("shop", slug_of("a"));
  const auto tricky = derive_names("shop", slug_of("a-test"));
  EXPECT_NE(plain.test_database, tricky.database);
}

TEST(Slug, W14_TheHashCoversWhatWasCutOff) {
  const std::string shared(60, 'x');
  const std::string one = slug_of(shared + "1");
  const std::string two = slug_of(shared + "2");
  EXPECT_NE(one, two);
  EXPECT_LE(one.size(), kMaxSlugBytes);
  EXPECT_NE(derive_names("shop", one).database, derive_names("shop", two).database);
}

TEST(Slug, ATakenOneIsHashedAndThenSalted) {
  SlugRequest request;
  request.branch = "x";
  request.birth = "one";
  std::set<std::string> taken{"x"};
  request.is_taken = [&taken](const std::string& slug) { return taken.contains(slug); };
  const std::string first = *choose_slug(request);
  EXPECT_TRUE(is_hashed(first, "x"));
  taken.insert(first);
  const std::string second = *choose_slug(request);
  EXPECT_TRUE(is_hashed(second, "x"));
  EXPECT_NE(first, second);
}

TEST(Slug, EndsInTheInstance) {
  EXPECT_EQ(slug_of("x", "two"), "x-two");
  EXPECT_TRUE(slug_of(std::string(200, 'b'), "reviewer-2").ends_with("-reviewer-2"));
  EXPECT_LE(slug_of(std::string(200, 'b'), std::string(kMaxInstanceBytes, 'i')).size(), kMaxSlugBytes);
}

TEST(Slug, RefusesAnInstanceThatIsNoName) {
  for (const char* bad : {"Two", "a b", "-a", "a-", "a--b", "a/b", "abcdefghijklmnopq"}) {
    SlugRequest request;
    request.branch = "x";
    request.instance = bad;
    const auto slug = choose_slug(request);
    ASSERT_FALSE(slug) << bad;
    EXPECT_EQ(slug.error().id(), "instance_invalid");
  }
  EXPECT_EQ(choose_slug({}).error().id(), "branch_invalid");
  SlugRequest not_text;
  not_text.branch = "caf\xe9";
  EXPECT_EQ(choose_slug(not_text).error().id(), "branch_invalid");
  not_text.branch = "caf\xc3\xa9";
  EXPECT_TRUE(choose_slug(not_text));
}

TEST(AppPart, IsCutWithAHash) {
  EXPECT_EQ(app_part("shop"), "shop");
  EXPECT_EQ(app_part(std::string(16, 'a')), std::string(16, 'a'));
  const std::string one = app_part(std::string(50, 'a') + "1");
  const std::string two = app_part(std::string(50, 'a') + "2");
  EXPECT_LE(one.size(), kMaxAppBytes);
  EXPECT_NE(one, two);
  EXPECT_NE(app_part("My_App"), app_part("my-app"));
}

TEST(DerivedNames, AreThoseOfTheTable) {
  const auto names = derive_names("shop", "login-fix");
  EXPECT_EQ(names.host, "shop.login-fix.localhost");
  EXPECT_EQ(names.compose_project, "shop-login-fix");
  EXPECT_EQ(names.database, "shop_login_fix");
  EXPECT_EQ(names.test_database, "shop_login_fix_test");
  EXPECT_EQ(names.role, "shop_login_fix");
  EXPECT_EQ(names.redis_prefix, "shop:login-fix:");
  EXPECT_EQ(names.redis_user, "shop-login-fix");
  EXPECT_EQ(names.vhost, "shop-login-fix");
  EXPECT_EQ(names.network_alias, "login-fix.shop.hedge");
  ASSERT_EQ(names.cookies.size(), 3U);
  EXPECT_EQ(names.cookies[0], (std::pair<std::string, std::string>("session", "shop_login_fix_session")));
  EXPECT_EQ(names.cookies[1].second, "shop_login_fix_remember");
  EXPECT_EQ(names.cookies[2].second, "shop_login_fix_device");
}

TEST(DerivedNames, OfTheMainCheckoutHaveNoSlug) {
  const auto names = derive_main_names("shop");
  EXPECT_EQ(names.host, "shop.localhost");
  EXPECT_EQ(names.cookies[0].second, "shop_session");
  EXPECT_TRUE(names.database.empty());
}

TEST(DerivedNames, FollowTheTemplates) {
  NameRules rules;
  rules.host = "{slug}--{app}.dev.test";
  rules.main_host = "{app}.dev.test";
  EXPECT_EQ(derive_names("shop", "x", rules).host, "x--shop.dev.test");
  EXPECT_EQ(derive_main_names("shop", rules).host, "shop.dev.test");
}

TEST(Directory, W20_StaysWithinAHundredBytes) {
  EXPECT_EQ(*derive_directory("/home/ada/shop", "shop", "x"), "/home/ada/shop.x");
  const std::string slug = slug_of(std::string(200, 'b'));
  const std::string parent = "/home/ada/" + std::string(40, 'p');
  const auto cut = derive_directory(parent + "/" + std::string(40, 'r'), "shop", slug);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->string().size(), kMaxDirectoryBytes);
  EXPECT_TRUE(cut->string().ends_with("." + slug));
  const auto hopeless = derive_directory("/" + std::string(94, 'p') + "/shop", "shop", slug);
  ASSERT_FALSE(hopeless);
  EXPECT_EQ(hopeless.error().id(), "path_too_long");
}

TEST(Directory, ThroughASymbolicLinkIsWhereTheLinkLeads) {
  const hedge::test::TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "big/disk");
  std::filesystem::create_directory_symlink(directory / "big/disk", directory / "trees");
  NameRules rules;
  rules.directory = "../trees/new/{slug}";
  EXPECT_EQ(*derive_directory(directory / "shop", "shop", "x", rules), directory / "big/disk/new/x");
}

TEST(Directory, ThatIsASymbolicLinkItselfIsNotFollowed) {
  const hedge::test::TemporaryDirectory directory;
  std::filesystem::create_directories(directory / "somebody");
  std::filesystem::create_directory_symlink(directory / "somebody", directory / "shop.x");
  EXPECT_EQ(*derive_directory(directory / "shop", "shop", "x"), directory / "shop.x");
}

TEST(Directory, OfABareRepositoryDropsItsSuffix) {
  EXPECT_EQ(*derive_directory("/srv/shop.git", "shop", "x"), "/srv/shop.x");
}

// Branch names as nobody would choose them, and many that differ in one character only.
class RandomBranches {
 public:
  std::string next() {
    static const std::vector<std::string> kPieces{
        "a",        "b",        "B",    "z9",   "-",    "--",   "/",       "_", ".",
        "'",        "\"",       ";",    "`",    "$(x)", "é",    "e\u0301", "🎉", "日本",
        "feature/", "Feature/", "fix-", "ÿ",    "#",    "main", "test",    "&"};
    std::string branch;
    const auto length = std::uniform_int_distribution<std::size_t>(1, kind_(random_) == 0 ? 200 : 4)(random_);
    // At most 200 bytes, cut between pieces: half a character is no UTF-8, which is refused.
    while (branch.size() < length) {
      const std::string& piece = kPieces[piece_(random_) % kPieces.size()];
      if (branch.size() + piece.size() > 200) break;
      branch += piece;
    }
    return branch;
  }

 private:
  std::mt19937 random_{20261129};
  std::uniform_int_distribution<int> kind_{0, 9};
  std::uniform_int_distribution<std::size_t> piece_{0, 1000};
};

using Spaces = std::map<std::string, std::set<std::string>>;

std::vector<std::pair<std::string, std::string>> names_by_system(const WorktreeNames& names) {
  return {{"slug", names.slug},
          {"host", names.host},
          {"project", names.compose_project},
          {"database", names.database},
          {"database", names.test_database},
          {"role", names.role},
          {"redis", names.redis_prefix},
          {"redis_user", names.redis_user},
          {"vhost", names.vhost},
          {"alias", names.network_alias},
          {"cookie", names.cookies[0].second}};
}

void expect_limits(const WorktreeNames& names) {
  EXPECT_LE(names.test_database.size(), 63U);
  EXPECT_LE(names.role.size(), 63U);
  EXPECT_LE(names.compose_project.size(), 63U);
  EXPECT_LE(names.host.size(), 253U);
  EXPECT_LE(names.vhost.size(), 255U);
  for (const std::string_view label : split(names.host, '.'))
    EXPECT_TRUE(!label.empty() && label.size() <= 63) << label;
  const std::string allowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  EXPECT_EQ(names.slug.find_first_not_of(allowed), std::string::npos) << names.slug;
  EXPECT_FALSE(names.slug.empty() || names.slug.starts_with('-') || names.slug.ends_with('-'));
  EXPECT_EQ(names.slug.find("--"), std::string::npos) << names.slug;
}

void expect_distinct_names(int branches) {
  RandomBranches source;
  Spaces used;
  std::set<std::string> seen;
  SlugRequest request;
  request.is_taken = [&used](const std::string& slug) {
    for (const auto& [system, name] : names_by_system(derive_names("a-long-app-name1", slug))) {
      if (used[system].contains(name)) return true;
    }
    return false;
  };
  while (static_cast<int>(seen.size()) < branches) {
    request.branch = source.next();
    if (!seen.insert(request.branch).second) continue;
    request.birth = std::to_string(seen.size());
    const auto slug = choose_slug(request);
    ASSERT_TRUE(slug);
    const auto names = derive_names("a-long-app-name1", *slug);
    expect_limits(names);
    for (const auto& [system, name] : names_by_system(names)) {
      ASSERT_TRUE(used[system].insert(name).second)
          << system << " " << name << " of " << printable(request.branch);
    }
  }
}

TEST(DerivedNames, W13_D02_TenThousandRandomBranchesShareNoNameAndKeepEveryLimit) {
  expect_distinct_names(10000);
}

// The names that are made from the slug in different ways; every other one is one of them with another
// separator.
TEST(DerivedNames, W13_AHundredThousandRandomBranchesShareNoName) {
  constexpr std::size_t kBranches = 100000;
  RandomBranches source;
  std::unordered_set<std::string> used;
  std::unordered_set<std::string> seen;
  SlugRequest request;
  const auto claims = [](const std::string& slug) {
    const auto names = derive_names("shop", slug);
    return std::array<std::string, 3>{names.host, names.database, names.test_database};
  };
  request.is_taken = [&](const std::string& slug) {
    const auto names = claims(slug);
    return std::ranges::any_of(names, [&used](const std::string& name) { return used.contains(name); });
  };
  while (seen.size() < kBranches) {
    request.branch = source.next();
    if (!seen.insert(request.branch).second) continue;
    request.birth = std::to_string(seen.size());
    for (const std::string& name : claims(*choose_slug(request))) {
      if (!used.insert(name).second) FAIL() << name << " of " << printable(request.branch);
    }
  }
  EXPECT_EQ(used.size(), 3 * kBranches);
}

TEST(DerivedNames, W13_BranchesThatOthersMapToOneNameAreFive) {
  Spaces used;
  SlugRequest request;
  request.is_taken = [&used](const std::string& slug) { return used["slug"].contains(slug); };
  for (const char* branch : {"feature/foo", "feature-foo", "Feature/Foo", "feature.foo", "feature_foo"}) {
    request.branch = branch;
    used["slug"].insert(*choose_slug(request));
  }
  EXPECT_EQ(used["slug"].size(), 5U);
}

TEST(DerivedNames, D02_LongAppAndLongBranchesKeepTheirHashesApart) {
  const std::string app(50, 'r');
  std::set<std::string> databases;
  for (const char* tail : {"1", "2", "é", "ö"}) {
    const auto names = derive_names(app, slug_of(std::string(75, 'x') + tail));
    EXPECT_LE(names.test_database.size(), 63U);
    databases.insert(names.database);
    databases.insert(names.test_database);
  }
  EXPECT_EQ(databases.size(), 8U);
}

}  // namespace
}  // namespace hedge::worktree
