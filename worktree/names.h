// Every name that a worktree gets, in every system, from one function. Nothing else in the program makes
// names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hedge::worktree {

// Bytes. A slug is at most kMaxSlugBytes: the readable part and, where it is needed, "-" and the hash.
inline constexpr std::size_t kMaxReadableBytes = 32;
inline constexpr std::size_t kHashBytes = 5;
inline constexpr std::size_t kMaxSlugBytes = kMaxReadableBytes + 1 + kHashBytes;
inline constexpr std::size_t kMaxAppBytes = 16;
inline constexpr std::size_t kMaxInstanceBytes = 16;
inline constexpr std::size_t kMaxDirectoryBytes =
    100;  // of a worktree's whole path: sockets inside must fit in 107

struct WorktreeNames {
  std::string app;   // the app's part of names: [a-z0-9-], at most kMaxAppBytes
  std::string slug;  // empty for the main checkout
  std::string host;  // the public hostname
  std::string compose_project;
  std::string database;
  std::string test_database;
  std::string role;
  std::string redis_prefix;  // ends in its delimiter
  std::string redis_user;
  std::string vhost;
  std::string queue_user;
  std::string network_alias;
  std::vector<std::pair<std::string, std::string>>
      cookies;  // purpose ("session") and name, in the configured order
};

struct NameRules {
  std::string host = "{app}.{slug}.localhost";  // placeholders {app} and {slug}
  std::string main_host = "{app}.localhost";    // placeholder {app}
  std::string directory =
      "../{repo}.{slug}";  // relative to the main checkout; placeholders {repo}, {app} and {slug}
  std::vector<std::string> cookies = {"session", "remember", "device"};
};

// Requires: `slug` comes from choose_slug() (or the registry). Limits: 63 bytes for databases, roles,
// projects and hostname labels, 253 for the hostname, 255 for the vhost.
WorktreeNames derive_names(std::string_view app, std::string_view slug, const NameRules& rules = {});
// The main checkout's: hostname, cookies and alias; its data names are configured, never derived, and empty
// here.
WorktreeNames derive_main_names(std::string_view app, const NameRules& rules = {});

// The app's part of names: lower-case [a-z0-9-], at most kMaxAppBytes; with a hash where the mapping lost
// something.
std::string app_part(std::string_view app);

// Whose slug is wanted, and what it must not be.
struct SlugRequest {
  std::string branch;                 // exact, as git spells it
  std::string instance;               // empty: none
  std::vector<std::string> reserved;  // names of apps, besides the built-in reserved words
  std::string birth;                  // the worktree's id: tells equal branches of two clones apart
  std::function<bool(const std::string& slug)> is_taken;  // empty: nothing is taken
};
// The branch in [a-z0-9-]; with five characters of the SHA-256 of the exact branch where the mapping lost
// something beyond
// `/` → `-`, was cut, is reserved, or is taken. The instance, if any, comes last.
// Errors: invalid_input `branch_invalid` (empty), `instance_invalid` (not [a-z0-9-], or longer than
// kMaxInstanceBytes).
Result<std::string> choose_slug(const SlugRequest& request);

// The directory of a worktree: the template beside `anchor` (the main checkout, or a bare repository), its parent free
// of symbolic links, with {repo} cut where the path would be too long. Errors: invalid_input `path_too_long`, if not even that brings
// it to kMaxDirectoryBytes.
Result<std::filesystem::path> derive_directory(const std::filesystem::path& anchor, std::string_view app,
                                               std::string_view slug, const NameRules& rules = {});

}  // namespace hedge::worktree
