// One NSS database, which Chromium and its relatives read, changed with NSS's own certutil.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/trust_store.h"

namespace hedge::certs {

struct NssPlaces {
  std::filesystem::path home;
  std::filesystem::path data_home;  // $XDG_DATA_HOME, else ~/.local/share
};
// The databases to care for: every one that exists; where there is none, the one that is to be made.
std::vector<std::filesystem::path> nss_databases(const NssPlaces& places);

class NssTrustStore final : public TrustStore {
 public:
  // `required`: a browser of this machine reads NSS. Lifetime: `runner` outlives the store.
  NssTrustStore(std::filesystem::path database, bool browser_present, CommandRunner& runner);

  TrustFinding check(const TrustedRoot& root) override;
  TrustFinding install(const TrustedRoot& root) override;
  TrustFinding remove(std::string_view installation) override;
  std::vector<std::string> manual_steps(const TrustedRoot& root) const override;

 private:
  enum class Held { ours, other, nothing, unreadable };

  TrustFinding finding() const;
  bool exists() const;
  std::vector<std::string> certutil(std::vector<std::string> arguments) const;
  Result<CommandOutput> run(std::vector<std::string> arguments);
  // What stands under our nickname; `found` is its fingerprint.
  Held look(std::string_view installation, std::string_view fingerprint, TrustFinding& finding);
  // Deletes every certificate of our nickname. False: `finding` tells why not.
  bool clear(std::string_view installation, TrustFinding& finding);
  void fail(TrustFinding& finding, const Result<CommandOutput>& output,
            const std::vector<std::string>& arguments) const;

  const std::filesystem::path database_;
  const bool browser_present_;
  CommandRunner& runner_;
};

}  // namespace hedge::certs
