// The store of one Java installation, which Java's own TLS reads instead of the system's, changed with its keytool.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/subprocess.h"
#include "certs/certificate_origin.h"
#include "certs/store_change.h"
#include "certs/trust_store.h"

namespace hedge::certs {

struct JavaInstallation {
  std::filesystem::path keytool;
  std::filesystem::path cacerts;  // without symbolic links: several installations may share one
  // Nobody but root can have put them there, so root may run the one to change the other.
  bool is_the_systems = false;
};
// $JAVA_HOME and the `java` of PATH, those that share a store once.
std::vector<JavaInstallation> java_installations(const Environment& environment);

class JavaTrustStore final : public TrustStore {
 public:
  // Lifetime: `runner` outlives the store.
  JavaTrustStore(JavaInstallation java, const Environment& environment, CommandRunner& runner);

  TrustFinding check(const TrustedRoot& root) override;
  TrustFinding install(const TrustedRoot& root) override;
  TrustFinding remove(std::string_view installation) override;
  std::vector<std::string> manual_steps(const TrustedRoot& root) const override;

 private:
  TrustFinding finding() const;
  std::vector<std::string> keytool(std::vector<std::string> arguments) const;
  struct Held {
    OwnCertificates own;
    std::string listing;  // what keytool printed
  };
  // False: the store cannot be read; `finding` tells why.
  bool look(std::string_view installation, std::string_view wanted, Held& held, TrustFinding& finding);
  std::vector<std::string> add_command(const TrustedRoot& root) const;
  // For every older root.
  StoreCommands delete_commands(std::string_view installation, const Held& held) const;
  bool change(const StoreCommands& commands, TrustFinding& finding);

  const JavaInstallation java_;
  Environment environment_;
  CommandRunner& runner_;
};

}  // namespace hedge::certs
