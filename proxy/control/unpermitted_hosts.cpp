#include "proxy/control/unpermitted_hosts.h"

#include <algorithm>
#include <string_view>

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
  std::vector<std::string_view> hosts;
  table.for_each([&](const router::Route& route) {
    if (!certs::is_at_or_below_any(route.host, permitted)) hosts.push_back(route.host);
    return true;
  });
  if (hosts.empty()) return {};
  const std::size_t found = hosts.size();
  std::sort(hosts.begin(), hosts.end());
  std::string named;
  for (std::size_t i = 0; i < std::min(found, kMostNamed); ++i)
    named += (i == 0 ? "" : ", ") + std::string(hosts[i]);
  if (found > kMostNamed) named += " and " + std::to_string(found - kMostNamed) + " more";
  return {"no TLS for " + named +
          ": the CA may not sign for names outside its suffixes (`hedge explain ca_suffix_missing`)"};
}

}  // namespace hedge::proxy
