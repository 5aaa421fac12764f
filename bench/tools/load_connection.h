// Connections of the load client: non-blocking, plain or TLS, and what was measured over them.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static int port, conc = 16, nhosts = 100, size_ = 64, holdn = 10000;
static double secs = 4, rps = 5000, newfrac = 0;
static bool tls, resume_;
static std::string sni = "localhost", hostfmt = "h%d.test", path = "/s", mode;
static SSL_CTX* ctx;
static SSL_SESSION* sess;
static int ep;
static volatile sig_atomic_t stop_;
static int64_t now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000ll + t.tv_nsec;
}
static int new_cb(SSL*, SSL_SESSION* s) {
  if (sess) SSL_SESSION_free(sess);
  sess = s;
  return 1;
}
static std::string host(unsigned i) {
  char b[256];
  snprintf(b, sizeof b, hostfmt.c_str(), (int)(i % nhosts));
  return b;
}
static std::vector<std::string> reqs;
static const std::string& request(unsigned i) { return reqs[i % reqs.size()]; }

enum St { CONNECTING, SHAKING, SENDING, READING, IDLE };
struct C {
  int fd = -1;
  SSL* ssl = nullptr;
  St st = CONNECTING;
  bool fresh = true, oneshot = false, resumed = false;
  std::string out, in;
  size_t off = 0;
  int64_t t0 = 0;
  bool head = false;
  long need = -1;
  int status = 0;
  long got = 0;
};
static std::vector<float> lat;
static std::map<std::string, long> errs;
static long ok, resumed;
static std::vector<C*> dead;

