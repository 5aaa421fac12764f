#include "proxy/process/edge_reload.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/text.h"
#include "proxy/process/matched_ports.h"

namespace hedge::proxy {
namespace {

std::size_t worker_count(const config::EdgeConfig& edge) {
  return edge.workers ? *edge.workers : std::clamp(std::thread::hardware_concurrency(), 1U, 64U);
}

}  // namespace

EdgeSettings worker_settings(const config::EdgeConfig& edge, const EdgeLimits& limits) {
  EdgeSettings settings;
  settings.limits = limits;
  settings.limits.resolve_ttl = edge.resolve_ttl;
  settings.limits.connect = edge.connect_timeout;
  for (const config::SocketAddress& server : edge.dns_servers)
    settings.name_servers.push_back({server.ip, server.port});
  settings.upstream_verify = edge.upstream_verify;
  if (edge.upstream_ca) settings.upstream_ca = edge.upstream_ca->string();
  settings.narrow_cookies = edge.cookies == config::CookieMode::narrow;
  return settings;
}

ListenPlan listen_plan(const config::EdgeConfig& edge, const RememberedPorts& remembered) {
  ListenPlan plan;
  plan.plain_ports.remembered = remembered.plain;
  plan.tls_ports.remembered = remembered.tls;
  plan.plain = edge.http;
  plan.tls = edge.https;
  // A file that gives only one kind listens on that alone.
  if (edge.http && !edge.https) plan.tls.emplace();
  if (edge.https && !edge.http) plan.plain.emplace();
  plan.workers = worker_count(edge);
  return plan;
}

std::vector<std::string> settings_for_a_new_process(const config::EdgeConfig& in_use,
                                                    const config::EdgeConfig& wanted) {
  std::vector<std::string> names;
  const auto compare = [&names](const char* name, bool is_same) {
    if (!is_same) names.emplace_back(name);
  };
  compare("workers", in_use.workers == wanted.workers);
  compare("certificate", in_use.certificate == wanted.certificate);
  compare("private_key", in_use.private_key == wanted.private_key);
  compare("access_log",
          in_use.access_log == wanted.access_log && in_use.access_log_off == wanted.access_log_off);
  compare("dns_servers", in_use.dns_servers == wanted.dns_servers);
  compare("trusted_proxies", in_use.trusted_proxies == wanted.trusted_proxies);
  compare("suffixes", in_use.suffixes == wanted.suffixes);
  compare("docker_host", in_use.docker_host == wanted.docker_host);
  compare("upstream_verify", in_use.upstream_verify == wanted.upstream_verify);
  compare("upstream_ca", in_use.upstream_ca == wanted.upstream_ca);
  compare("network", in_use.network == wanted.network);
  return names;
}

std::vector<std::string> settings_for_another_edge(const config::EdgeConfig& in_use,
                                                   const config::EdgeConfig& wanted) {
  std::vector<std::string> names;
  if (in_use.state_dir != wanted.state_dir) names.emplace_back("state_dir");
  if (in_use.control != wanted.control) names.emplace_back("control");
  return names;
}

EdgeReload::EdgeReload(Read read, config::EdgeConfig in_use, EdgeLimits limits)
    : read_(std::move(read)), started_with_(std::move(in_use)), limits_(limits) {}

Result<EdgeReload::Changes> EdgeReload::open_changes(const ListenPlan& plan) const {
  if (has_fixed_listeners_) return Changes();
  MatchedPorts<OpenAddress> ports = match_ports(plan, server_->addresses());
  ports.missing.beside_own = true;
  Result<BoundAddresses> opened = open_listening_sockets(ports.missing);
  if (!opened) return std::move(opened).error();
  Changes changes;
  changes.added = std::move(opened->addresses);
  changes.notices = std::move(opened->notices);
  for (const OpenAddress& open : ports.unwanted) changes.removed.push_back(open.number);
  return changes;
}

Result<ReloadedSettings> EdgeReload::run() {
  Result<router::EdgeSettings> settings = read_();
  if (!settings) return std::move(settings).error();
  Result<Changes> changes = open_changes(listen_plan(settings->edge));
  if (!changes) return std::move(changes).error();
  const bool listeners_change = !changes->added.empty() || !changes->removed.empty();
  if (Result<void> added = server_->add_addresses(std::move(changes->added)); !added)
    return std::move(added).error();
  for (const std::uint32_t number : changes->removed) server_->remove_address(number);
  server_->change_settings(worker_settings(settings->edge, limits_));
  if (listeners_change && on_listeners_) on_listeners_();

  ReloadedSettings reloaded;
  reloaded.routes = std::move(settings->routes);
  reloaded.notes = std::move(changes->notices);
  const std::vector<std::string> later = settings_for_a_new_process(started_with_, settings->edge);
  if (!later.empty()) {
    reloaded.notes.push_back(
        "changed settings that only a new process takes up (hedge edge start --takeover): " +
        join(later, ", "));
  }
  const std::vector<std::string> another = settings_for_another_edge(started_with_, settings->edge);
  if (!another.empty()) {
    reloaded.notes.push_back(
        "changed settings that no running edge takes up (hedge edge stop && hedge edge start): " +
        join(another, ", "));
  }
  return reloaded;
}

}  // namespace hedge::proxy
