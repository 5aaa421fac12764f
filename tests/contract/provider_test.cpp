#include "contract/provider.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::contract {
namespace {

using Texts = std::vector<std::string>;

ProviderChoice chosen(const ProviderWish& wish, const Evidence& evidence = {}) {
  const auto decision = choose_provider(wish, evidence);
  EXPECT_TRUE(decision) << decision.error().to_string();
  return decision ? decision->choice : ProviderChoice{};
}

TEST(Provider, IsTakenFromOptionThenEnvironmentThenConfigThenRecordThenDetection) {
  ProviderWish wish{"local", "local", "local", "local"};
  EXPECT_EQ(chosen(wish).chosen_by, "option");
  wish.option.reset();
  EXPECT_EQ(chosen(wish).chosen_by, "environment");
  wish.environment = "";
  EXPECT_EQ(chosen(wish).chosen_by, "config");
  wish.config.reset();
  EXPECT_EQ(chosen(wish).chosen_by, "recorded");
  wish.recorded.reset();
  EXPECT_EQ(chosen(wish).chosen_by, "detected");
}

TEST(Provider, DetectionListsItsEvidence) {
  EXPECT_EQ(chosen({}).because, Texts{"the stack needs no container engine"});
  Evidence evidence;
  evidence.needs_engine = true;
  EXPECT_EQ(chosen({}, evidence).because, Texts{"docker engine answers"});
  evidence.engine_error = Error(ErrorKind::unavailable, "nobody behind the socket").with_id("engine_not_running");
  EXPECT_EQ(chosen({}, evidence).because, (Texts{"no other provider fits", "nobody behind the socket"}));
}

TEST(Provider, AnUnknownOneIsRefusedWithTheKnownOnes) {
  const auto decision = choose_provider({"cluod", {}, {}, {}}, {});
  ASSERT_FALSE(decision);
  EXPECT_EQ(decision.error().id(), "provider_unknown");
  EXPECT_EQ(decision.error().hints().at(0), "known: local");
}

TEST(Provider, ARecordThatNoLongerHoldsIsDetectedAnewWithAWarning) {
  const auto decision = choose_provider({{}, {}, {}, "gone"}, {});
  ASSERT_TRUE(decision);
  EXPECT_EQ(decision->choice.chosen_by, "detected");
  ASSERT_EQ(decision->warnings.size(), 1U);
  EXPECT_EQ(decision->warnings[0].id, "provider_changed");
}

TEST(Provider, TheChoiceIsKeptInTheRepository) {
  const test::TemporaryDirectory git;
  EXPECT_EQ(load_recorded_provider(git.path()), std::nullopt);
  ASSERT_TRUE(store_recorded_provider(git.path(), "local"));
  EXPECT_EQ(load_recorded_provider(git.path()), "local");
  ASSERT_TRUE(write_file_atomically(git / "hedge-provider", "\n", 0644));
  EXPECT_EQ(load_recorded_provider(git.path()), std::nullopt);
}

}  // namespace
}  // namespace hedge::contract
