#include "config/invoking_user.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/support/temporary_directory.h"

namespace hedge::config {
namespace {

TEST(InvokingUser, IsAbsentWithoutSudo) {
  const auto found = find_invoking_user({});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->has_value());
}

TEST(InvokingUser, RootByItsOwnSudoIsRoot) {
  const auto found = find_invoking_user({{"SUDO_UID", "0"}});
  ASSERT_TRUE(found);
  EXPECT_FALSE(found->has_value());
}

// Only root is anybody else's agent: for others the variables are mere text.
TEST(InvokingUser, IsFoundByTheNumberThatSudoGivesIfWeAreRoot) {
  const passwd* nobody = ::getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const auto found =
      find_invoking_user({{"SUDO_UID", std::to_string(nobody->pw_uid)}, {"SUDO_USER", "somebody"}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->has_value(), ::geteuid() == 0);
  EXPECT_TRUE(!found->has_value() || (*found)->name == "nobody");
}

TEST(InvokingUser, AnUnknownOneIsRefusedRatherThanGuessed) {
  const auto found = find_invoking_user({{"SUDO_UID", "4000000000"}});
  EXPECT_EQ(found.has_value(), ::geteuid() != 0);
  EXPECT_TRUE(found || found.error().id() == "invoking_user_unknown");
}

uid_t owner_of(const std::filesystem::path& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_uid : 0;
}

// Each number is the check that failed; 0: all held. Runs in a child, because the ids of a process are all
// its threads'.
int change_ids_and_check(const InvokingUser& user, const std::filesystem::path& directory) {
  ::setenv("HOME", "/root", 1);
  if (!act_as(user)) return 1;
  if (::getuid() != user.uid || ::geteuid() != user.uid) return 2;
  if (user.home != ::getenv("HOME")) return 3;
  if (!write_file_atomically(directory / "mine", "x", 0600) || owner_of(directory / "mine") != user.uid)
    return 4;
  {
    const RootAgain root;
    if (!root.active() || ::geteuid() != 0) return 5;
    if (!write_file_atomically(directory / "roots", "x", 0600) || owner_of(directory / "roots") != 0)
      return 6;
  }
  if (::geteuid() != user.uid) return 7;
  CommandLine command;
  command.argv = {"id", "-u"};
  const auto id = run_for_output(command);
  if (!id || *id != std::to_string(user.uid) + "\n") return 8;
  if (!forget_root()) return 9;
  const RootAgain never;
  return never.active() || ::geteuid() != user.uid ? 10 : 0;
}

TEST(InvokingUser, U01_StateIsTheUsersAndRootIsOnlyTakenUpForAMoment) {
  const passwd* nobody = ::getpwnam("nobody");
  ASSERT_NE(nobody, nullptr);
  const InvokingUser user{nobody->pw_uid, nobody->pw_gid, "nobody", nobody->pw_dir};
  if (::geteuid() != 0) {
    EXPECT_FALSE(act_as(user)) << "nobody but root can act as somebody else";
    return;
  }
  const test::TemporaryDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0777), 0);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(change_ids_and_check(user, directory.path()));
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(WIFEXITED(status));
}

}  // namespace
}  // namespace hedge::config
