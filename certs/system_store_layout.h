// Where this distribution keeps the roots that administrators add.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hedge::certs {

struct SystemStoreLayout {
  std::filesystem::path anchors;            // one .crt file a root
  std::filesystem::path bundle;             // what programs read; made from the anchors
  std::vector<std::string> update_command;  // makes the bundle
};
// Debian and Ubuntu, Fedora and RHEL, Arch, openSUSE, Alpine; told apart by what is installed below `root`, not by
// the system's name. Absent: this system keeps its store in no way that we know.
std::optional<SystemStoreLayout> find_system_store_layout(const std::filesystem::path& root = "/");

}  // namespace hedge::certs