static void closec(C* c) {
  if (c->fd < 0) return;
  if (c->ssl) {
    if (c->st >= SENDING) SSL_shutdown(c->ssl);
    SSL_free(c->ssl);
    c->ssl = nullptr;
  }
  close(c->fd);
  c->fd = -1;
  dead.push_back(c);
}
static C* openc(const std::string& req, int64_t t0, bool oneshot) {
  C* c = new C;
  c->t0 = t0;
  c->oneshot = oneshot;
  c->out = req;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  int on = 1;
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_port = htons(port);
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(c->fd, (sockaddr*)&a, sizeof a) && errno != EINPROGRESS) {
    errs[std::string("connect:") + strerror(errno)]++;
    close(c->fd);
    c->fd = -1;
    dead.push_back(c);
    return nullptr;
  }
  epoll_event e{};
  e.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  e.data.ptr = c;
  epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &e);
  return c;
}
static ssize_t rd(C* c, char* b, size_t n) {
  if (!c->ssl) return recv(c->fd, b, n, 0);
  int k = SSL_read(c->ssl, b, n);
  if (k > 0) return k;
  int e = SSL_get_error(c->ssl, k);
  if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) {
    errno = EAGAIN;
    return -1;
  }
  if (e == SSL_ERROR_ZERO_RETURN) return 0;
  errno = ECONNRESET;
  return -1;
}
static ssize_t wr(C* c, const char* b, size_t n) {
  if (!c->ssl) return send(c->fd, b, n, MSG_NOSIGNAL);
  int k = SSL_write(c->ssl, b, n);
  if (k > 0) return k;
  int e = SSL_get_error(c->ssl, k);
  errno = (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) ? EAGAIN : EPIPE;
  return -1;
}
// returns 0 keep waiting, 1 response complete, -1 failed (reason in why)
static int drive(C* c, std::string& why) {
  static char b[65536];
  if (c->st == CONNECTING) {
    int e = 0;
    socklen_t l = sizeof e;
    getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &e, &l);
    if (e) {
      why = std::string("connect:") + strerror(e);
      return -1;
    }
    sockaddr_in a;
    l = sizeof a;
    if (getpeername(c->fd, (sockaddr*)&a, &l)) return 0;
    if (tls) {
      c->ssl = SSL_new(ctx);
      SSL_set_fd(c->ssl, c->fd);
      SSL_set_connect_state(c->ssl);
      SSL_set_tlsext_host_name(c->ssl, sni.c_str());
      if (resume_ && sess) SSL_set_session(c->ssl, sess);
      c->st = SHAKING;
    } else
      c->st = SENDING;
  }
  if (c->st == SHAKING) {
    int r = SSL_do_handshake(c->ssl);
    if (r != 1) {
      int e = SSL_get_error(c->ssl, r);
      if (e == SSL_ERROR_WANT_READ || e == SSL_ERROR_WANT_WRITE) return 0;
      why = "handshake";
      return -1;
    }
    c->resumed = SSL_session_reused(c->ssl);
    c->st = SENDING;
  }
  if (c->st == SENDING) {
    while (c->off < c->out.size()) {
      ssize_t k = wr(c, c->out.data() + c->off, c->out.size() - c->off);
      if (k < 0) {
        if (errno == EAGAIN) return 0;
        why = "send";
        return -1;
      }
      c->off += k;
    }
    c->st = READING;
    c->in.clear();
    c->head = false;
    c->need = -1;
    c->got = 0;
  }
  for (;;) {
    ssize_t k = rd(c, b, sizeof b);
    if (k < 0 && errno == EAGAIN) return 0;
    if (c->st == IDLE) {
      if (k > 0) continue;
      why = "idle-close";
      return -1;
    }
    if (k <= 0) {
      if (c->head && c->need < 0 && k == 0) return 1;
      why = k == 0 ? (c->in.empty() ? "closed-before-response" : "truncated")
                   : (c->in.empty() ? "reset-before-response" : "reset-in-response");
      return -1;
    }
    if (!c->head) {
      c->in.append(b, k);
      size_t e = c->in.find("\r\n\r\n");
      if (e == std::string::npos) continue;
      c->head = true;
      c->status = atoi(c->in.c_str() + 9);
      const char* l = strcasestr(c->in.c_str(), "\r\ncontent-length:");
      if (l && l < c->in.c_str() + e)
        c->need = e + 4 + atol(l + 17);
      else if (strcasestr(c->in.substr(0, e).c_str(), "chunked"))
        c->need = -2;
      else if (c->status == 204 || c->status == 304 || c->status == 101)
        c->need = e + 4;
      c->got = c->in.size();
    } else {
      c->got += k;
      if (c->need == -2) c->in.append(b, k);
    }
    if (c->need >= 0 && c->got >= c->need) return 1;
    if (c->need == -2 && c->in.size() > 5 && !c->in.compare(c->in.size() - 5, 5, "0\r\n\r\n")) return 1;
  }
}
static void reap() {
  for (C* c : dead) delete c;
  dead.clear();
}
static double pct(double p) {
  if (lat.empty()) return 0;
  size_t i = std::min(lat.size() - 1, (size_t)(p * lat.size()));
  return lat[i];
}
static void report(double el, const char* extra = "") {
  std::sort(lat.begin(), lat.end());
  long fail = 0;
  std::string e;
  for (auto& x : errs) {
    fail += x.second;
    e += (e.empty() ? "\"" : ",\"") + x.first + "\":" + std::to_string(x.second);
  }
  printf(
      "{\"ok\":%ld,\"fail\":%ld,\"secs\":%.4f,\"rate\":%.1f,\"p50_us\":%.1f,\"p90_us\":%.1f,\"p99_us\":%.1f,\"p999_"
      "us\":%.1f,\"max_us\":%.1f,\"resumed\":%ld,\"errors\":{%s}%s}\n",
      ok, fail, el, ok / el, pct(.5), pct(.9), pct(.99), pct(.999), lat.empty() ? 0 : lat.back(), resumed, e.c_str(),
      extra);
}
static void done_ok(C* c, int64_t t) {
  if (c->status == 200) {
    ok++;
    lat.push_back((t - c->t0) / 1e3);
    if (c->resumed && c->fresh) resumed++;
  } else
    errs["status:" + std::to_string(c->status)]++;
}
