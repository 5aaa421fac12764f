#include "certs/certificate_store.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "base/text.h"
#include "certs/certificate.h"
#include "certs/given_certificate.h"
#include "certs/issuer_source.h"
#include "certs/leaf_cache.h"
#include "certs/leaf_profile.h"
#include "certs/server_name.h"

namespace hedge::certs {
namespace {

using Shared = std::shared_ptr<const ServerCertificate>;

constexpr auto kFlightLimit = std::chrono::seconds(1);
constexpr double kOtherBurst = 100;

Error unrecognized(std::string_view name) {
  return Error(ErrorKind::not_found, "no certificate for \"" + printable(name) + "\"")
      .with_id("name_unrecognized");
}

Result<Shared> mint(const LeafNames& names, const Issuer& issuer, WallTime now) {
  auto leaf = mint_leaf(names, issuer, now);
  if (!leaf) return leaf.error();
  auto made = std::make_shared<ServerCertificate>();
  made->not_before = not_before(*leaf->certificate);
  made->not_after = not_after(*leaf->certificate);
  // A leaf that its issuer's end cut short gets no longer by being made again: it serves to its end.
  const bool cut = made->not_after >= not_after(*issuer.certificate);
  made->renew_after = cut ? made->not_after : made->not_after - (made->not_after - made->not_before) / 3;
  made->leaf = std::move(leaf->certificate);
  made->key = std::move(leaf->key);
  made->issuer_fingerprint = issuer.fingerprint;
  made->chain.reset(sk_X509_new_null());
  // All leaves share the one of their issuer; the count of its owners is atomic.
  X509Ptr issuer_certificate(X509_up_ref(issuer.certificate.get()) == 1 ? issuer.certificate.get() : nullptr);
  if (!made->chain || !issuer_certificate || sk_X509_push(made->chain.get(), issuer_certificate.get()) <= 0) {
    return openssl_error("keep the certificate chain");
  }
  [[maybe_unused]] X509* owned_by_chain = issuer_certificate.release();
  // Fills the lazily computed extension cache before other threads read the certificate.
  X509_check_purpose(made->leaf.get(), -1, 0);
  return Shared(std::move(made));
}

bool is_current(const ServerCertificate& certificate, const Issuer& issuer, WallTime now) {
  return certificate.issuer_fingerprint == issuer.fingerprint && now >= certificate.not_before &&
         now < certificate.renew_after;
}

enum class NameClass { route, other };

// Which certificate a name gets, decided before anything is made.
struct Choice {
  std::string key;  // of the cache
  LeafNames names;
  NameClass name_class = NameClass::route;
};

// "*.localhost" is refused by every client but Java's: a wildcard needs two fixed labels below it.
bool may_stand_below_a_wildcard(std::string_view host) {
  return host.find('.') != std::string_view::npos;
}

bool is_one_label_below(std::string_view name, std::string_view host) {
  if (name.size() <= host.size() + 1 || !is_at_or_below(name, host)) return false;
  return name.substr(0, name.size() - host.size() - 1).find('.') == std::string_view::npos;
}

Choice exact(std::string_view name, NameClass name_class) {
  Choice choice;
  choice.key = name;
  choice.names.dns = {std::string(name)};
  choice.name_class = name_class;
  return choice;
}

}  // namespace

class CertificateStore::State {
 public:
  State(CertificateStoreOptions options, const Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        issuers_(options_.ca_directory, options_.reload_interval, clock),
        routes_(options_.max_route_certificates),
        others_(options_.max_other_certificates),
        tokens_at_(clock.steady()) {}

  Shared given;

  std::optional<Choice> choose(std::string_view server_name, const RouteLookup& lookup) const;
  Result<Shared> find_or_mint(const Choice& choice);
  Counts counts() const {
    const std::scoped_lock lock(mutex_);
    return {minted_, routes_.size() + others_.size()};
  }

 private:
  LeafCache& cache_of(NameClass name_class) { return name_class == NameClass::route ? routes_ : others_; }
  bool take_token();

  const CertificateStoreOptions options_;
  const Clock& clock_;
  IssuerSource issuers_;

  mutable std::mutex mutex_;
  std::condition_variable landed_;
  std::set<std::string> in_flight_;
  LeafCache routes_;
  LeafCache others_;
  double tokens_ = kOtherBurst;
  SteadyTime tokens_at_;
  std::size_t minted_ = 0;
};

std::optional<Choice> CertificateStore::State::choose(std::string_view server_name,
                                                      const RouteLookup& lookup) const {
  const auto name =
      canonical_server_name(server_name.empty() ? std::string_view(options_.edge_name) : server_name);
  if (!name) return std::nullopt;
  if (*name == options_.edge_name) {
    Choice choice = exact(*name, NameClass::route);
    choice.names.ip = {"127.0.0.1", "::1"};
    return choice;
  }
  const auto route = lookup(*name);
  if (!route) {
    if (!is_at_or_below_any(*name, options_.suffixes)) return std::nullopt;
    return exact(*name, NameClass::other);
  }
  if (*name == route->host && (!route->covers_below || !may_stand_below_a_wildcard(route->host))) {
    return exact(*name, NameClass::route);
  }
  const bool covered = *name == route->host || is_one_label_below(*name, route->host);
  // A wildcard in a certificate reaches one label deep; anybody can ask for names deeper than that, so they
  // are counted.
  if (!covered || !may_stand_below_a_wildcard(route->host)) return exact(*name, NameClass::other);
  Choice choice = exact(route->host, NameClass::route);
  choice.key = "*." + choice.key;
  choice.names.dns.push_back(choice.key);
  return choice;
}

bool CertificateStore::State::take_token() {
  const SteadyTime now = clock_.steady();
  const std::chrono::duration<double> passed = now - tokens_at_;
  tokens_at_ = now;
  tokens_ = std::min(kOtherBurst, tokens_ + passed.count() * options_.other_certificates_per_second);
  if (tokens_ < 1) return false;
  tokens_ -= 1;
  return true;
}

Result<Shared> CertificateStore::State::find_or_mint(const Choice& choice) {
  auto issuer = issuers_.current();
  if (!issuer) return issuer.error();
  const WallTime now = clock_.wall();

  std::unique_lock lock(mutex_);
  const auto idle = [&] { return !in_flight_.contains(choice.key); };
  if (!landed_.wait_for(lock, kFlightLimit, idle)) {
    return Error(ErrorKind::timed_out, "another thread is still making the certificate of " + choice.key);
  }
  LeafCache& cache = cache_of(choice.name_class);
  if (auto found = cache.find(choice.key); found && is_current(*found, **issuer, now)) return found;
  if (choice.name_class == NameClass::other && !take_token()) return unrecognized(choice.key);
  in_flight_.insert(choice.key);
  lock.unlock();
  auto made = mint(choice.names, **issuer, now);
  lock.lock();
  in_flight_.erase(choice.key);
  if (made) {
    cache.put(choice.key, *made);
    ++minted_;
  }
  lock.unlock();
  landed_.notify_all();
  return made;
}

CertificateStore::CertificateStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
CertificateStore::~CertificateStore() = default;

Result<std::unique_ptr<CertificateStore>> CertificateStore::open(CertificateStoreOptions options,
                                                                 const Clock& clock) {
  const auto given = options.given;
  auto state = std::make_unique<State>(std::move(options), clock);
  if (given) {
    auto loaded = load_given_certificate(*given, clock.wall());
    if (!loaded) return loaded.error();
    state->given = std::move(*loaded);
  }
  return std::unique_ptr<CertificateStore>(new CertificateStore(std::move(state)));
}

Result<Shared> CertificateStore::certificate_for(std::string_view server_name, const RouteLookup& lookup) {
  if (state_->given) return state_->given;
  const auto choice = state_->choose(server_name, lookup);
  if (!choice) return unrecognized(server_name);
  return state_->find_or_mint(*choice);
}

CertificateStore::Counts CertificateStore::counts() const {
  return state_->counts();
}

}  // namespace hedge::certs
