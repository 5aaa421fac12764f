// Many processes make the CA at once, and some are killed while they do (T-10).
#include <random>
#include <set>
#include <thread>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "certs/key_pair.h"
#include "tests/certs/authority_fixture.h"

namespace hedge::certs {
namespace {

// Forked, not exec'd: the child only makes the CA. It leaves through _exit() so that no test object is
// destroyed twice.
pid_t start_maker(const AuthorityLocation& location, const Clock& clock) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(ensure_authority(location, default_suffixes(), clock) ? 0 : 1);
  return child;
}

void expect_matching_pairs(const AuthorityLocation& location, WallTime now) {
  const auto authority = load_authority(location, now);
  ASSERT_TRUE(authority) << authority.error().to_string();
  const auto root_key = parse_private_key(read_file(location.root_key()).value());
  ASSERT_TRUE(root_key);
  EXPECT_TRUE(has_key(*authority->root, **root_key));
}

TEST_F(AuthorityTest, T10_TwentyProcessesMakeOneCa) {
  std::vector<pid_t> children;
  for (int i = 0; i < 20; ++i) children.push_back(start_maker(location(), clock_));
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  expect_matching_pairs(location(), clock_.wall());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(location().directory.parent_path()), {}), 2)
      << "the CA and its lock, nothing else";
}

TEST_F(AuthorityTest, T10_TwentyThreadsSeeOneCa) {
  std::mutex mutex;
  std::set<std::string> roots;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] {
      const auto made = ensure_authority(location(), default_suffixes(), clock_);
      const std::scoped_lock lock(mutex);
      roots.insert(made ? fingerprint(*made->authority.root) : made.error().to_string());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(roots.size(), 1U);
}

TEST_F(AuthorityTest, T10_KilledAtAnyMomentThereIsAWholeCaOrNone) {
  std::mt19937 random(20261129);
  std::uniform_int_distribution<int> microseconds(0, 6000);
  int absent = 0;
  int whole = 0;
  for (int round = 0; round < 30; ++round) {
    const AuthorityLocation at{directory_ / std::to_string(round) / "ca",
                               directory_ / std::to_string(round) / "ca.lock"};
    const pid_t child = start_maker(at, clock_);
    ::usleep(
        static_cast<useconds_t>(microseconds(random)));  // the moment of the kill, not a wait for anything
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (!path_exists(at.directory)) {
      ++absent;
    } else {
      ++whole;
      expect_matching_pairs(at, clock_.wall());
    }
    // And the next one is not hindered by what the killed one left.
    ASSERT_TRUE(ensure_authority(at, default_suffixes(), clock_));
    expect_matching_pairs(at, clock_.wall());
  }
  EXPECT_EQ(absent + whole, 30);
}

}  // namespace
}  // namespace hedge::certs
