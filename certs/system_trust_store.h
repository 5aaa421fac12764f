// The system's own store: curl, Python, Go, git and most libraries read it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/certificate_origin.h"
#include "certs/store_change.h"
#include "certs/system_store_layout.h"
#include "certs/trust_store.h"

namespace hedge::certs {

class SystemTrustStore final : public TrustStore {
 public:
  // Lifetime: `runner` outlives the store.
  SystemTrustStore(SystemStoreLayout layout, CommandRunner& runner);

  TrustFinding check(const TrustedRoot& root) override;
  TrustFinding install(const TrustedRoot& root) override;
  TrustFinding remove(std::string_view installation) override;
  std::vector<std::string> manual_steps(const TrustedRoot& root) const override;

 private:
  TrustFinding finding() const;
  std::filesystem::path anchor_of(const TrustedRoot& root) const;
  // Anchors of this installation, but for `except`.
  std::vector<std::filesystem::path> anchors_of(std::string_view installation,
                                                const std::filesystem::path& except) const;
  // Anchors that hold a leaf or the intermediate of this installation instead of its root.
  std::vector<std::filesystem::path> misplaced(std::string_view installation) const;
  OwnCertificates own_in_bundle(std::string_view installation, std::string_view wanted) const;
  StoreCommands install_commands(const TrustedRoot& root) const;
  StoreCommands remove_commands(std::string_view installation) const;
  bool change(const StoreCommands& commands, TrustFinding& finding);

  const SystemStoreLayout layout_;
  CommandRunner& runner_;
};

}  // namespace hedge::certs
