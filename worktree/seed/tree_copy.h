// Copying a directory so that the copy stands for itself: contents, modes, times and relative links, in
// parallel.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "worktree/free_space.h"

namespace hedge::worktree {

struct CopyReport {
  std::uint64_t files = 0;
  std::uint64_t reflinked = 0;  // of `files`
  std::uint64_t bytes = 0;      // sizes of the files, whatever the copy cost
  std::chrono::milliseconds took{0};
  std::vector<std::string> links_outside;  // links that leave the checkout, relative to it; at most 100
  std::vector<std::string> skipped;        // sockets, FIFOs, devices, nested worktrees and what is excluded; at most 100

  // "reflink, 1204 files, 38.1 MB, 0.4 s".
  std::string summary() const;
};

struct TreeCopy {
  std::filesystem::path source_root;  // the checkout that is copied from; links are judged by it
  std::filesystem::path target_root;
  std::string path;      // the directory or file to copy, relative to both
  std::string stamp;     // part of the temporary name, so that two runs never share one
  unsigned workers = 4;  // threads; each has at most two files open
  std::vector<std::string> excluded{};  // files below `path` that are not copied, relative to the roots and normal
  SpaceProbe space = free_bytes;
};

// The copy appears at its place in one step, when it is complete. An existing target is an error.
// Errors: already_exists; refused (a directory above it is a link, or no part of this checkout); not_found (no
// source); no_space `disk_full`; permission; io. What was copied by then is removed.
Result<CopyReport> copy_tree(const TreeCopy& copy);
// Removes what a killed copy_tree() with the same parameters has left.
Result<void> remove_leftover(const TreeCopy& copy);

}  // namespace hedge::worktree
