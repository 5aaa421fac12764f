// Every trust store of this machine and user, in the order in which they are reported.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/trust_store.h"

namespace hedge::certs {

enum class StoreKind { system, nss, firefox, java, other };
inline constexpr std::array kStoreKinds{StoreKind::system, StoreKind::nss, StoreKind::firefox,
                                        StoreKind::java, StoreKind::other};

// The stores of one kind. What this machine has of it but cannot be changed is among them, with the step to take by
// hand; a kind that nothing here reads has none. `environment` tells the home, the data directory, JAVA_HOME and the
// PATH in which browsers and Java are looked for. Lifetime: `runner` outlives the stores.
std::vector<std::unique_ptr<TrustStore>> find_trust_stores(const Environment& environment, StoreKind kind,
                                                           CommandRunner& runner);
// Of all kinds.
std::vector<std::unique_ptr<TrustStore>> find_trust_stores(const Environment& environment,
                                                           CommandRunner& runner);

// Whether root changes the stores of this kind although the caller is a user who came through sudo.
bool is_the_systems(const Environment& environment, StoreKind kind);

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
