// Benchmark origin: single-threaded epoll HTTP/1.1 server.
// usage: origin FIRST_PORT COUNT
//   /s     128-byte body        /64k   64 KiB body       /1m   1 MiB body
//   /echo  request head as body /stats counters (JSON)   /ws   WebSocket echo (RFC 6455)
#include <string>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

struct Conn {
  int fd;
  bool listener;
  bool ws = false;
  bool closing = false;
  bool wantout = false;
  std::string in;   // unparsed input
  std::string dyn;  // dynamic output
  const char* out = nullptr;
  size_t outlen = 0, outoff = 0;
};
static int ep;
static unsigned long n_accept, n_req, n_ws;
static std::string R_s, R_64k, R_1m, R_404;

static std::string resp(const char* status, const std::string& body) {
  char h[256];
  snprintf(h, sizeof h, "HTTP/1.1 %s\r\nServer: origin\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n\r\n",
           status, body.size());
  return h + body;
}
static void arm(Conn* c, bool out) {
  if (c->wantout == out) return;
  c->wantout = out;
  epoll_event e{};
  e.events = out ? EPOLLOUT : EPOLLIN;
  e.data.ptr = c;
  epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &e);
}
static void drop(Conn* c) {
  close(c->fd);
  delete c;
}
// 1 = done, 0 = would block, -1 = dead
static int flush(Conn* c) {
  while (c->outoff < c->outlen) {
    ssize_t n = send(c->fd, c->out + c->outoff, c->outlen - c->outoff, MSG_NOSIGNAL);
    if (n < 0) {
      if (errno == EAGAIN) {
        arm(c, true);
        return 0;
      }
      return -1;
    }
    c->outoff += n;
  }
  c->out = nullptr;
  c->outlen = c->outoff = 0;
  c->dyn.clear();
  arm(c, false);
  return 1;
}
static int put(Conn* c, const std::string& s) {
  c->out = s.data();
  c->outlen = s.size();
  c->outoff = 0;
  return flush(c);
}
static int putdyn(Conn* c, std::string s) {
  c->dyn = std::move(s);
  return put(c, c->dyn);
}

static int ws_frames(Conn* c) {
  std::string out;
  size_t p = 0;
  bool bye = false;
  while (c->in.size() - p >= 2) {
    const unsigned char* d = (const unsigned char*)c->in.data() + p;
    size_t have = c->in.size() - p, len = d[1] & 127, h = 2;
    bool mask = d[1] & 128;
    if (len == 126) {
      if (have < 4) break;
      len = d[2] << 8 | d[3];
      h = 4;
    } else if (len == 127)
      return -1;
    if (mask) h += 4;
    if (have < h + len) break;
    int op = d[0] & 15;
    const unsigned char* k = d + h - 4;
    if (op == 10) {
      p += h + len;
      continue;
    }
    out += (char)(0x80 | (op == 9 ? 10 : op));
    if (len < 126)
      out += (char)len;
    else {
      out += (char)126;
      out += (char)(len >> 8);
      out += (char)len;
    }
    for (size_t i = 0; i < len; i++) out += mask ? (char)(d[h + i] ^ k[i & 3]) : (char)d[h + i];
    p += h + len;
    n_ws++;
    if (op == 8) {
      bye = true;
      break;
    }
  }
  c->in.erase(0, p);
  if (!out.empty()) {
    if (bye) c->closing = true;
    return putdyn(c, std::move(out));
  }
  return 1;
}
static int process(Conn* c) {
  for (;;) {
    if (c->out) return 0;
    if (c->ws) return ws_frames(c);
    size_t e = c->in.find("\r\n\r\n");
    if (e == std::string::npos) return c->in.size() > 65536 ? -1 : 1;
    std::string head = c->in.substr(0, e + 4);
    c->in.erase(0, e + 4);
    n_req++;
    if (strcasestr(head.c_str(), "\r\nconnection: close")) c->closing = true;
    size_t a = head.find(' ') + 1, b = head.find(' ', a);
    if (a == 0 || b == std::string::npos) return -1;
    int r;
    std::string path = head.substr(a, b - a);
    if (path == "/s")
      r = put(c, R_s);
    else if (path == "/64k")
      r = put(c, R_64k);
    else if (path == "/1m")
      r = put(c, R_1m);
    else if (path == "/echo")
      r = putdyn(c, resp("200 OK", head));
    else if (path == "/stats") {
      char t[128];
      snprintf(t, sizeof t, "{\"accept\":%lu,\"req\":%lu,\"ws\":%lu}", n_accept, n_req, n_ws);
      r = putdyn(c, resp("200 OK", t));
    } else if (path == "/ws") {
      const char* k = strcasestr(head.c_str(), "\r\nsec-websocket-key:");
      if (!k || !strcasestr(head.c_str(), "\r\nupgrade: websocket"))
        r = putdyn(c, resp("400 Bad Request", "not a websocket handshake\n"));
      else {
        k += 20;
        while (*k == ' ') k++;
        std::string key(k, strcspn(k, "\r"));
        key += "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
        unsigned char sha[20], b64[32];
        SHA1((const unsigned char*)key.data(), key.size(), sha);
        EVP_EncodeBlock(b64, sha, 20);
        c->ws = true;
        r = putdyn(c, std::string("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                                  "Upgrade\r\nSec-WebSocket-Accept: ") +
                          (char*)b64 + "\r\n\r\n");
      }
    } else
      r = put(c, R_404);
    if (r < 0) return -1;
    if (r == 0) return 0;
    if (c->closing) return -1;
    if (c->in.empty()) return 1;
  }
}
int main(int argc, char** argv) {
  if (argc < 3) return 2;
  signal(SIGPIPE, SIG_IGN);
  R_s = resp("200 OK", std::string(128, 's'));
  R_64k = resp("200 OK", std::string(65536, 'k'));
  R_1m = resp("200 OK", std::string(1 << 20, 'm'));
  R_404 = resp("404 Not Found", "nothing here\n");
  ep = epoll_create1(0);
  int base = atoi(argv[1]), count = atoi(argv[2]);
  for (int i = 0; i < count; i++) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(base + i);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (sockaddr*)&a, sizeof a) || listen(fd, 4096)) {
      perror("origin: bind");
      return 1;
    }
    Conn* c = new Conn{fd, true};
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.ptr = c;
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
  }
  static char buf[65536];
  epoll_event ev[256];
  for (;;) {
    int n = epoll_wait(ep, ev, 256, -1);
    for (int i = 0; i < n; i++) {
      Conn* c = (Conn*)ev[i].data.ptr;
      if (c->listener) {
        int fd;
        while ((fd = accept4(c->fd, nullptr, nullptr, SOCK_NONBLOCK)) >= 0) {
          int on = 1;
          setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          n_accept++;
          Conn* k = new Conn{fd, false};
          epoll_event e{};
          e.events = EPOLLIN;
          e.data.ptr = k;
          epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
        }
        continue;
      }
      if (c->out) {
        int r = flush(c);
        if (r < 0 || (r == 1 && c->closing)) {
          drop(c);
          continue;
        }
        if (r == 1 && process(c) < 0) drop(c);
        continue;
      }
      ssize_t k = recv(c->fd, buf, sizeof buf, 0);
      if (k <= 0) {
        if (k < 0 && errno == EAGAIN) continue;
        drop(c);
        continue;
      }
      c->in.append(buf, k);
      if (process(c) < 0) drop(c);
    }
  }
}
