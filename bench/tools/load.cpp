// Load client for what wrk and h2load do not do. Prints one JSON object.
//   load hs    one new connection + 1 request each, closed loop        (--conc, --secs, --resume)
//   load rate  open loop at a fixed rate on keep-alive connections     (--rps, --conc, --secs, --newfrac F: part of the requests on a new connection)
//   load ws    WebSocket ping-pong                                      (--conc, --secs, --size)
//   load hold  opens --n connections, one request on each, prints READY, holds them until stdin closes
//
// common: --port P --tls --sni NAME --host-fmt 'h%d.test' --hosts N --path /s
#include "load_connection.h"

static void run_hs() {
  int64_t start = now(), end = start + (int64_t)(secs * 1e9);
  unsigned i = 0;
  int live = 0;
  epoll_event ev[256];
  for (; live < conc; live++)
    if (!openc(request(i++), now(), true)) break;
  while (live > 0) {
    int n = epoll_wait(ep, ev, 256, 1000);
    int64_t t = now();
    if (t > end + 5000000000ll) break;
    for (int k = 0; k < n; k++) {
      C* c = (C*)ev[k].data.ptr;
      if (c->fd < 0) continue;
      std::string why;
      int r = drive(c, why);
      if (!r) continue;
      if (r < 0)
        errs[why]++;
      else
        done_ok(c, now());
      closec(c);
      live--;
      if (t < end && openc(request(i++), now(), true)) live++;
    }
    reap();
  }
  report((std::min(now(), end) - start) / 1e9);
}
static void run_rate() {
  int64_t start = now(), end = start + (int64_t)(secs * 1e9), step = (int64_t)(1e9 / rps), next = start;
  unsigned i = 0;
  long inflight = 0;
  double acc = 0;
  epoll_event ev[256];
  std::deque<C*> idle;
  std::deque<std::pair<int64_t, unsigned>> wait;
  int open = 0;
  auto begin = [&](int64_t sched, unsigned idx) -> bool {
    while (!idle.empty()) {
      C* c = idle.front();
      idle.pop_front();
      if (c->fd < 0) continue;
      c->out = request(idx);
      c->off = 0;
      c->t0 = sched;
      c->st = SENDING;
      c->fresh = false;
      std::string why;
      inflight++;
      int r = drive(c, why);
      if (r < 0) {
        errs["reused:" + why]++;
        inflight--;
        open--;
        closec(c);
      } else if (r == 1) {
        done_ok(c, now());
        inflight--;
        c->st = IDLE;
        idle.push_back(c);
      }
      return true;
    }
    if (open < conc) {
      C* c = openc(request(idx), sched, false);
      if (c) {
        open++;
        inflight++;
      }
      return true;
    }
    return false;
  };
  while (true) {
    int64_t t = now();
    if (stop_ && end > t) end = t;
    if (t >= end && (inflight == 0 || t > end + 3000000000ll)) break;
    while (next <= t && next < end) {
      acc += newfrac;
      if (acc >= 1) {
        acc -= 1;
        if (openc(request(i), next, true)) inflight++;
        i++;
      } else {
        if (!wait.empty() || !begin(next, i)) wait.push_back({next, i});
        i++;
      }
      next += step;
    }
    int64_t d = next < end ? std::max<int64_t>(0, next - now()) : 10000000;
    timespec ts{(time_t)(d / 1000000000), (long)(d % 1000000000)};
    int n = epoll_pwait2(ep, ev, 256, &ts, nullptr);
    for (int k = 0; k < n; k++) {
      C* c = (C*)ev[k].data.ptr;
      if (c->fd < 0) continue;
      std::string why;
      int r = drive(c, why);
      if (!r) continue;
      if (c->st == IDLE) {
        open--;
        for (auto& p : idle)
          if (p == c) {
            idle.erase(std::find(idle.begin(), idle.end(), c));
            break;
          }
        closec(c);
        continue;
      }
      inflight--;
      if (r < 0) {
        errs[(c->fresh ? "new:" : "reused:") + why]++;
        if (!c->oneshot) open--;
        closec(c);
      } else {
        done_ok(c, now());
        bool cl = c->oneshot || c->need == -1 || strcasestr(c->in.c_str(), "\r\nconnection: close");
        if (cl) {
          if (!c->oneshot) open--;
          closec(c);
        } else {
          c->st = IDLE;
          c->in.clear();
          idle.push_back(c);
        }
      }
      while (!wait.empty()) {
        auto w = wait.front();
        if (!begin(w.first, w.second)) break;
        wait.pop_front();
      }
    }
    reap();
  }
  if (inflight) errs["unanswered"] += inflight;
  if (!wait.empty()) errs["never-sent"] += wait.size();
  report((std::min(now(), end) - start) / 1e9);
}
static void run_ws() {
  std::string frame;
  frame += (char)0x82;
  if (size_ < 126)
    frame += (char)(0x80 | size_);
  else {
    frame += (char)(0x80 | 126);
    frame += (char)(size_ >> 8);
    frame += (char)size_;
  }
  frame += std::string("\x11\x22\x33\x44", 4);
  for (int i = 0; i < size_; i++) frame += (char)('a' ^ "\x11\x22\x33\x44"[i & 3]);
  size_t want = size_ + (size_ < 126 ? 2 : 4);
  int64_t start = 0, end = 0;
  epoll_event ev[256];
  static char b[65536];
  int up = 0;
  std::vector<C*> cs;
  for (int i = 0; i < conc; i++) {
    std::string r = "GET /ws HTTP/1.1\r\nHost: " + host(i) +
                    "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: "
                    "dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
    if (C* c = openc(r, now(), false)) cs.push_back(c);
  }
  int64_t giveup = now() + 5000000000ll;
  bool going = false;
  while (now() < (going ? end : giveup)) {
    int n = epoll_wait(ep, ev, 256, 100);
    for (int k = 0; k < n; k++) {
      C* c = (C*)ev[k].data.ptr;
      if (c->fd < 0) continue;
      if (c->st != IDLE || !going) {
        if (c->st == IDLE) continue;
        std::string why;
        int r = drive(c, why);
        if (!r) continue;
        if (r < 0 || c->status != 101) {
          errs[r < 0 ? why : "status:" + std::to_string(c->status)]++;
          closec(c);
          continue;
        }
        c->st = IDLE;
        up++;
        continue;
      }
      for (;;) {
        ssize_t r = rd(c, b, sizeof b);
        if (r < 0 && errno == EAGAIN) break;
        if (r <= 0) {
          errs["ws-closed"]++;
          closec(c);
          break;
        }
        c->got += r;
        if (c->got >= (long)want) {
          int64_t t = now();
          c->got -= want;
          ok++;
          lat.push_back((t - c->t0) / 1e3);
          c->t0 = t;
          if (wr(c, frame.data(), frame.size()) != (ssize_t)frame.size()) {
            errs["ws-send"]++;
            closec(c);
            break;
          }
        }
      }
    }
    if (!going && up && up + (int)dead.size() >= conc) {
      going = true;
      start = now();
      end = start + (int64_t)(secs * 1e9);
      for (C* c : cs)
        if (c->fd >= 0 && c->st == IDLE) {
          c->got = 0;
          c->t0 = now();
          if (wr(c, frame.data(), frame.size()) < 0) errs["ws-send"]++;
        }
    }
    if (!going && (int)dead.size() >= conc) break;
  }
  report(going ? (now() - start) / 1e9 : 1);
}
static void run_hold() {
  long good = 0;
  int64_t t = now();
  epoll_event ev[64];
  std::vector<C*> cs;
  for (int i = 0; i < holdn; i++) {
    C* c = openc(request(i), now(), false);
    if (!c) break;
    int64_t lim = now() + 5000000000ll;
    bool fin = false;
    while (!fin && now() < lim) {
      int n = epoll_wait(ep, ev, 64, 200);
      for (int k = 0; k < n; k++) {
        C* x = (C*)ev[k].data.ptr;
        if (x->fd < 0) continue;
        std::string why;
        int r = drive(x, why);
        if (!r) continue;
        if (r < 0) {
          errs[why]++;
          closec(x);
          if (x == c)
            fin = true;
          else
            good--;
        } else {
          if (x->status == 200)
            good++;
          else
            errs["status:" + std::to_string(x->status)]++;
          x->st = IDLE;
          x->in = std::string();
          fin = true;
        }
      }
    }
    if (!fin) { errs["timeout"]++; }
  }
  std::string e;
  for (auto& x : errs) e += (e.empty() ? "\"" : ",\"") + x.first + "\":" + std::to_string(x.second);
  printf("READY {\"held\":%ld,\"secs\":%.2f,\"errors\":{%s}}\n", good, (now() - t) / 1e9, e.c_str());
  fflush(stdout);
  char b[16];
  while (read(0, b, sizeof b) > 0) {}
}
int main(int argc, char** argv) {
  if (argc < 2) return 2;
  mode = argv[1];
  signal(SIGPIPE, SIG_IGN);
  signal(SIGTERM, [](int) { stop_ = 1; });
  ep = epoll_create1(0);
  for (int i = 2; i < argc; i++) {
    std::string a = argv[i];
    auto v = [&] { return i + 1 < argc ? argv[++i] : (char*)""; };
    if (a == "--port")
      port = atoi(v());
    else if (a == "--conc")
      conc = atoi(v());
    else if (a == "--secs")
      secs = atof(v());
    else if (a == "--rps")
      rps = atof(v());
    else if (a == "--newfrac")
      newfrac = atof(v());
    else if (a == "--tls")
      tls = true;
    else if (a == "--resume")
      resume_ = true;
    else if (a == "--sni")
      sni = v();
    else if (a == "--host-fmt")
      hostfmt = v();
    else if (a == "--hosts")
      nhosts = atoi(v());
    else if (a == "--path")
      path = v();
    else if (a == "--size")
      size_ = atoi(v());
    else if (a == "--n")
      holdn = atoi(v());
    else {
      fprintf(stderr, "load: unknown option %s\n", a.c_str());
      return 2;
    }
  }
  for (int i = 0; i < nhosts; i++)
    reqs.push_back("GET " + path + " HTTP/1.1\r\nHost: " + host(i) + "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n");
  if (tls) {
    ctx = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_NONE, nullptr);
    SSL_CTX_set_ciphersuites(ctx, "TLS_AES_128_GCM_SHA256");
    SSL_CTX_set1_groups_list(ctx, "X25519");
    SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    if (resume_) SSL_CTX_sess_set_new_cb(ctx, new_cb);
  }
  if (mode == "hs")
    run_hs();
  else if (mode == "rate")
    run_rate();
  else if (mode == "ws")
    run_ws();
  else if (mode == "hold")
    run_hold();
  else
    return 2;
}
