#include "certs/authority_rotation.h"

#include <sys/stat.h>

#include "base/exchange_paths.h"
#include "certs/certificate_store.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

namespace fs = std::filesystem;

class RotationTest : public AuthorityTest {
 protected:
  Result<RotationStage> prepare(const std::vector<std::string>& configured = {}) {
    return prepare_successor(location(), authority_suffixes(configured), clock_);
  }
  std::string root_now() { return fingerprint(**load_root(location())); }
  std::string root_beside() { return fingerprint(**load_root(successor_location(location()))); }
};

TEST_F(RotationTest, T09_GoesFromOneWholeCaToAnotherWithBothThereInBetween) {
  const std::string old = fingerprint(*make_authority().root);
  EXPECT_EQ(rotation_stage(location()), RotationStage::none);
  ASSERT_EQ(prepare().value(), RotationStage::prepared);
  EXPECT_EQ(root_now(), old) << "nothing has changed yet";
  const std::string next = root_beside();
  EXPECT_NE(next, old);
  ASSERT_TRUE(switch_to_successor(location(), clock_));
  EXPECT_EQ(rotation_stage(location()), RotationStage::switched);
  EXPECT_EQ(root_now(), next);
  EXPECT_EQ(root_beside(), old);
  EXPECT_TRUE(load_authority(location(), clock_.wall()));
  ASSERT_TRUE(end_rotation(location()));
  EXPECT_EQ(rotation_stage(location()), RotationStage::none);
  EXPECT_FALSE(fs::exists(successor_location(location()).directory)) << "the old keys are gone";
  EXPECT_EQ(root_now(), next);
}

TEST_F(RotationTest, T09_TheNewRootHasANameAndAKeyOfItsOwnAndTheTagOfTheOldOne) {
  const Authority old = make_authority();
  ASSERT_TRUE(prepare({"dev.example"}));
  const X509Ptr next = std::move(*load_root(successor_location(location())));
  EXPECT_NE(common_name(*next), common_name(*old.root));
  EXPECT_EQ(organizational_unit(*next), organizational_unit(*old.root)) << "stores recognise it";
  EXPECT_NE(EVP_PKEY_eq(X509_get0_pubkey(next.get()), X509_get0_pubkey(old.root.get())), 1);
  EXPECT_EQ(permitted_suffixes(*next).back(), "dev.example") << "the settings of today count";
}

TEST_F(RotationTest, GoesOnWhereItStoodWhenItIsRunAgain) {
  make_authority();
  ASSERT_TRUE(prepare());
  const std::string next = root_beside();
  ASSERT_EQ(prepare().value(), RotationStage::prepared);
  EXPECT_EQ(root_beside(), next) << "the successor that stores trust by now is kept";
  ASSERT_TRUE(switch_to_successor(location(), clock_));
  ASSERT_TRUE(switch_to_successor(location(), clock_));
  EXPECT_EQ(root_now(), next) << "a second switch does not switch back";
  ASSERT_EQ(prepare().value(), RotationStage::switched);
  EXPECT_EQ(root_now(), next);
}

TEST_F(RotationTest, AnUnfinishedOrDamagedSuccessorIsMadeAfresh) {
  make_authority();
  // Killed between making it and marking it.
  fs::create_directories(successor_location(location()).directory);
  ASSERT_EQ(prepare().value(), RotationStage::prepared);
  ASSERT_TRUE(write_file_atomically(successor_location(location()).intermediate(), "damage", 0600));
  EXPECT_FALSE(switch_to_successor(location(), clock_)) << "a damaged one never becomes the CA";
  EXPECT_EQ(rotation_stage(location()), RotationStage::prepared);
  ASSERT_EQ(prepare().value(), RotationStage::prepared);
  EXPECT_TRUE(switch_to_successor(location(), clock_));
}

TEST_F(RotationTest, GivenUpItLeavesNoTrace) {
  const std::string old = fingerprint(*make_authority().root);
  ASSERT_TRUE(prepare());
  ASSERT_TRUE(end_rotation(location()));
  EXPECT_EQ(rotation_stage(location()), RotationStage::none);
  EXPECT_EQ(root_now(), old);
}

TEST_F(RotationTest, T14_ARootThatHasEndedCanBeReplaced) {
  make_authority();
  clock_.jump_wall(kRootLife + std::chrono::hours(1));
  const auto ended = load_authority(location(), clock_.wall());
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().id(), "ca_expired");
  ASSERT_EQ(ended.error().hints().size(), 1U);
  EXPECT_EQ(ended.error().hints().front(), "run hedge ca rotate");
  ASSERT_TRUE(prepare());
  ASSERT_TRUE(switch_to_successor(location(), clock_));
  ASSERT_TRUE(end_rotation(location()));
  EXPECT_TRUE(load_authority(location(), clock_.wall()));
}

TEST_F(RotationTest, WithoutACaThereIsNothingToReplace) {
  fs::create_directories(location().directory.parent_path());
  const auto refused = prepare();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().id(), "ca_missing");
}

TEST_F(RotationTest, T09_ARunningStoreSignsBelowTheNewRootAfterTheSwitch) {
  make_authority();
  CertificateStoreOptions options;
  options.ca_directory = location().directory;
  options.suffixes = {"localhost"};
  const auto store = CertificateStore::open(options, clock_);
  const RouteLookup nothing = [](std::string_view) { return std::nullopt; };
  const auto before = (*store)->certificate_for("alpha.localhost", nothing).value();
  ASSERT_TRUE(prepare());
  ASSERT_TRUE(switch_to_successor(location(), clock_));
  clock_.advance(options.reload_interval);
  const auto after = (*store)->certificate_for("alpha.localhost", nothing).value();
  EXPECT_NE(before->issuer_fingerprint, after->issuer_fingerprint);
  EXPECT_EQ(after->issuer_fingerprint, load_issuer(location().directory)->fingerprint);
}

TEST_F(RotationTest, KeysKeepTheirModes) {
  make_authority();
  ASSERT_TRUE(prepare());
  ASSERT_TRUE(switch_to_successor(location(), clock_));
  struct stat info {};
  ASSERT_EQ(::stat(location().root_key().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0400U);
  ASSERT_EQ(::stat(location().directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0700U);
}

TEST(ExchangePaths, NeedsBoth) {
  const test::TemporaryDirectory directory;
  ASSERT_TRUE(write_file_atomically(directory / "one", "1", 0600));
  const auto refused = exchange_paths(directory / "one", directory / "other");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::not_found);
  ASSERT_TRUE(write_file_atomically(directory / "other", "2", 0600));
  ASSERT_TRUE(exchange_paths(directory / "one", directory / "other"));
  EXPECT_EQ(read_file(directory / "one").value(), "2");
  EXPECT_EQ(read_file(directory / "other").value(), "1");
}

}  // namespace
}  // namespace hedge::certs
