// Routes in one SQLite file: the truth that the edge and the manager share on one machine.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

#include "base/sqlite.h"
#include "router/route_store.h"

namespace hedge::router {

// Every committed change survives a power cut (WAL, synchronous=FULL). Any number of processes may have it
// open.
class SqliteRouteStore final : public RouteStore {
 public:
  // Creates the file (0600) and its table where missing; its directory must exist. A file that a newer Hedge
  // has written is opened for reading: every change is then refused with `state_newer`.
  // `busy_limit`: how long a change waits for another writer's.
  // Errors: `state_unreadable` (damaged, not a database, no permission), `disk_full`, busy.
  static Result<std::unique_ptr<SqliteRouteStore>> open(
      const std::filesystem::path& path, std::chrono::milliseconds busy_limit = std::chrono::seconds(5));

  Result<LoadedRoutes> load_all() override;
  Result<std::optional<ChangedRoutes>> load_changes(std::int64_t mark) override;
  Result<void> put(const Route& route) override;
  Result<bool> remove(std::string_view host, std::string_view worktree) override;
  Result<int> set_state(std::string_view worktree, RouteState state) override;
  // Errors: not_found, if the file was removed or replaced since it was opened: open it again.
  Result<std::int64_t> version() override;

 private:
  struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const FileIdentity&) const = default;
  };
  SqliteRouteStore(std::filesystem::path path, sqlite::Database database, FileIdentity identity,
                   bool is_newer);
  static std::optional<FileIdentity> identify(const std::filesystem::path& path);
  Result<void> require_writable() const;
  // Numbers of the changes that are still known; zeros if there are none.
  struct ChangeSpan {
    std::int64_t first = 0;
    std::int64_t last = 0;
  };
  Result<ChangeSpan> find_span();
  Result<void> read_changed(const std::string& host, ChangedRoutes& changed);
  Result<std::optional<std::string>> find_owner(std::string_view host);

  std::filesystem::path path_;
  sqlite::Database database_;
  FileIdentity identity_;
  bool is_newer_;  // its user_version is above what this program writes
};

}  // namespace hedge::router
