// The system's own store, as Debian and Ubuntu keep it: curl, Python, Go, git and most libraries read it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/trust_store.h"

namespace hedge::certs {

struct SystemStoreLayout {
  std::filesystem::path anchors;            // one .crt file a root
  std::filesystem::path bundle;             // what programs read; made from the anchors
  std::vector<std::string> update_command;  // makes the bundle
};
// Absent: this system keeps its store in no way that we know.
std::optional<SystemStoreLayout> find_system_store_layout();

class SystemTrustStore final : public TrustStore {
 public:
  // Lifetime: `runner` outlives the store.
  SystemTrustStore(SystemStoreLayout layout, CommandRunner& runner);

  TrustFinding check(const TrustedRoot& root) override;
  TrustFinding install(const TrustedRoot& root) override;
  TrustFinding remove(std::string_view installation) override;
  std::vector<std::string> manual_steps(const TrustedRoot& root) const override;

 private:
  using Commands = std::vector<std::vector<std::string>>;

  TrustFinding finding() const;
  std::filesystem::path anchor_of(const TrustedRoot& root) const;
  // Anchors of this installation, but for `except`.
  std::vector<std::filesystem::path> anchors_of(std::string_view installation,
                                                const std::filesystem::path& except) const;
  // Anchors that hold a leaf or the intermediate of this installation instead of its root.
  std::vector<std::filesystem::path> misplaced(std::string_view installation) const;
  bool bundle_has(const TrustedRoot& root, std::string_view installation, std::string& found) const;
  Commands install_commands(const TrustedRoot& root) const;
  Commands remove_commands(std::string_view installation) const;
  // Runs them as we are, or through `sudo -n` where we may not write. Fills status, detail and command on
  // failure.
  bool change(const Commands& commands, TrustFinding& finding);

  const SystemStoreLayout layout_;
  CommandRunner& runner_;
};

}  // namespace hedge::certs
