// A worktree's own SQLite files: the application's, copied from main's, and the tests'.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "worktree/free_space.h"
#include "worktree/resource.h"

namespace hedge::worktree {

struct SqliteFile {
  std::filesystem::path file;    // absolute, in the worktree
  std::filesystem::path source;  // main's; need not exist: then an empty database is made
  // In the state directory: says which worktree's database Hedge made, and which file that is. A file that has taken
  // its place is not ours.
  std::filesystem::path marker;
};

struct SqliteSpec {
  std::string id;  // the worktree's
  std::filesystem::path checkout;
  SqliteFile app;
  SqliteFile test;
  SpaceProbe space = free_bytes;
};

// A file that is there already is used as it is, and remains when the worktree's databases are removed.
// check(): foreign `ownership_conflict`, if a link would lead writes out of the checkout.
class SqliteData final : public Resource {
 public:
  explicit SqliteData(SqliteSpec spec) : spec_(std::move(spec)) {}

  std::string kind() const override { return "database"; }
  std::string name() const override { return spec_.app.file.filename().string(); }
  bool lives_in_checkout() const override { return true; }
  Result<Finding> check() override;
  Result<Change> converge() override;
  Result<Change> remove() override;
  Result<void> forget() override;

 private:
  // What this worktree's marker says of the file that is there; a marker of another's is none.
  enum class Claim { none, this_file, another_file };
  // Begins a file beside `file`, by a name that is_leftover().
  std::filesystem::path unfinished_path(const std::filesystem::path& file) const;
  bool leaves_checkout(const std::filesystem::path& file) const;
  std::string claim_on(const std::string& identity) const;
  Result<Claim> claim_of(const SqliteFile& database) const;
  Result<bool> make(const SqliteFile& database) const;
  SqliteSpec spec_;
};

}  // namespace hedge::worktree
