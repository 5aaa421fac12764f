// Which files a configured SQLite database consists of.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace hedge::config {
struct DatabaseConfig;
}

namespace hedge::worktree {

// What SQLite keeps beside a database. Source: SQLite, "Temporary Files Used By SQLite".
inline constexpr std::array<const char*, 3> kSqliteCompanions{"-wal", "-shm", "-journal"};

// The tests' database: the configured one, or the application's with `_test` at the end of its name.
std::string test_source_of(const config::DatabaseConfig& database);

// Both databases with their companions, relative to the checkout and normal; empty for another engine. Copied while
// they are used they would be torn, and only what the database step makes is known as ours.
std::vector<std::string> sqlite_files_of(const config::DatabaseConfig& database);

}  // namespace hedge::worktree
