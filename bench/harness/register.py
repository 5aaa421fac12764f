"""Hosts registered one after the other at a proxy that has many and is under full load: when each is served, and what fails meanwhile."""
import http.client, json, os, socket, subprocess, time

from harness.machine import LOAD_CORE, T, mem_kib
from harness.peers import ORIGIN, Origin, Proxy
from harness.report import record, table

LIMIT_MS = 10
SEEN_SECONDS = 5


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("edge", timeout=SEEN_SECONDS)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def is_served(client, host):
    client.request("GET", "/s", headers={"Host": host})
    r = client.getresponse()
    r.read()
    return r.status == 200


def register(control, client, host, upstream):
    """(ms until the interface has answered, ms until a request is answered); the second is None if it never was."""
    t = time.perf_counter()
    control.request("PUT", "/v1/routes/" + host, body=json.dumps({"upstream": "tcp:" + upstream}),
                    headers={"Content-Type": "application/json"})
    r = control.getresponse()
    r.read()
    told = (time.perf_counter() - t) * 1e3
    while r.status == 200 and time.perf_counter() - t < SEEN_SECONDS:
        if is_served(client, host):
            return told, (time.perf_counter() - t) * 1e3
    return told, None


def load_beside(port, secs):
    """Full load on keep-alive connections, in the background."""
    env = dict(os.environ, BENCH_PATH="/s")
    return subprocess.Popen(["taskset", "-c", LOAD_CORE, "wrk", "-t1", "-c64", "-d%ds" % secs, "--timeout", "5s", "-s",
                             os.path.join(T, "hosts.lua"), "http://127.0.0.1:%d/" % port], env=env, stdout=subprocess.PIPE, text=True)


def run_one(p, changes, secs):
    control, client = UnixConnection(os.path.join(p.dir, "edge.sock")), http.client.HTTPConnection("127.0.0.1", p.http, timeout=5)
    # The store is made and read before anything is measured.
    register(control, client, "first.test", "127.0.0.1:%d" % ORIGIN)
    load = load_beside(p.http, secs)
    time.sleep(1)
    began, told, seen, lost, n = time.time(), [], [], 0, 0
    while n < changes and time.time() - began < secs - 3:
        a, b = register(control, client, "new%d.test" % n, "127.0.0.1:%d" % (ORIGIN + n % 100))
        told.append(a)
        seen += [b] if b is not None else []
        lost += b is None
        n += 1
    out = load.communicate()[0]
    j = json.loads(out[out.index("JSON ") + 5:].splitlines()[0]) if "JSON " in out else {"n": 0, "err": -1, "max_us": 0}
    return n, sorted(told), sorted(seen), lost, j


def run_register(names, nhosts, changes=1000, secs=60):
    o = Origin()
    rows = []
    at = lambda v, q: v[min(len(v) - 1, int(q * len(v)))] if v else float("nan")
    try:
        for i, name in enumerate(names):
            p = Proxy(name, i, nhosts=nhosts, PX_NOTLS=1)
            if "register" not in p.caps:
                p.stop()
                continue
            p.config()
            if p.start(timeout=90) is None:
                rows.append([name, "did not start"] + [""] * 10)
                p.stop()
                continue
            n, told, seen, lost, j = run_one(p, changes, secs)
            ok = n == changes and not lost and not j["err"] and at(seen, 0.99) < LIMIT_MS
            record(kind="summary", scenario="register", proxy=name, version=p.version, hosts=nhosts, changes=n, told_ms=told, seen_ms=seen,
                   lost=lost, load=j, pss=mem_kib(p.pids())[0])
            rows.append([name, nhosts, n] + ["%.2f" % x for x in (at(told, 0.5), at(seen, 0.5), at(seen, 0.99), at(seen, 1))] +
                        [sum(x >= LIMIT_MS for x in seen) + lost, j["n"], j["err"], "%.1f" % (j["max_us"] / 1e3), "yes" if ok else "NO"])
            p.stop()
        print("\n## register: %d hosts registered one by one under full load; ms from the call to the first answer on the new host" % changes)
        table(["proxy", "hosts", "changes", "told p50", "served p50", "p99", "max", "%d ms or more" % LIMIT_MS, "load ok", "load failed",
               "load max ms", "as wanted"], rows)
    finally:
        o.stop()
