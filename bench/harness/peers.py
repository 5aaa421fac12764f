"""The proxies under test, each behind its adapter in proxies/, and the origin behind them."""
import atexit, functools, json, os, re, shutil, signal, socket, subprocess, sys, time

from harness.machine import BENCH, LOAD_CORE, PROXY_CORE, T, WORK, sh, tree

ORIGIN = 20000

PEERS = ["nginx", "haproxy", "caddy", "h2o", "nghttpx"]


@functools.lru_cache(maxsize=1)
def certificates():
    """(certificate, key, both), made at first use."""
    k, c, p = (os.path.join(WORK, x) for x in ("key.pem", "cert.pem", "both.pem"))
    sh("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", k)
    sh(
        "openssl",
        "req",
        "-x509",
        "-key",
        k,
        "-days",
        "30",
        "-subj",
        "/CN=bench.test",
        "-addext",
        "subjectAltName=DNS:localhost,DNS:*.test,IP:127.0.0.1",
        "-out",
        c,
    )
    open(p, "w").write(open(c).read() + open(k).read())
    return c, k, p


def hosts_file(n, path, extra=()):
    with open(path, "w") as f:
        for i in range(n):
            f.write("h%d.test\t127.0.0.1:%d\n" % (i, ORIGIN + i % 100))
        for h, u in extra:
            f.write("%s\t%s\n" % (h, u))


def get(port, host, path="/s", timeout=5.0):
    """One request on a new plain connection: (status or error name, seconds, body)."""
    t = time.perf_counter()
    try:
        s = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        s.settimeout(timeout)
        s.sendall(("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (path, host)).encode())
        d = b""
        while True:
            x = s.recv(65536)
            if not x:
                break
            d += x
            h = d.find(b"\r\n\r\n")
            m = h > 0 and re.search(rb"\r\ncontent-length: *(\d+)", d[:h], re.I)
            if m and len(d) >= h + 4 + int(m[1]):
                break
        s.close()
        return (
            (int(d.split(b" ", 2)[1]) if d else "closed"),
            time.perf_counter() - t,
            d.partition(b"\r\n\r\n")[2].decode(errors="replace"),
        )
    except (OSError, IndexError, ValueError) as e:
        return type(e).__name__, time.perf_counter() - t, ""


class Origin:
    def __init__(self):
        self.p = subprocess.Popen(["taskset", "-c", LOAD_CORE, os.path.join(T, "origin"), str(ORIGIN), "100"])
        for _ in range(100):
            if get(ORIGIN, "x")[0] == 200:
                break
            time.sleep(0.02)
        else:
            sys.exit("bench: the origin did not start (ports %d.. in use?)" % ORIGIN)

    def stats(self):
        return json.loads(get(ORIGIN, "x", "/stats")[2])

    def stop(self):
        self.p.terminate()
        self.p.wait()


LIVE = []


def cleanup():
    for p in list(LIVE):
        p.stop()


atexit.register(cleanup)
for sg in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(sg, lambda *a: sys.exit(1))


class Proxy:
    def __init__(self, name, idx, nhosts=100, log=0, extra=(), **env):
        self.name, self.pid = name, 0
        self.dir = os.path.join(WORK, "%s-%d" % (name, int(time.time() * 1000)))
        os.makedirs(self.dir)
        self.http, self.tls, self.admin = 18000 + 10 * idx, 18001 + 10 * idx, 18002 + 10 * idx
        self.hosts = os.path.join(self.dir, "hosts.tsv")
        hosts_file(nhosts, self.hosts, extra)
        e = dict(
            os.environ,
            BENCH=BENCH,
            PX_DIR=self.dir,
            PX_HTTP=str(self.http),
            PX_TLS=str(self.tls),
            PX_ADMIN=str(self.admin),
            PX_HOSTS=self.hosts,
            PX_LOG=str(log),
            PX_CERT=certificates()[0],
            PX_KEY=certificates()[1],
            PX_PEM=certificates()[2],
            PX_CORE=PROXY_CORE,
        )
        e.update({k: str(v) for k, v in env.items()})
        self.sh = subprocess.Popen(
            ["taskset", "-c", PROXY_CORE, os.path.join(T, "px.sh"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=e,
            bufsize=1,
        )
        LIVE.append(self)
        self.caps = self.ask("caps").split()
        self.version = self.ask("version")

    def ask(self, cmd):
        self.sh.stdin.write(cmd + "\n")
        return self.sh.stdout.readline().strip()

    def call(self, cmd):
        m = re.match(r"rc=(\d+) pid=(\d+)", self.ask(cmd))
        if not m:
            raise RuntimeError(self.name + ": no answer to " + cmd)
        if int(m[2]):
            self.pid = int(m[2])
        return int(m[1])

    def config(self):
        self.call("px_config")

    def start(self, probe="h0.test", timeout=20):
        """Seconds until the probe host answers 200, or None."""
        if isinstance(get(self.http, "x", timeout=1)[0], int):
            sys.exit("bench: port %d is in use" % self.http)
        t = time.perf_counter()
        self.call("px_start")
        while time.perf_counter() - t < timeout:
            if get(self.http, probe, timeout=timeout)[0] == 200:
                return time.perf_counter() - t
            if not self.alive():
                return None
            time.sleep(0.002)
        return None

    def alive(self):
        try:
            return open("/proc/%d/stat" % self.pid).read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def pids(self):
        return tree(self.pid)

    def stop(self):
        if self not in LIVE:
            return
        LIVE.remove(self)
        pids = self.pids() if self.pid else []
        try:
            self.call("px_stop")
        except Exception:
            pass
        end = time.time() + 2
        while time.time() < end and any(os.path.exists("/proc/%d" % p) and self.running(p) for p in pids):
            time.sleep(0.05)
        for p in pids:
            if self.running(p):
                try:
                    os.kill(p, signal.SIGKILL)
                except OSError:
                    pass
        self.sh.stdin.close()
        self.sh.wait()
        if not os.environ.get("BENCH_KEEP"):
            shutil.rmtree(self.dir, ignore_errors=True)

    def running(self, p):
        try:
            return open("/proc/%d/stat" % p).read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False
