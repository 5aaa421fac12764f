#include "proxy/upstream/resolver.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/text.h"

namespace hedge::proxy {
namespace {

ResolvedUpstreamPtr resolved(std::string identity, std::vector<Endpoint> endpoints, std::string description) {
  auto upstream = std::make_shared<ResolvedUpstream>();
  upstream->identity = std::move(identity);
  upstream->endpoints = std::move(endpoints);
  upstream->description = std::move(description);
  return upstream;
}

UpstreamAnswer fixed_address(std::optional<Endpoint> endpoint, const std::string& written) {
  if (!endpoint) {
    return ProxyError{ProxyReason::upstream_unresolved, written + " is not an address",
                      "correct the route's upstream"};
  }
  const std::string text = endpoint->to_string();
  return resolved(text, {*endpoint}, text);
}

Resolution failed(ProxyReason reason, std::string detail, std::string fix, bool is_silence) {
  return {ProxyError{reason, std::move(detail), std::move(fix)}, 0, is_silence};
}

Resolution from_dns(const router::DnsUpstream& upstream, const DnsAnswer& found) {
  const std::string written = upstream.name + ":" + std::to_string(upstream.port);
  if (found.status == DnsStatus::no_answer) {
    return failed(ProxyReason::upstream_unresolved,
                  "nobody says what " + upstream.name + " is: " + found.reason,
                  "check the name servers (edge.dns_servers, or those of the system)", true);
  }
  if (found.status == DnsStatus::not_found) {
    return failed(ProxyReason::upstream_unresolved,
                  "the name " + upstream.name + " has no address: " + found.reason,
                  "start what the route points at, or remove the route with `hedge route rm`", false);
  }
  std::vector<Endpoint> endpoints;
  std::vector<std::string> texts;
  for (const std::string& address : found.addresses) {
    const std::optional<Endpoint> endpoint = Endpoint::from_ip(address, upstream.port);
    if (!endpoint) continue;
    endpoints.push_back(*endpoint);
    texts.push_back(endpoint->to_string());
  }
  std::string description = written + " (" + join(texts, ",") + ")";
  // Servers rotate the order from answer to answer; the addresses, and so the connections, are the same.
  std::sort(texts.begin(), texts.end());
  return {resolved(join(texts, ","), std::move(endpoints), std::move(description)), 0, false};
}

Resolution from_source(UpstreamAnswer answer) {
  const auto* error = std::get_if<ProxyError>(&answer);
  const bool silence = error != nullptr && (error->reason == ProxyReason::engine_not_running ||
                                            error->reason == ProxyReason::engine_unresponsive);
  return {std::move(answer), 0, silence};
}

Resolution gave_up(const std::string& key) {
  if (key.starts_with("docker:")) {
    return failed(ProxyReason::engine_unresponsive,
                  "the container engine says nothing about " + key + " within the limit",
                  "see whether `docker ps` answers", true);
  }
  return failed(ProxyReason::upstream_unresolved, "no name server answers about " + key + " within the limit",
                "check the name servers (edge.dns_servers, or those of the system)", true);
}

}  // namespace

Resolver::Resolver(Reactor& reactor, const EdgeSettings& settings, UpstreamSource* docker, WorkerStats& stats)
    : reactor_(reactor), settings_(settings), docker_(docker), stats_(stats) {}

Resolver::~Resolver() = default;

Task<Resolution> Resolver::resolve(const router::Upstream& upstream) {
  if (const auto* tcp = std::get_if<router::TcpUpstream>(&upstream)) {
    Resolution fixed{fixed_address(Endpoint::from_ip(tcp->ip, tcp->port), tcp->ip), Deadline::kNever, false};
    co_return fixed;
  }
  if (const auto* local = std::get_if<router::UnixUpstream>(&upstream)) {
    Resolution fixed{fixed_address(Endpoint::from_unix_path(local->path), local->path), Deadline::kNever,
                     false};
    co_return fixed;
  }
  co_return co_await ask(router::to_string(upstream), upstream);
}

Task<Resolution> Resolver::ask(std::string key, router::Upstream upstream) {
  std::unique_ptr<Entry>& slot = entries_[key];
  if (slot == nullptr) slot = std::make_unique<Entry>(reactor_);
  Entry& entry = *slot;
  if (entry.query == 0 && reactor_.now() >= entry.last.fresh_until) {
    const std::uint64_t query = next_query_++;
    entry.query = query;
    stats_.resolves.add();
    start_query(key, upstream, query);  // may have the answer when it returns
  }
  if (entry.query != 0) {
    const std::uint64_t query = entry.query;
    ++entry.waiting;
    const bool answered = co_await entry.answered.wait(settings_.limits.resolve);
    --entry.waiting;
    // A source that says nothing within the limit has answered with that; everybody who waits is told.
    if (!answered && entry.query == query) finish(key, query, gave_up(key));
  }
  co_return entry.last;
}

void Resolver::start_query(const std::string& key, const router::Upstream& upstream, std::uint64_t query) {
  if (const auto* dns = std::get_if<router::DnsUpstream>(&upstream)) {
    start_dns(key, *dns, query);
  } else if (const auto* docker = std::get_if<router::DockerUpstream>(&upstream)) {
    start_docker(key, *docker, query);
  }
}

void Resolver::start_dns(const std::string& key, const router::DnsUpstream& upstream, std::uint64_t query) {
  if (ares_ == nullptr) {
    Result<std::unique_ptr<AresChannel>> channel = AresChannel::create(reactor_, settings_.name_servers);
    if (!channel) {
      finish(key, query, failed(ProxyReason::upstream_unresolved, channel.error().to_string(), {}, true));
      return;
    }
    ares_ = std::move(channel).value();
  }
  ares_->find_addresses(upstream.name, settings_.limits.resolve,
                        [this, key, upstream, query](const DnsAnswer& found) {
                          finish(key, query, from_dns(upstream, found));
                        });
}

void Resolver::start_docker(const std::string& key, const router::DockerUpstream& upstream,
                            std::uint64_t query) {
  if (docker_ == nullptr) {
    finish(key, query,
           failed(ProxyReason::engine_not_installed, "no container engine is configured",
                  "set edge.docker_host", false));
    return;
  }
  // The reply comes from another thread; messages run only while the worker, and so this resolver, lives.
  docker_->resolve(upstream, [this, &reactor = reactor_, key, query](UpstreamAnswer answer) {
    reactor.post([this, key, query, answer = std::move(answer)] { finish(key, query, from_source(answer)); });
  });
}

void Resolver::finish(const std::string& key, std::uint64_t query, Resolution resolution) {
  const auto found = entries_.find(key);
  // A late answer to a question that was given up, or asked anew since.
  if (found == entries_.end() || found->second->query != query) return;
  Entry& entry = *found->second;
  entry.query = 0;
  const bool good = std::holds_alternative<ResolvedUpstreamPtr>(resolution.answer);
  const auto lives = good ? settings_.limits.resolve_ttl : settings_.limits.resolve_failure_ttl;
  entry.last = std::move(resolution);
  entry.last.fresh_until = reactor_.now() + lives.count();
  entry.answered.notify_all();
}

void Resolver::forget(const router::Upstream& upstream) {
  const auto found = entries_.find(router::to_string(upstream));
  if (found != entries_.end()) found->second->last.fresh_until = 0;
}

void Resolver::forget_docker_answers() {
  for (const auto& [key, entry] : entries_) {
    if (key.starts_with("docker:")) entry->last.fresh_until = 0;
  }
}

void Resolver::sweep() {
  const Millis now = reactor_.now();
  std::erase_if(entries_, [now](const auto& item) {
    const Entry& entry = *item.second;
    return entry.query == 0 && entry.waiting == 0 && entry.last.fresh_until <= now;
  });
}

}  // namespace hedge::proxy
