#include "proxy/upstream/ares_channel.h"

#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <mutex>
#include <utility>

#include <ares.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/stat.h>

#include "base/text.h"

namespace hedge::proxy {
namespace {

constexpr std::chrono::milliseconds kIpv6Grace{50};  // RFC 8305, section 3: the resolution delay
constexpr int kTryMillis = 400;                      // two tries fit into the resolver's second
constexpr int kTries = 2;
constexpr const char* kSystemServers = "/etc/resolv.conf";

Result<void> start_library() {
  static std::once_flag once;
  static int status = ARES_SUCCESS;
  std::call_once(once, [] { status = ares_library_init(ARES_LIB_INIT_ALL); });
  if (status != ARES_SUCCESS)
    return Error(ErrorKind::io, std::string("start c-ares: ") + ares_strerror(status));
  return {};
}

timespec modified(const char* path) {
  struct stat status {};
  if (::stat(path, &status) != 0) return {};
  return status.st_mtim;
}

bool says_not_found(int status) {
  return status == ARES_ENOTFOUND || status == ARES_ENODATA;
}

std::vector<std::string> addresses_of(const ares_addrinfo* found) {
  std::vector<std::string> addresses;
  for (const ares_addrinfo_node* node = found->nodes; node != nullptr; node = node->ai_next) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address =
        node->ai_family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(node->ai_addr)->sin_addr)
            : &reinterpret_cast<sockaddr_in6*>(node->ai_addr)->sin6_addr;
    if (::inet_ntop(node->ai_family, address, text.data(), text.size()) != nullptr) {
      addresses.emplace_back(text.data());
    }
  }
  return addresses;
}

}  // namespace

class AresChannel::Impl {
 public:
  Impl(Reactor& reactor, std::vector<NameServer> servers)
      : reactor_(reactor), servers_(std::move(servers)), timer_(reactor, this, &on_time) {}
  ~Impl() { close(); }

  Result<void> open();
  void ask(const std::string& name, std::chrono::milliseconds limit,
           std::function<void(DnsAnswer)> on_answer);

 private:
  struct Query;
  struct Half {
    Query* query = nullptr;
    bool over = false;
    int status = ARES_SUCCESS;
    std::vector<std::string> addresses;
  };
  struct Query {
    Query(Impl& owner, std::function<void(DnsAnswer)> call)
        : impl(owner),
          on_answer(std::move(call)),
          limit(owner.reactor_, this, &Query::on_limit),
          grace(owner.reactor_, this, &Query::on_limit) {
      ipv4.query = ipv6.query = this;
    }
    static void on_limit(void* self);
    void half_over();
    DnsAnswer take_answer();
    Impl& impl;
    std::function<void(DnsAnswer)> on_answer;
    Half ipv4;
    Half ipv6;
    Timer limit;
    Timer grace;
    bool ready = false;
    bool answered = false;
  };
  // One of c-ares' descriptors.
  class Socket final : public EventSource {
   public:
    Socket(Impl& impl, ares_socket_t fd) : impl_(impl), fd_(fd) {}
    void on_events(std::uint32_t events) override {
      const bool reads = (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0;
      const bool writes = (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
      // c-ares may close the descriptor in here, and with it this object.
      impl_.process(reads ? fd_ : ARES_SOCKET_BAD, writes ? fd_ : ARES_SOCKET_BAD);
    }

   private:
    Impl& impl_;
    ares_socket_t fd_;
  };

  static void on_socket_state(void* self, ares_socket_t fd, int reads, int writes);
  static void on_half(void* half, int status, int timeouts, ares_addrinfo* found);
  static void on_time(void* self) { static_cast<Impl*>(self)->process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); }
  void ask_half(const std::string& name, int family, Half& half);
  void process(ares_socket_t reads, ares_socket_t writes);
  void deliver();
  void forget_finished();
  void arm_timer();
  void reopen_if_changed();
  void close();

