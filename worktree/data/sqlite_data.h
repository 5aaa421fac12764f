// A worktree's own SQLite files: the application's, copied from main's, and the tests'.
#pragma once

#include <filesystem>
#include <string>

#include "worktree/resource.h"

namespace hedge::worktree {

struct SqliteSpec {
  std::string id;               // the worktree's
  std::filesystem::path app;    // absolute, in the worktree
  std::filesystem::path test;
  std::filesystem::path app_source;   // main's; need not exist: then an empty database is made
  std::filesystem::path test_source;
  std::filesystem::path marker;  // in the state directory: that the files were made by Hedge, for this worktree
};

// check(): foreign `ownership_conflict`, if a file is there that Hedge did not make.
class SqliteData final : public Resource {
 public:
  explicit SqliteData(SqliteSpec spec) : spec_(std::move(spec)) {}

  std::string kind() const override { return "database"; }
  std::string name() const override { return spec_.app.filename().string(); }
  Result<Finding> check() override;
  Result<Change> converge() override;
  Result<Change> remove() override;

 private:
  Result<bool> is_ours() const;
  SqliteSpec spec_;
};

}  // namespace hedge::worktree
