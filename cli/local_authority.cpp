#include "cli/local_authority.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "certs/authority_profile.h"
#include "certs/certificate.h"
#include "certs/server_name.h"
#include "certs/trust_bundle.h"
#include "router/edge_settings.h"

namespace hedge::cli {
namespace {

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

Tone tone_of(const certs::TrustFinding& finding) {
  if (certs::is_right(finding)) return finding.status == certs::TrustStatus::skipped ? Tone::dim : Tone::good;
  return finding.required ? Tone::bad : Tone::warning;
}

void say_change(Output& output, certs::AuthorityChange change, const certs::Authority& authority) {
  if (change == certs::AuthorityChange::created) {
    output.progress("made the local CA \"" + certs::common_name(*authority.root) + "\"");
  } else if (change == certs::AuthorityChange::intermediate_renewed) {
    output.progress("renewed the intermediate of \"" + certs::common_name(*authority.root) + "\"");
  }
}

}  // namespace

Result<std::vector<std::string>> configured_suffixes(Services& services) {
  const auto paths = services.paths();
  if (!paths) return paths.error();
  auto settings = router::load_edge_settings(paths->config);
  if (settings) return std::move(settings->edge.suffixes);
  if (settings.error().kind() == ErrorKind::not_found) return std::vector<std::string>();
  return settings.error();
}

Result<certs::AuthorityLocation> find_local_authority(Services& services) {
  const auto paths = services.paths();
  if (!paths) return paths.error();
  return certs::authority_location(*paths);
}

Result<certs::Authority> ensure_local_authority(Services& services) {
  const auto paths = services.writable_paths();
  if (!paths) return paths.error();
  const auto suffixes = configured_suffixes(services);
  if (!suffixes) return suffixes.error();
  return ensure_authority_of(*paths, *suffixes, services);
}

Result<certs::Authority> ensure_authority_of(const config::Paths& paths,
                                             const std::vector<std::string>& suffixes, Services& services) {
  auto ensured = certs::ensure_authority(certs::authority_location(paths),
                                         certs::authority_suffixes(suffixes), services.clock());
  if (!ensured) return ensured.error();
  say_change(services.output(), ensured->change, ensured->authority);
  if (ensured->change == certs::AuthorityChange::created) {
    // What was made for a CA that is gone would be trusted by programs in worktrees.
    const auto bundle = certs::ensure_trust_bundle(certs::authority_location(paths), certs::public_bundles());
    if (!bundle) services.output().warn("programs do not trust the new CA yet: " + bundle.error().to_string());
  }
  return std::move(ensured->authority);
}

std::vector<Warning> warnings_about(const certs::Authority& authority,
                                    const std::vector<std::string>& suffixes, WallTime now) {
  std::vector<Warning> warnings;
  const WallTime root_ends = certs::not_after(*authority.root);
  if (root_ends - now < certs::kRenewalMargin) {
    warnings.push_back({"ca_ending", "the root ends at " + format_utc(root_ends), "hedge ca rotate"});
  }
  const WallTime intermediate_ends = certs::not_after(*authority.intermediate.certificate);
  if (intermediate_ends - now < certs::kRenewalMargin && intermediate_ends < root_ends) {
    warnings.push_back(
        {"ca_ending", "the intermediate ends at " + format_utc(intermediate_ends), "hedge ca init"});
  }
  const auto permitted = certs::permitted_suffixes(*authority.root);
  for (const std::string& suffix : suffixes) {
    if (certs::is_at_or_below_any(suffix, permitted)) continue;
    warnings.push_back({"ca_suffix_missing",
                        "the root may not sign for \"" + suffix + "\", which the settings name",
                        "hedge ca rotate"});
  }
  return warnings;
}

std::vector<Warning> warnings_about_host(const std::string& host, Services& services) {
  const auto location = find_local_authority(services);
  if (!location) return {};
  const auto root = certs::load_root(*location);
  if (!root) return {};
  const auto permitted = certs::permitted_suffixes(**root);
  if (permitted.empty() || certs::is_at_or_below_any(host, permitted)) return {};
  return {{"ca_suffix_missing",
           "no TLS for " + host +
               ": the CA may not sign for it; add its domain to the settings' suffixes, then replace the CA",
           "hedge ca rotate"}};
}

nlohmann::json root_to_json(const X509& root, const certs::AuthorityLocation& location) {
  return {{"name", certs::common_name(root)},
          {"fingerprint", certs::fingerprint(root)},
          {"not_before", format_utc(certs::not_before(root))},
          {"not_after", format_utc(certs::not_after(root))},
          {"permitted_suffixes", certs::permitted_suffixes(root)},
          {"file", location.root_certificate().string()}};
}

nlohmann::json finding_to_json(const certs::TrustFinding& finding) {
  return {{"store", finding.store},
          {"place", text_or_null(finding.place)},
          {"required", finding.required},
          {"status", certs::to_string(finding.status)},
          {"error", text_or_null(finding.error)},
          {"detail", text_or_null(finding.detail)},
          {"command", text_or_null(finding.command)},
          {"fingerprint", text_or_null(finding.fingerprint)}};
}

nlohmann::json warnings_to_json(const std::vector<Warning>& warnings) {
  nlohmann::json list = nlohmann::json::array();
  for (const Warning& warning : warnings) {
    list.push_back({{"id", warning.id},
                    {"text", warning.text},
                    {"remediation", {{"text", warning.text}, {"command", text_or_null(warning.command)}}}});
  }
  return list;
}

void print_findings(Output& output, const std::vector<certs::TrustFinding>& findings) {
  for (const certs::TrustFinding& finding : findings) {
    std::string line =
        finding.store + "  " + output.paint(tone_of(finding), certs::to_string(finding.status));
    if (!finding.place.empty()) line += "  " + output.paint(Tone::dim, finding.place);
    output.line(line);
    if (!finding.detail.empty()) output.line("  " + finding.detail);
    if (!finding.command.empty()) output.line("  run: " + finding.command);
  }
}

}  // namespace hedge::cli
