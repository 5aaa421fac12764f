#include "config/invoking_user.h"

#include <array>
#include <cerrno>
#include <cstdlib>

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include "base/text.h"

namespace hedge::config {
namespace {

std::string variable(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

std::optional<InvokingUser> look_up(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr)
    return std::nullopt;
  return InvokingUser{entry.pw_uid, entry.pw_gid, entry.pw_name, entry.pw_dir};
}

// The saved id differs from the effective one only while root is in reserve.
bool has_reserve() {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  return ::getresuid(&real, &effective, &saved) == 0 && effective != 0 && saved == 0;
}

}  // namespace

Result<std::optional<InvokingUser>> find_invoking_user(const Environment& environment) {
  if (::geteuid() != 0) return std::optional<InvokingUser>();
  const auto uid = parse_number<uid_t>(variable(environment, "SUDO_UID"));
  if (!uid || *uid == 0) return std::optional<InvokingUser>();
  auto user = look_up(*uid);
  if (!user) {
    return Error(ErrorKind::refused,
                 "sudo was run by user " + std::to_string(*uid) + ", whom this system does not know")
        .with_id("invoking_user_unknown");
  }
  return user;
}

Result<void> act_as(const InvokingUser& user) {
  if (::initgroups(user.name.c_str(), user.gid) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
      ::setresuid(user.uid, user.uid, 0) != 0) {
    return Error::from_errno(errno, "act as " + user.name);
  }
  const auto root = look_up(0);
  const char* home = std::getenv("HOME");
  // sudo sets HOME to root's unless it was told to keep the caller's.
  if (home == nullptr || *home == '\0' || (root && root->home == home)) ::setenv("HOME", user.home.c_str(), 1);
  ::setenv("USER", user.name.c_str(), 1);
  ::setenv("LOGNAME", user.name.c_str(), 1);
  return {};
}

RootAgain::RootAgain() : user_(::geteuid()), active_(has_reserve()) {
  // Both ids: a child that sees two different ones (sh, and what it runs) gives the effective one up.
  if (active_) active_ = ::setresuid(0, 0, 0) == 0;
}

RootAgain::~RootAgain() {
  // Going on as root by accident would be worse than ending.
  if (active_ && ::setresuid(user_, user_, 0) != 0) std::abort();
}

Result<void> forget_root() {
  if (!has_reserve()) return {};
  const uid_t user = ::geteuid();
  if (::setresuid(user, user, user) != 0) return Error::from_errno(errno, "give up root");
  return {};
}

}  // namespace hedge::config