  Reactor& reactor_;
  std::vector<NameServer> servers_;
  ares_channel channel_ = nullptr;
  timespec servers_modified_{};
  std::map<ares_socket_t, std::unique_ptr<Socket>> sockets_;
  std::list<Query> queries_;
  Timer timer_;
};

Result<void> AresChannel::Impl::open() {
  ares_options options{};
  // No search list; the hosts file is asked first, for names that a container was given there.
  options.flags = ARES_FLAG_NOSEARCH;
  options.timeout = kTryMillis;
  options.tries = kTries;
  options.sock_state_cb = &on_socket_state;
  options.sock_state_cb_data = this;
  int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
#ifdef ARES_OPT_QUERY_CACHE
  options.qcache_max_ttl =
      0;  // newer versions cache up to an hour; the resolver decides how long an answer lives
  mask |= ARES_OPT_QUERY_CACHE;
#endif
  servers_modified_ = modified(kSystemServers);
  int status = ares_init_options(&channel_, &options, mask);
  if (status == ARES_SUCCESS && !servers_.empty()) {
    std::vector<std::string> texts;
    for (const NameServer& server : servers_) {
      const bool brackets = server.ip.find(':') != std::string::npos;
      texts.push_back((brackets ? "[" + server.ip + "]" : server.ip) + ":" + std::to_string(server.port));
    }
    status = ares_set_servers_ports_csv(channel_, join(texts, ",").c_str());
  }
  if (status != ARES_SUCCESS)
    return Error(ErrorKind::io, std::string("start c-ares: ") + ares_strerror(status));
  return {};
}

void AresChannel::Impl::close() {
  if (channel_ != nullptr) ares_destroy(std::exchange(channel_, nullptr));
  queries_.clear();
}

void AresChannel::Impl::reopen_if_changed() {
  if (!servers_.empty() || !queries_.empty()) return;
  const timespec now = modified(kSystemServers);
  if (now.tv_sec == servers_modified_.tv_sec && now.tv_nsec == servers_modified_.tv_nsec) return;
  close();
  // A failure leaves no channel; ask() then answers that there is no answer, and the next one tries again.
  if (Result<void> opened = open(); !opened) close();
}

void AresChannel::Impl::ask(const std::string& name, std::chrono::milliseconds limit,
                            std::function<void(DnsAnswer)> on_answer) {
  forget_finished();
  reopen_if_changed();
  if (channel_ == nullptr) {
    servers_modified_ = {};
    on_answer(DnsAnswer{DnsStatus::no_answer, {}, "the name servers' list cannot be read"});
    return;
  }
  Query& query = queries_.emplace_back(*this, std::move(on_answer));
  query.limit.start(limit);
  ask_half(name, AF_INET, query.ipv4);
  ask_half(name, AF_INET6, query.ipv6);
  arm_timer();
  // What the hosts file answered is handed out from the reactor, like every other answer; and an earlier
  // such answer has its turn still to come.
  const bool any_ready = std::any_of(queries_.begin(), queries_.end(),
                                     [](const Query& each) { return each.ready && !each.answered; });
  if (any_ready) timer_.start(std::chrono::milliseconds(0));
}

void AresChannel::Impl::ask_half(const std::string& name, int family, Half& half) {
  ares_addrinfo_hints hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = ARES_AI_NOSORT;
  ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, &on_half, &half);
}

void AresChannel::Impl::on_half(void* argument, int status, int /*timeouts*/, ares_addrinfo* found) {
  auto& half = *static_cast<Half*>(argument);
  half.over = true;
  half.status = status;
  if (found != nullptr) {
    half.addresses = addresses_of(found);
    ares_freeaddrinfo(found);
  }
  half.query->half_over();
}

void AresChannel::Impl::Query::half_over() {
  if (ipv4.over && ipv6.over) {
    ready = true;
  } else if (ipv4.over && !ipv4.addresses.empty() && !answered) {
    grace.start(kIpv6Grace);
  }
}

