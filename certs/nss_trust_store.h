// One NSS database, which Chromium, its relatives and each profile of Firefox read, changed with NSS's own certutil.
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
// The user's databases: every one that exists, also that of Chromium as a snap; where there is none, the one that
// is to be made.
std::vector<std::filesystem::path> nss_databases(const NssPlaces& places);

enum class NssOwner { user, firefox };
enum class NssNeed { required, optional };

class NssTrustStore final : public TrustStore {
 public:
  // A database that exists is required; one that does not is, if a browser will make it (`need`).
  // Lifetime: `runner` outlives the store.
  NssTrustStore(std::filesystem::path database, NssNeed need, CommandRunner& runner,
                NssOwner owner = NssOwner::user);

  TrustFinding check(const TrustedRoot& root) override;
  TrustFinding install(const TrustedRoot& root) override;
  TrustFinding remove(std::string_view installation) override;
  std::vector<std::string> manual_steps(const TrustedRoot& root) const override;

 private:
  enum class Held { ours, other, nothing, unreadable };
  struct Slots;  // what stands under each of our nicknames

  TrustFinding finding() const;
  bool exists() const;
  std::vector<std::string> certutil(std::vector<std::string> arguments) const;
  Result<CommandOutput> run(std::vector<std::string> arguments);
  // What stands under `nickname`; the finding's fingerprint becomes that of what is found.
  Held look(const std::string& nickname, std::string_view wanted, TrustFinding& finding);
  // The same for all nicknames. Absent: `finding` tells why not.
  std::optional<Slots> look_at_all(const TrustedRoot& root, TrustFinding& finding);
  bool make_database(TrustFinding& finding);
  bool add(const std::string& nickname, const TrustedRoot& root, TrustFinding& finding);
  // Deletes every certificate of `nickname`. False: `finding` tells why not.
  bool clear(const std::string& nickname, TrustFinding& finding);
  void fail(TrustFinding& finding, const Result<CommandOutput>& output,
            const std::vector<std::string>& arguments) const;

  const std::filesystem::path database_;
  const NssNeed need_;
  const NssOwner owner_;
  CommandRunner& runner_;
};

}  // namespace hedge::certs
