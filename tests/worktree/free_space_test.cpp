#include "worktree/free_space.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace hedge::worktree {
namespace {

SpaceProbe disk_with(std::optional<std::uint64_t> bytes) {
  return [bytes](const std::filesystem::path&) { return bytes; };
}

TEST(FreeSpace, D20_ATenthMoreThanTheSourceHasToBeFree) {
  EXPECT_TRUE(require_space(disk_with(1100), "/place", 1000, "a copy"));
  const auto refused = require_space(disk_with(1099), "/place", 1000, "a copy");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::no_space);
  EXPECT_EQ(refused.error().id(), "disk_full");
}

TEST(FreeSpace, TheErrorTellsThePlaceBothAmountsAndWhatToDo) {
  const auto refused = require_space(disk_with(10'000'000), "/srv/shop", 200'000'000, "a copy of /main/shop.sqlite3");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text(),
            "the disk of /srv/shop has no room for a copy of /main/shop.sqlite3: 220.0 MB needed, 10.0 MB free");
  ASSERT_EQ(refused.error().hints().size(), 1U);
  EXPECT_EQ(refused.error().hints()[0], "make room for 210.0 MB; `hedge gc` finds what may go");
}

TEST(FreeSpace, NothingNeedsNoRoomAndADiskThatDoesNotSayIsNotAsked) {
  EXPECT_TRUE(require_space(disk_with(0), "/place", 0, "a copy"));
  EXPECT_TRUE(require_space(disk_with(std::nullopt), "/place", 1000, "a copy"));
}

TEST(FreeSpace, OfAPlaceThatIsNotThereYetIsThatOfTheNearestDirectory) {
  const hedge::test::TemporaryDirectory directory;
  const auto here = free_bytes(directory.path());
  ASSERT_TRUE(here);
  EXPECT_GT(*here, 0U);
  EXPECT_TRUE(free_bytes(directory / "not/yet/there"));
}

}  // namespace
}  // namespace hedge::worktree
