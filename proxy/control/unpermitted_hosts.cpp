#include "proxy/control/unpermitted_hosts.h"

#include "certs/certificate.h"
#include "certs/certificate_authority.h"
#include "certs/server_name.h"

namespace hedge::proxy {
namespace {

constexpr std::size_t kMostNamed = 5;

}  // namespace

std::vector<std::string> warn_of_unpermitted_hosts(const std::filesystem::path& ca_directory,
                                                   const router::RouteTable& table) {
  const auto issuer = certs::load_issuer(ca_directory);
  if (!issuer) return {};
  const std::vector<std::string> permitted = certs::permitted_suffixes(*issuer->certificate);
  if (permitted.empty()) return {};
  std::string named;
  std::size_t found = 0;
  for (const router::Route& route : table.routes()) {
    if (certs::is_at_or_below_any(route.host, permitted)) continue;
    if (++found <= kMostNamed) named += (found == 1 ? "" : ", ") + route.host;
  }
  if (found == 0) return {};
  if (found > kMostNamed) named += " and " + std::to_string(found - kMostNamed) + " more";
  return {"no TLS for " + named +
          ": the CA may not sign for names outside its suffixes (`hedge explain ca_suffix_missing`)"};
}

}  // namespace hedge::proxy
