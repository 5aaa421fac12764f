// Physical floor ("limit" row): single-threaded epoll relay with pooled upstream connections.
// It looks for the end of the request head and, in the response head, for Content-Length; nothing else:
// no routing, no header changes, no checks, no time-outs. Not a proxy, only a lower bound.
// usage: relay HTTP_PORT TLS_PORT UPSTREAM_PORT CERT KEY copy|splice
#include "relay_connection.h"

static ssize_t cwrite(Client* c, const char* p, size_t n) {  // -1 dead; else bytes taken
  if (!c->ssl) {
    ssize_t k = send(c->fd, p, n, MSG_NOSIGNAL);
    if (k < 0) return errno == EAGAIN ? 0 : -1;
    return k;
  }
  size_t done = 0;
  while (done < n) {
    int k = SSL_write(c->ssl, p + done, n - done);
    if (k <= 0) {
      int e = SSL_get_error(c->ssl, k);
      return e == SSL_ERROR_WANT_WRITE || e == SSL_ERROR_WANT_READ ? (ssize_t)done : -1;
    }
    done += k;
  }
  return done;
}
static bool to_client(Client* c, const char* p, size_t n) {
  size_t k = 0;
  if (c->out.empty()) {
    ssize_t r = cwrite(c, p, n);
    if (r < 0) return false;
    k = r;
  }
  if (k < n) {
    c->out.append(p + k, n - k);
    setev(c, EPOLLOUT, c);
    if (c->up) setev(c->up, EPOLLRDHUP, c->up);
  }
  return true;
}
static void done_resp(Client* c) {
  Up* u = c->up;
  if (!u || c->raw) return;
  c->up = nullptr;
  u->cl = nullptr;
  pool.push_back(u);
}
static bool send_up(Client* c) {
  while (!c->pend.empty() && !c->up) {
    size_t e = c->pend.find("\r\n\r\n");
    if (e == std::string::npos) return true;
    Up* u = get_up(c);
    if (!u) return false;
    if (send(u->fd, c->pend.data(), e + 4, MSG_NOSIGNAL) != (ssize_t)(e + 4)) return false;
    c->pend.erase(0, e + 4);
  }
  return true;
}
static bool pump_pipe(Client* c) {  // pipe -> client
  while (c->inpipe) {
    ssize_t k = splice(c->pipe_[0], nullptr, c->fd, nullptr, c->inpipe, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (k < 0) {
      if (errno == EAGAIN) {
        setev(c, EPOLLOUT, c);
        setev(c->up, EPOLLRDHUP, c->up);
        return true;
      }
      return false;
    }
    c->inpipe -= k;
  }
  return true;
}
static void on_up(Up* u) {
  Client* c = u->cl;
  if (!c) {
    char t[64];
    ssize_t k = recv(u->fd, t, sizeof t, 0);
    if (k < 0 && errno == EAGAIN) return;
    kill_up(u);
    return;
  }
  if (!c->out.empty() || c->inpipe) return;
  if (u->remain > 0 && use_splice && !c->ssl && !c->raw) {
    if (c->pipe_[0] < 0) {
      if (pipe2(c->pipe_, O_NONBLOCK)) {
        kill_client(c);
        return;
      }
      fcntl(c->pipe_[0], F_SETPIPE_SZ, 262144);
    }
    ssize_t k = splice(u->fd, nullptr, c->pipe_[1], nullptr, u->remain < 262144 ? u->remain : 262144,
                       SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (k < 0 && errno == EAGAIN) return;
    if (k <= 0) {
      kill_client(c);
      return;
    }
    c->inpipe += k;
    u->remain -= k;
    if (!pump_pipe(c)) {
      kill_client(c);
      return;
    }
    if (!c->inpipe && !u->remain) {
      done_resp(c);
      if (!send_up(c)) kill_client(c);
    }
    return;
  }
  // in splice mode read the head alone first, cheaply, leaving most of a large body in the socket
  ssize_t k = recv(u->fd, buf, use_splice && u->remain < 0 && !c->raw ? 1024 : sizeof buf, 0);
  if (k < 0 && errno == EAGAIN) return;
  if (k <= 0) {
    c->up = nullptr;
    kill_up(u);
    kill_client(c);
    return;
  }
  if (!c->raw) {
    if (u->remain < 0) {
      u->head.append(buf, k);
      size_t e = u->head.find("\r\n\r\n");
      if (e != std::string::npos) {
        if (u->head.compare(9, 3, "101") == 0) c->raw = true;
        const char* l = strcasestr(u->head.c_str(), "\r\ncontent-length:");
        long cl = l ? atol(l + 17) : 0;
        u->remain = cl - (long)(u->head.size() - e - 4);
      }
    } else
      u->remain -= k;
  }
  if (!to_client(c, buf, k)) {
    kill_client(c);
    return;
  }
  if (!c->raw && u->remain == 0 && c->out.empty()) {
    done_resp(c);
    if (!send_up(c)) kill_client(c);
  }
}
static void on_client(Client* c, uint32_t ev) {
  if (c->ssl && !c->hs) {
    int r = SSL_accept(c->ssl);
    if (r != 1) {
      int e = SSL_get_error(c->ssl, r);
      if (e != SSL_ERROR_WANT_READ && e != SSL_ERROR_WANT_WRITE) kill_client(c);
      return;
    }
    c->hs = true;
  }
  if (ev & EPOLLOUT) {
    if (c->inpipe) {
      if (!pump_pipe(c)) {
        kill_client(c);
        return;
      }
      if (c->inpipe) return;
    }
    if (!c->out.empty()) {
      ssize_t k = cwrite(c, c->out.data() + c->off, c->out.size() - c->off);
      if (k < 0) {
        kill_client(c);
        return;
      }
      c->off += k;
      if (c->off < c->out.size()) return;
      c->out.clear();
      c->off = 0;
    }
    setev(c, EPOLLIN, c);
    if (c->up) {
      setev(c->up, EPOLLIN, c->up);
      if (c->up->remain == 0 && !c->raw) {
        done_resp(c);
        if (!send_up(c)) {
          kill_client(c);
          return;
        }
      }
    }
  }
  if (!(ev & (EPOLLIN | EPOLLHUP | EPOLLERR))) return;
  for (;;) {
    ssize_t k;
    if (c->ssl) {
      k = SSL_read(c->ssl, buf, 16384);
      if (k <= 0) {
        int e = SSL_get_error(c->ssl, k);
        if (e == SSL_ERROR_WANT_READ) return;
        kill_client(c);
        return;
      }
    } else {
      k = recv(c->fd, buf, sizeof buf, 0);
      if (k < 0 && errno == EAGAIN) return;
      if (k <= 0) {
        kill_client(c);
        return;
      }
    }
    if (c->raw) {
      if (send(c->up->fd, buf, k, MSG_NOSIGNAL) != k) {
        kill_client(c);
        return;
      }
    } else {
      c->pend.append(buf, k);
      if (!send_up(c)) {
        kill_client(c);
        return;
      }
    }
    if (!c->ssl || !SSL_pending(c->ssl)) {
      if (!c->ssl)
        return;
      else
        return;
    }
  }
}
int main(int argc, char** argv) {
  if (argc < 7) return 2;
  signal(SIGPIPE, SIG_IGN);
  upport = atoi(argv[3]);
  use_splice = !strcmp(argv[6], "splice");
  ep = epoll_create1(0);
  ctx = SSL_CTX_new(TLS_server_method());
  SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
  if (SSL_CTX_use_certificate_chain_file(ctx, argv[4]) != 1 ||
      SSL_CTX_use_PrivateKey_file(ctx, argv[5], SSL_FILETYPE_PEM) != 1)
    return 1;
  SSL_CTX_set_session_id_context(ctx, (const unsigned char*)"r", 1);
  SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(ctx, 1);
  SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  for (int i = 0; i < 2; i++) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_port = htons(atoi(argv[1 + i]));
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (sockaddr*)&a, sizeof a) || listen(fd, 4096)) {
      perror("relay: bind");
      return 1;
    }
    Ent* e = new Ent{LISTEN, fd};
    e->tls = i;
    setev(e, EPOLLIN, e);
  }
  epoll_event ev[256];
  for (;;) {
    int n = epoll_wait(ep, ev, 256, -1);
    for (int i = 0; i < n; i++) {
      Ent* e = (Ent*)ev[i].data.ptr;
      if (e->fd < 0) continue;
      if (e->kind == LISTEN) {
        int fd;
        while ((fd = accept4(e->fd, nullptr, nullptr, SOCK_NONBLOCK)) >= 0) {
          int on = 1;
          setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          Client* c = new Client;
          c->kind = CLIENT;
          c->fd = fd;
          if (e->tls) {
            c->ssl = SSL_new(ctx);
            SSL_set_fd(c->ssl, fd);
            SSL_set_accept_state(c->ssl);
          }
          setev(c, EPOLLIN, c);
        }
      } else if (e->kind == UP) {
        Up* u = static_cast<Up*>(e);
        if (ev[i].events & EPOLLIN || !(u->ev & EPOLLIN))
          on_up(u);
        else if (ev[i].events) {
          if (u->cl)
            kill_client(u->cl);
          else
            kill_up(u);
        }
      } else
        on_client(static_cast<Client*>(e), ev[i].events);
    }
    for (Ent* e : dead) {
      if (e->kind == CLIENT)
        delete static_cast<Client*>(e);
      else
        delete static_cast<Up*>(e);
    }
    dead.clear();
  }
}
