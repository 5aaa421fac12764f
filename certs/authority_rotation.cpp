#include "certs/authority_rotation.h"

#include "base/exchange_paths.h"
#include "base/file.h"
#include "base/file_lock.h"

namespace hedge::certs {
namespace fs = std::filesystem;

namespace {

constexpr auto kLockLimit = std::chrono::seconds(10);

// In a successor from its birth until the rotation that made it has ended.
fs::path mark_of(const AuthorityLocation& location) {
  return location.directory / "successor";
}

Result<FileLock> lock(const AuthorityLocation& location) {
  return FileLock::acquire(location.lock, FileLock::Mode::exclusive, kLockLimit);
}

}  // namespace

AuthorityLocation successor_location(const AuthorityLocation& location) {
  return {location.directory.parent_path() / (location.directory.filename().string() + "-next"),
          location.lock};
}

RotationStage rotation_stage(const AuthorityLocation& location) {
  const AuthorityLocation other = successor_location(location);
  if (path_exists(mark_of(other))) return RotationStage::prepared;
  return path_exists(mark_of(location)) ? RotationStage::switched : RotationStage::none;
}

Result<RotationStage> prepare_successor(const AuthorityLocation& location,
                                        const std::vector<std::string>& suffixes, const Clock& clock) {
  const auto held = lock(location);
  if (!held) return held.error();
  if (auto root = load_root(location); !root) return root.error();
  const RotationStage stage = rotation_stage(location);
  if (stage == RotationStage::switched) return stage;
  const AuthorityLocation successor = successor_location(location);
  // Prepared so long ago that it is worth nothing, or damaged: a fresh one costs nothing.
  if (stage == RotationStage::prepared && load_authority(successor, clock.wall())) return stage;
  if (auto removed = remove_tree(successor.directory); !removed) return removed.error();
  const std::string installation = installation_id(location.directory);
  if (auto made = make_authority_at(successor, installation, suffixes, clock.wall()); !made)
    return made.error();
  if (auto marked = write_file_atomically(mark_of(successor), "", 0600); !marked) return marked.error();
  return RotationStage::prepared;
}

Result<void> switch_to_successor(const AuthorityLocation& location, const Clock& clock) {
  const auto held = lock(location);
  if (!held) return held.error();
  if (rotation_stage(location) == RotationStage::switched) return {};
  const AuthorityLocation successor = successor_location(location);
  if (auto whole = load_authority(successor, clock.wall()); !whole) return whole.error();
  return exchange_paths(location.directory, successor.directory);
}

Result<void> end_rotation(const AuthorityLocation& location) {
  const auto held = lock(location);
  if (!held) return held.error();
  // In this order: killed in between, the stage is still `switched`.
  if (auto removed = remove_tree(successor_location(location).directory); !removed) return removed;
  return remove_file(mark_of(location));
}

}  // namespace hedge::certs
