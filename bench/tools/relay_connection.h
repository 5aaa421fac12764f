// Connections of the relay: clients, the pool of upstream connections, and how both end.
#pragma once

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
#include <unistd.h>

enum Kind { LISTEN, CLIENT, UP };
struct Ent {
  Kind kind;
  int fd;
  bool tls = false;
  uint32_t ev = 0;
};
struct Up;
struct Client : Ent {
  SSL* ssl = nullptr;
  bool hs = false, raw = false;
  Up* up = nullptr;
  std::string pend;
  std::string out;
  size_t off = 0;
  int pipe_[2] = {-1, -1};
  size_t inpipe = 0;
};
struct Up : Ent {
  Client* cl = nullptr;
  long remain = -1;
  std::string head;
};  // remain -1: waiting for the head
static int ep, upport;
static bool use_splice;
static SSL_CTX* ctx;
static std::vector<Up*> pool;
static char buf[262144];
static std::vector<Ent*> dead;

static void setev(Ent* e, uint32_t ev, void* p) {
  if (e->ev == ev) return;
  epoll_event x{};
  x.events = ev;
  x.data.ptr = p;
  epoll_ctl(ep, e->ev ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, e->fd, &x);
  e->ev = ev;
}
static void kill_up(Up* u) {
  if (u->fd < 0) return;
  close(u->fd);
  u->fd = -1;
  for (auto& p : pool)
    if (p == u) {
      p = pool.back();
      pool.pop_back();
      break;
    }
  dead.push_back(u);
}
static void kill_client(Client* c) {
  if (c->fd < 0) return;
  if (c->up) {
    kill_up(c->up);
    c->up = nullptr;
  }
  if (c->ssl) {
    if (c->hs) {
      SSL_set_quiet_shutdown(c->ssl, 0);
      SSL_shutdown(c->ssl);
    }
    SSL_free(c->ssl);
    c->ssl = nullptr;
  }
  close(c->fd);
  c->fd = -1;
  if (c->pipe_[0] >= 0) {
    close(c->pipe_[0]);
    close(c->pipe_[1]);
  }
  dead.push_back(c);
}
static Up* get_up(Client* c) {
  Up* u;
  if (!pool.empty()) {
    u = pool.back();
    pool.pop_back();
  } else {
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(upport);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(fd, (sockaddr*)&a, sizeof a)) {
      close(fd);
      return nullptr;
    }
    fcntl(fd, F_SETFL, O_NONBLOCK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    u = new Up;
    u->kind = UP;
    u->fd = fd;
    setev(u, EPOLLIN, u);
  }
  u->cl = c;
  u->remain = -1;
  u->head.clear();
  c->up = u;
  return u;
}
