// hedge ca rotate: a new root in the place of the old one, without a moment in which a client that trusted the old
// one meets a certificate that it does not trust. Killed or refused half-way, it goes on where it stood.
#include <chrono>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "certs/authority_profile.h"
#include "certs/authority_rotation.h"
#include "certs/certificate_store.h"
#include "certs/trust_bundle.h"
#include "cli/commands/commands.h"
#include "cli/edge_access.h"
#include "cli/trust_changes.h"

namespace hedge::cli {
namespace {

using certs::TrustedRoot;
using certs::TrustFinding;
using certs::TrustStatus;
using certs::TrustStore;

class CaRotateCommand final : public Command {
 public:
  CLI::App* declare(CLI::App& parent) override {
    return parent.add_subcommand(
        "rotate",
        "make a new root, trust it where the old one is trusted, move the edge over, untrust the old one");
  }

  Result<int> run(Services& services) override {
    if (auto paths = services.writable_paths(); !paths) return paths.error();
    const auto location = find_local_authority(services);
    if (!location) return location.error();
    const auto suffixes = configured_suffixes(services);
    if (!suffixes) return suffixes.error();
    const auto stage =
        certs::prepare_successor(*location, certs::authority_suffixes(*suffixes), services.clock());
    if (!stage) return stage.error();
    if (auto bundle = write_bundle(*location); !bundle) return bundle.error();
    if (*stage == certs::RotationStage::prepared) {
      auto findings = trust_successor(services, *location);
      if (!findings) return findings.error();
      if (!all_right(*findings)) return keep_old(services, *location, *findings);
      if (auto done = certs::switch_to_successor(*location, services.clock()); !done) return done.error();
      services.output().progress("the new root has taken the place of the old one");
    }
    wait_for_edge(services);
    return finish(services, *location);
  }

 private:
  static Result<void> write_bundle(const certs::AuthorityLocation& location) {
    if (auto bundle = certs::ensure_trust_bundle(location, certs::public_bundles()); !bundle)
      return bundle.error();
    return {};
  }

  // Where nothing trusted the old root, nothing has to trust the new one.
  static TrustFinding passed_over(TrustFinding before) {
    if (before.status == TrustStatus::failed || before.status == TrustStatus::skipped) return before;
    before.status = TrustStatus::skipped;
    before.required = false;
    before.error.clear();
    before.detail = "did not trust the root before";
    return before;
  }

  static Result<std::vector<TrustFinding>> trust_successor(Services& services,
                                                           const certs::AuthorityLocation& location) {
    const auto old = certs::load_trusted_root(location);
    if (!old) return old.error();
    auto next = certs::load_trusted_root(certs::successor_location(location));
    if (!next) return next.error();
    next->installation = old->installation;
    next->keeps_older = true;
    return change_each(services, std::nullopt, [&](TrustStore& store) {
      TrustFinding before = store.check(*old);
      // By what it holds and not by its status: a root that has ended is not valid any more, but it was trusted.
      return before.fingerprint.empty() ? passed_over(std::move(before)) : store.install(*next);
    });
  }

  static Result<int> keep_old(Services& services, const certs::AuthorityLocation& location,
                              const std::vector<TrustFinding>& findings) {
    const auto root = certs::load_root(location);
    if (!root) return root.error();
    services.output().warn(
        "the old root stays in use: not every store has the new one; run the commands, then `hedge ca "
        "rotate` again");
    return report_trust(services.output(), "ca rotate", findings, root_to_json(**root, location));
  }

  // A running edge looks for a new CA at most this often; from then on every handshake has it, and the old root can
  // go.
  static void wait_for_edge(Services& services) {
    if (const auto client = edge_client(services); !client || !client->fetch_status()) return;
    std::this_thread::sleep_for(certs::CertificateStoreOptions().reload_interval +
                                std::chrono::milliseconds(200));
  }

  static Result<int> finish(Services& services, const certs::AuthorityLocation& location) {
    const auto root = certs::load_trusted_root(location);
    if (!root) return root.error();
    const auto findings = change_each(services, std::nullopt, [&](TrustStore& store) {
      TrustFinding before = store.check(*root);
      return before.fingerprint.empty() ? passed_over(std::move(before)) : store.install(*root);
    });
    const auto certificate = certs::load_root(location);
    if (!certificate) return certificate.error();
    if (all_right(findings)) {
      if (auto ended = certs::end_rotation(location); !ended) return ended.error();
      if (auto bundle = write_bundle(location); !bundle) return bundle.error();
      services.output().progress(
          "programs that run since before keep the old root until they are started again");
    }
    return report_trust(services.output(), "ca rotate", findings, root_to_json(**certificate, location));
  }
};

}  // namespace

std::unique_ptr<Command> make_ca_rotate_command() {
  return std::make_unique<CaRotateCommand>();
}

}  // namespace hedge::cli
