// Every trust store of this machine and user, in the order in which they are reported.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/trust_store.h"

namespace hedge::certs {

enum class StoreSelection { all, system, nss };

// `environment` tells the home, the data directory and the PATH in which browsers are looked for.
// Lifetime: `runner` outlives the stores.
std::vector<std::unique_ptr<TrustStore>> find_trust_stores(const Environment& environment,
                                                           StoreSelection selection, CommandRunner& runner);

// Stands for a store that this machine does not have, so that nothing is passed over in silence.
class AbsentTrustStore final : public TrustStore {
 public:
  AbsentTrustStore(std::string store, std::string detail, std::string command);
  TrustFinding check(const TrustedRoot& root) override;
  TrustFinding install(const TrustedRoot& root) override;
  TrustFinding remove(std::string_view installation) override;
  std::vector<std::string> manual_steps(const TrustedRoot& root) const override;

 private:
  TrustFinding finding_;
};

}  // namespace hedge::certs
