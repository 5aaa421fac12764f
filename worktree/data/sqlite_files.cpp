#include "worktree/data/sqlite_files.h"

#include <filesystem>

#include "config/project_config.h"

namespace hedge::worktree {
namespace fs = std::filesystem;

std::string test_source_of(const config::DatabaseConfig& database) {
  if (database.test_source) return *database.test_source;
  const fs::path source(database.source);
  return (source.parent_path() / (source.stem().string() + "_test" + source.extension().string())).string();
}

std::vector<std::string> sqlite_files_of(const config::DatabaseConfig& database) {
  std::vector<std::string> files;
  if (database.engine != config::DatabaseEngine::sqlite) return files;
  for (const std::string& source : {database.source, test_source_of(database)}) {
    files.push_back(fs::path(source).lexically_normal().string());
    const std::string file = files.back();
    for (const char* companion : kSqliteCompanions) files.push_back(file + companion);
  }
  return files;
}

}  // namespace hedge::worktree
