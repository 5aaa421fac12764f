#include "proxy/run_edge.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include <sys/resource.h>

#include "base/file.h"
#include "base/log.h"
#include "certs/certificate_store.h"
#include "config/invoking_user.h"
#include "proxy/access_log.h"
#include "proxy/control/control_thread.h"
#include "proxy/control/unpermitted_hosts.h"
#include "proxy/edge_server.h"
#include "proxy/http/http_service.h"
#include "proxy/listening_sockets.h"
#include "proxy/remembered_ports.h"
#include "proxy/stream/tls_context.h"
#include "router/sqlite_route_store.h"

namespace hedge::proxy {
namespace {

// Connections cost descriptors; the soft limit of 1024 is for programs that use select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) log::debug("the limit of open files stays as it is");
}

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

std::size_t worker_count(const config::EdgeConfig& edge) {
  return edge.workers ? *edge.workers : std::clamp(std::thread::hardware_concurrency(), 1U, 64U);
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

Result<std::unique_ptr<AccessLog>> open_access_log(const RunEdgeOptions& options) {
  const config::EdgeConfig& edge = options.settings.edge;
  if (edge.access_log_off) return std::unique_ptr<AccessLog>();
  if (edge.access_log && *edge.access_log == "-") return AccessLog::open_descriptor(options.standard_output);
  const std::filesystem::path path = edge.access_log.value_or(options.paths.logs_directory() / "access.log");
  if (Result<void> made = ensure_directory(path.parent_path(), 0700); !made) return std::move(made).error();
  return AccessLog::open(path);
}

Result<std::unique_ptr<certs::CertificateStore>> open_certificates(const RunEdgeOptions& options,
                                                                   const Clock& clock) {
  const config::EdgeConfig& edge = options.settings.edge;
  certs::CertificateStoreOptions store;
  store.ca_directory = options.paths.ca_directory();
  store.suffixes = edge.suffixes;
  if (edge.certificate && edge.private_key) {
    store.given = certs::GivenCertificate{*edge.certificate, *edge.private_key};
  }
  return certs::CertificateStore::open(std::move(store), clock);
}

ControlOptions control_options(const RunEdgeOptions& options, AccessLog* access_log) {
  ControlOptions control;
  control.state_directory = options.paths.state;
  control.control_socket = options.settings.edge.control.value_or(options.paths.control_socket());
  control.open_store =
      [database = options.paths.routes_database()]() -> Result<std::unique_ptr<router::RouteStore>> {
    Result<std::unique_ptr<router::SqliteRouteStore>> store = 
        router::SqliteRouteStore::open(database, kStoreBusyLimit);
    if (!store) return std::move(store).error();
    return std::unique_ptr<router::RouteStore>(std::move(store).value());
  };
  control.static_routes = options.settings.routes;
  control.reload_static_routes = [reload = options.reload,
                                  access_log]() -> Result<std::vector<router::Route>> {
    if (access_log != nullptr) access_log->reopen();
    Result<router::EdgeSettings> settings = reload();
    if (!settings) return std::move(settings).error();
    return std::move(settings->routes);
  };
  if (!options.reload) control.reload_static_routes = nullptr;
  if (!options.settings.edge.certificate) {
    control.more_warnings = [ca = options.paths.ca_directory()](const router::RouteTable& table) {
      return warn_of_unpermitted_hosts(ca, table);
    };
  }
  control.docker_host = options.settings.edge.docker_host;
  if (!control.docker_host && !options.docker_host.empty()) {
    control.docker_host = options.docker_host;
    control.is_docker_tls = options.is_docker_tls;
  }
  control.docker_network = options.settings.edge.network;
  return control;
}

void remember_ports_of(const EdgeServer& server, const config::Paths& paths) {
  const Result<void> written = remember_ports(
      paths.edge_settings(), {server.port(ListenerKind::plain), server.port(ListenerKind::tls)});
  if (!written) log::warning("the ports cannot be remembered: {}", written.error().to_string());
}

void announce(const RunEdgeOptions& options, const EdgeServer& server,
              const std::vector<std::string>& notices) {
  if (!options.announce) return;
  for (const router::EdgeListener& listener : server.facts().listeners) {
    options.announce(listener.scheme + "://" + config::to_string({listener.address, listener.port}));
  }
  for (const std::string& notice : notices) options.announce(notice);
}

// Started through sudo, the ports are bound as root; everything else is done as the user, and root is given
// up for good.
Result<BoundAddresses> open_ports(const ListenPlan& plan) {
  Result<BoundAddresses> bound = [&plan] {
    const config::RootAgain root;
    return open_listening_sockets(plan);
  }();
  if (Result<void> forgotten = config::forget_root(); !forgotten) return std::move(forgotten).error();
  return bound;
}

// A process that was told to end ends, also where a bug keeps a connection from it.
void end_workers(EdgeServer& server, const EdgeLimits& limits) {
  constexpr std::chrono::seconds kPatience{5};
  if (server.join_within(limits.drain + kPatience)) return;
  log::error("bug: {} connections did not end with the drain; the process ends without them",
             server.facts().connections);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace

Result<void> run_edge(RunEdgeOptions options, const Clock& clock) {
  raise_descriptor_limit();
  Result<std::unique_ptr<AccessLog>> access_log = open_access_log(options);
  if (!access_log) return std::move(access_log).error().with_context("open the access log");
  // This takes the state directory, so it comes before the ports.
  Result<std::unique_ptr<ControlThread>> control =
      ControlThread::create(control_options(options, access_log->get()));
  if (!control) return std::move(control).error();
  Result<std::unique_ptr<certs::CertificateStore>> certificates = open_certificates(options, clock);
  if (!certificates) return std::move(certificates).error();
  Result<std::unique_ptr<TlsContext>> tls = TlsContext::create(**certificates);
  if (!tls) return std::move(tls).error();
  const ListenPlan plan = 
      listen_plan(options.settings.edge, load_remembered_ports(options.paths.edge_settings()));
  Result<BoundAddresses> bound = open_ports(plan);
  if (!bound) return std::move(bound).error();

  http::HttpServiceOptions service_options;
  service_options.access_log = access_log->get();
  service_options.trusted_proxies = options.settings.edge.trusted_proxies;
  http::HttpService service(service_options);
  WorkerShared shared;
  shared.tls = tls->get();
  shared.docker = &(*control)->docker();
  shared.service = &service;
  Result<std::unique_ptr<EdgeServer>> server =
      EdgeServer::create(worker_settings(options.settings.edge, options.limits), shared,
                         std::move(bound->addresses), plan.workers);
  if (!server) return std::move(server).error();

  (*control)->start(**server, **server);  // publishes the first routes before anything is accepted
  (*server)->start();
  remember_ports_of(**server, options.paths);
  announce(options, **server, bound->notices);
  (*control)->wait_for_stop();
  end_workers(**server, options.limits);
  // Before the server goes: the container engine posts its answers to the workers.
  (*control)->stop();
  return {};
}

}  // namespace hedge::proxy
