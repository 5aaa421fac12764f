#include "certs/printed_trust_store.h"

namespace hedge::certs {
namespace {

class WindowsTrustStore final : public PrintedTrustStore {
 protected:
  std::string name() const override { return "windows"; }
  std::string reason() const override { return "Windows and its browsers have a store of their own"; }
  std::string install_step(const TrustedRoot& root) const override {
    return "certutil.exe -user -addstore Root \"$(wslpath -w " + shell_line({root.file.string()}) + ")\"";
  }
  std::string remove_step(std::string_view installation) const override {
    return "powershell.exe -NoProfile -Command " +
           shell_line({R"(Get-ChildItem Cert:\CurrentUser\Root | Where-Object Subject -match 'OU=)" +
                       std::string(installation) + "' | Remove-Item"});
  }
};

#ifdef __APPLE__
class KeychainTrustStore final : public PrintedTrustStore {
 protected:
  std::string name() const override { return "keychain"; }
  std::string reason() const override { return "macOS asks its user before it trusts a root"; }
  std::string install_step(const TrustedRoot& root) const override {
    return "sudo " + shell_line({"security", "add-trusted-cert", "-d", "-r", "trustRoot", "-k",
                                 "/Library/Keychains/System.keychain", root.file.string()});
  }
  std::string remove_step(std::string_view /*installation*/) const override {
    return "sudo security delete-certificate -c 'Hedge local CA' /Library/Keychains/System.keychain";
  }
};
#endif

}  // namespace

TrustFinding PrintedTrustStore::finding() const {
  TrustFinding finding;
  finding.store = name();
  finding.required = false;
  finding.status = TrustStatus::skipped;
  finding.detail = reason() + "; it is changed by hand";
  return finding;
}

TrustFinding PrintedTrustStore::check(const TrustedRoot& root) {
  return install(root);
}

TrustFinding PrintedTrustStore::install(const TrustedRoot& root) {
  TrustFinding result = finding();
  result.command = install_step(root);
  return result;
}

TrustFinding PrintedTrustStore::remove(std::string_view installation) {
  TrustFinding result = finding();
  result.command = remove_step(installation);
  return result;
}

std::vector<std::string> PrintedTrustStore::manual_steps(const TrustedRoot& root) const {
  return {install_step(root)};
}

std::unique_ptr<TrustStore> make_windows_store(const Environment& environment) {
  const auto found = environment.find("WSL_DISTRO_NAME");
  if (found == environment.end() || found->second.empty()) return nullptr;
  return std::make_unique<WindowsTrustStore>();
}

std::unique_ptr<TrustStore> make_keychain_store() {
#ifdef __APPLE__
  return std::make_unique<KeychainTrustStore>();
#else
  return nullptr;
#endif
}

}  // namespace hedge::certs