void AresChannel::Impl::Query::on_limit(void* self) {
  auto& query = *static_cast<Query*>(self);
  query.ready = true;
  query.impl.deliver();
}

DnsAnswer AresChannel::Impl::Query::take_answer() {
  answered = true;
  limit.stop();
  grace.stop();
  DnsAnswer found;
  found.addresses = std::move(ipv4.addresses);
  found.addresses.insert(found.addresses.end(), ipv6.addresses.begin(), ipv6.addresses.end());
  if (!found.addresses.empty()) {
    found.status = DnsStatus::found;
  } else if (ipv4.over && says_not_found(ipv4.status) && (!ipv6.over || says_not_found(ipv6.status))) {
    found.status = DnsStatus::not_found;
    found.reason = "the name server says that it does not exist";
  } else {
    found.reason = ipv4.over ? ascii_lower(ares_strerror(ipv4.status)) : "the name server does not answer";
  }
  return found;
}

// Answers are handed out here, outside of c-ares' callbacks, because whoever gets one may ask for the next
// name.
void AresChannel::Impl::deliver() {
  std::vector<std::pair<std::function<void(DnsAnswer)>, DnsAnswer>> answers;
  for (Query& query : queries_) {
    if (query.ready && !query.answered) answers.emplace_back(std::move(query.on_answer), query.take_answer());
  }
  forget_finished();
  for (auto& [call, answer] : answers) call(std::move(answer));
}

void AresChannel::Impl::forget_finished() {
  queries_.remove_if([](const Query& query) { return query.answered && query.ipv4.over && query.ipv6.over; });
}

void AresChannel::Impl::process(ares_socket_t reads, ares_socket_t writes) {
  ares_process_fd(channel_, reads, writes);
  arm_timer();
  deliver();
}

void AresChannel::Impl::arm_timer() {
  timeval wait{};
  if (ares_timeout(channel_, nullptr, &wait) == nullptr) {
    timer_.stop();
    return;
  }
  const auto micros = std::chrono::seconds(wait.tv_sec) + std::chrono::microseconds(wait.tv_usec);
  timer_.start(std::chrono::ceil<std::chrono::milliseconds>(micros));
}

void AresChannel::Impl::on_socket_state(void* argument, ares_socket_t fd, int reads, int writes) {
  auto& self = *static_cast<Impl*>(argument);
  const auto known = self.sockets_.find(fd);
  if (reads == 0 && writes == 0) {
    if (known == self.sockets_.end()) return;
    self.reactor_.remove(fd, *known->second);
    self.sockets_.erase(known);
    return;
  }
  const std::uint32_t events = (reads != 0 ? EPOLLIN : 0U) | (writes != 0 ? EPOLLOUT : 0U);
  if (known != self.sockets_.end()) {
    self.reactor_.modify(fd, *known->second, events);
    return;
  }
  auto socket = std::make_unique<Socket>(self, fd);
  // If it cannot be watched, its query ends with the limit.
  if (self.reactor_.add(fd, *socket, events)) self.sockets_.emplace(fd, std::move(socket));
}

AresChannel::AresChannel(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AresChannel::~AresChannel() = default;

Result<std::unique_ptr<AresChannel>> AresChannel::create(Reactor& reactor, std::vector<NameServer> servers) {
  if (Result<void> started = start_library(); !started) return std::move(started).error();
  auto impl = std::make_unique<Impl>(reactor, std::move(servers));
  if (Result<void> opened = impl->open(); !opened) return std::move(opened).error();
  return std::unique_ptr<AresChannel>(new AresChannel(std::move(impl)));
}

void AresChannel::find_addresses(const std::string& name, std::chrono::milliseconds limit,
                                 std::function<void(DnsAnswer)> on_answer) {
  impl_->ask(name, limit, std::move(on_answer));
}

}  // namespace hedge::proxy
