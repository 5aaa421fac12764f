// Stores that this program cannot change from here: it tells what to run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/trust_store.h"

namespace hedge::certs {

class PrintedTrustStore : public TrustStore {
 public:
  TrustFinding check(const TrustedRoot& root) override;
  TrustFinding install(const TrustedRoot& root) override;
  TrustFinding remove(std::string_view installation) override;
  std::vector<std::string> manual_steps(const TrustedRoot& root) const override;

 protected:
  virtual std::string name() const = 0;
  virtual std::string reason() const = 0;
  virtual std::string install_step(const TrustedRoot& root) const = 0;
  virtual std::string remove_step(std::string_view installation) const = 0;

 private:
  TrustFinding finding() const;
};

// The store of the Windows that this Linux runs under (WSL): its browsers read it. Null: there is none.
std::unique_ptr<TrustStore> make_windows_store(const Environment& environment);
// The keychain of macOS. Null on every other system.
std::unique_ptr<TrustStore> make_keychain_store();

}  // namespace hedge::certs
