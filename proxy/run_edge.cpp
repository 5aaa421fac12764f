#include "proxy/run_edge.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
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
#include "proxy/process/descriptor_limit.h"
#include "proxy/process/edge_reload.h"
#include "proxy/process/matched_ports.h"
#include "proxy/process/service_manager.h"
#include "proxy/process/socket_activation.h"
#include "proxy/process/takeover.h"
#include "proxy/remembered_ports.h"
#include "proxy/stream/tls_context.h"
#include "router/sqlite_route_store.h"

namespace hedge::proxy {
namespace {

// Until the control thread listens to it, a SIGHUP (of a log's rotation) would end the process. Threads that
// are made meanwhile don't get it either.
class HangUpsHeld {
 public:
  HangUpsHeld() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }
  ~HangUpsHeld() { (void)pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr); }
  HangUpsHeld(const HangUpsHeld&) = delete;
  HangUpsHeld& operator=(const HangUpsHeld&) = delete;

 private:
  sigset_t signals_{};
};

// The intermediate's key and the tickets' keys are in this process's memory.
void forbid_core_dump() {
  constexpr rlimit kNone{0, 0};
  if (::setrlimit(RLIMIT_CORE, &kNone) != 0)
    log::warning("a crash of this process may write its keys to disk");
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

ControlOptions control_options(const RunEdgeOptions& options, AccessLog* access_log, EdgeReload& reload,
                               bool is_managed) {
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
  control.access_log = access_log;
  if (options.reload) {
    control.reload = [&reload] { return reload.run(); };
  }
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
  if (is_managed)
    control.takeover_refusal =
        "this edge belongs to a service manager, which keeps its ports open over a restart";
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

struct Ports {
  BoundAddresses bound;
  // So many at the end of `bound` came from the edge that is taken over and nobody asks for them any more.
  std::size_t unwanted = 0;
};

// Started through sudo, the ports are bound as root; everything else is done as the user, and root is given
// up for good.
// `activated`: opened by the service manager; the settings' addresses do not count then.
Result<Ports> open_ports(const ListenPlan& plan, std::vector<BoundAddress> activated,
                         std::vector<BoundAddress> handed_over) {
  Ports ports;
  if (!activated.empty()) {
    ports.bound.addresses = std::move(activated);
  } else {
    suit_kinds(plan, handed_over);
    const bool is_takeover = !handed_over.empty();
    MatchedPorts<BoundAddress> matched = match_ports(plan, std::move(handed_over));
    matched.missing.beside_own = is_takeover;
    const config::RootAgain root;
    Result<BoundAddresses> opened = open_listening_sockets(matched.missing);
    if (!opened) return std::move(opened).error();
    ports.bound = std::move(*opened);
    for (BoundAddress& kept : matched.kept) ports.bound.addresses.push_back(std::move(kept));
    ports.unwanted = matched.unwanted.size();
    for (BoundAddress& unwanted : matched.unwanted) ports.bound.addresses.push_back(std::move(unwanted));
  }
  if (Result<void> forgotten = config::forget_root(); !forgotten) return std::move(forgotten).error();
  return ports;
}

Result<std::optional<Takeover>> begin_takeover(const RunEdgeOptions& options, bool is_activated) {
  if (!options.take_over) return std::optional<Takeover>();
  if (is_activated) {
    return Error(ErrorKind::refused, "a service manager has opened the ports for this process")
        .with_id("takeover_refused")
        .with_hint("restart the service instead: it keeps the ports open");
  }
  const auto& edge = options.settings.edge;
  return Takeover::begin(
      router::find_control_socket(options.paths.state, edge.control.value_or(options.paths.control_socket())),
      options.paths.state);
}

Result<std::unique_ptr<ControlThread>> make_control(ControlOptions options,
                                                    std::optional<Takeover>& takeover) {
  if (!takeover) return ControlThread::create(std::move(options));
  EdgeClaim claim = takeover->take_claim(options.state_directory, options.control_socket);
  return ControlThread::create(std::move(options), std::move(claim), takeover->take_control());
}

// A process that was told to end ends, also where a bug keeps a connection from it.
void end_workers(EdgeServer& server, const EdgeLimits& limits) {
  constexpr std::chrono::seconds kPatience{5};
  if (server.join_within(limits.drain + kPatience)) return;
  log::error("bug: {} connections did not end with the drain; the process ends without them",
             server.facts().connections);
  std::_Exit(EXIT_FAILURE);
}

// From here on clients are accepted. A running edge is asked to stop accepting only now, when nothing slow is
// left to do.
Result<void> begin_serving(ControlThread& control, EdgeServer& server, std::optional<Takeover>& takeover,
                           std::size_t unwanted) {
  if (takeover) {
    if (Result<void> go = takeover->wait_for_go(); !go) return go;
    // Clients wait there, and nobody but this process accepts them.
    const std::vector<OpenAddress> open = server.addresses();
    for (std::size_t i = open.size() - unwanted; i < open.size(); ++i) server.remove_address(open[i].number);
  }
  control.start();
  server.start();
  if (!takeover) return {};
  if (takeover->confirm()) {
    control.own_socket();
    if (takeover->is_to_reload()) control.request_reload();
  } else {
    log::error("the edge that was to be taken over goes on; this one ends");
    control.request_stop();
  }
  takeover.reset();
  return {};
}

}  // namespace

Result<void> run_edge(RunEdgeOptions options, const Clock& clock) {
  // Before there are threads.
  std::optional<HangUpsHeld> hang_ups(std::in_place);
  Result<std::vector<BoundAddress>> activated = take_activated_sockets(options.environment);
  if (!activated) return std::move(activated).error();
  const bool is_activated = !activated->empty();
  raise_descriptor_limit();
  forbid_core_dump();
  const ServiceManager manager(options.environment);
  Result<std::optional<Takeover>> takeover = begin_takeover(options, is_activated);
  if (!takeover) return std::move(takeover).error();
  Result<std::unique_ptr<AccessLog>> access_log = open_access_log(options);
  if (!access_log) return std::move(access_log).error().with_context("open the access log");
  EdgeReload reload(options.reload, options.settings.edge, options.limits);
  if (is_activated) reload.keep_listeners();
  // This takes the state directory, so it comes before the ports.
  Result<std::unique_ptr<ControlThread>> control = make_control(
      control_options(options, access_log->get(), reload, manager.is_there() || is_activated), *takeover);
  if (!control) return std::move(control).error();
  Result<std::unique_ptr<certs::CertificateStore>> certificates = open_certificates(options, clock);
  if (!certificates) return std::move(certificates).error();
  Result<std::unique_ptr<TlsContext>> tls = TlsContext::create(**certificates);
  if (!tls) return std::move(tls).error();
  const ListenPlan plan =
      listen_plan(options.settings.edge, load_remembered_ports(options.paths.edge_settings()));
  Result<Ports> ports = open_ports(plan, std::move(*activated),
                                   *takeover ? (*takeover)->take_addresses() : std::vector<BoundAddress>());
  if (!ports) return std::move(ports).error();

  http::HttpServiceOptions service_options;
  service_options.access_log = access_log->get();
  service_options.trusted_proxies = options.settings.edge.trusted_proxies;
  http::HttpService service(service_options);
  const WorkerShared shared{nullptr, tls->get(), &(*control)->docker(), &service, nullptr};
  EdgeSettings settings = worker_settings(options.settings.edge, options.limits);
  settings.most_connections =
      most_connections(descriptor_limit(), plan.workers, ports->bound.addresses.size());
  Result<std::unique_ptr<EdgeServer>> server =
      EdgeServer::create(std::move(settings), shared, std::move(ports->bound.addresses), plan.workers);
  if (!server) return std::move(server).error();
  reload.set_server(**server);
  reload.set_on_listeners([&options, &server = **server] { remember_ports_of(server, options.paths); });

  // Publishes the first routes before anything is accepted.
  (*control)->prepare(**server, **server);
  if (Result<void> begun = begin_serving(**control, **server, *takeover, ports->unwanted); !begun)
    return begun;
  hang_ups.reset();
  remember_ports_of(**server, options.paths);
  announce(options, **server, ports->bound.notices);
  manager.ready();
  (*control)->wait_for_stop();
  manager.stopping();
  end_workers(**server, options.limits);
  // Before the server goes: the container engine posts its answers to the workers.
  (*control)->stop();
  return {};
}

}  // namespace hedge::proxy
