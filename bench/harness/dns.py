"""An upstream name that does not resolve, or whose name server is silent."""
import os, socket, sys, threading, time

from harness.machine import BENCH, WORK
from harness.peers import ORIGIN, Origin, Proxy, get
from harness.report import record, table


class DNS(threading.Thread):  # answers A nosuch.invalid with 127.0.0.1, NXDOMAIN, or not at all, as .mode says
    def __init__(self):
        super().__init__(daemon=True)
        self.mode, self.asked = "nx", 0
        self.s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.s.bind(("127.0.0.1", 53))
        self.start()

    def run(self):
        while True:
            d, a = self.s.recvfrom(1500)
            self.asked += 1
            if self.mode == "drop":
                continue
            e = 12
            while d[e]:
                e += d[e] + 1
            qt = int.from_bytes(d[e + 1 : e + 3], "big")
            q = d[12 : e + 5]
            yes = self.mode == "ok"
            r = (
                d[:2]
                + (b"\x81\x80" if yes else b"\x81\x83")
                + b"\0\1"
                + (b"\0\1" if yes and qt == 1 else b"\0\0")
                + b"\0\0\0\0"
                + q
            )
            if yes and qt == 1:
                r += b"\xc0\x0c\0\1\0\1\0\0\0\1\0\4\x7f\0\0\1"
            self.s.sendto(r, a)


def run_dns(names):
    if not os.environ.get(
        "BENCH_NS"
    ):  # own network and mount namespace: own resolv.conf, a name server on port 53 seen by nobody else
        r = os.path.join(WORK, "resolv.conf")
        open(r, "w").write("nameserver 127.0.0.1\n")
        os.execvpe(
            "unshare",
            [
                "unshare",
                "-mn",
                "sh",
                "-c",
                'ip link set lo up && mount --bind "%s" "$(readlink -f /etc/resolv.conf)" && exec "$0" "$@"' % r,
                sys.executable,
                os.path.abspath(sys.argv[0]),
            ]
            + sys.argv[1:],
            dict(os.environ, BENCH_NS="1", BENCH_RM=WORK),
        )
    dns = DNS()
    o = Origin()
    rows = []
    extra = [("bad.test", "nosuch.invalid:%d" % ORIGIN)]
    try:
        for i, name in enumerate(names):
            for mode in ("default", "tolerant"):
                row = {}
                for first in ("nx", "drop", "ok"):
                    dns.mode = first
                    p = Proxy(name, i, nhosts=99, extra=extra, PX_DNS_MODE=mode, PX_DNS_PORT=53)
                    if "dns" not in p.caps or (
                        mode == "tolerant"
                        and "PX_DNS_MODE" not in open(os.path.join(BENCH, "proxies", name + ".sh")).read()
                    ):
                        p.stop()
                        row = None
                        break
                    p.config()
                    t0 = time.time()
                    t = p.start(timeout=25)
                    row[first + "_start"] = t
                    row[first + "_took"] = time.time() - t0
                    if t is not None:
                        r = get(p.http, "bad.test", timeout=15)
                        row[first + "_bad"] = (r[0], r[1])
                        g = get(p.http, "h1.test")
                        row[first + "_good"] = g[0]
                        if first == "nx":
                            dns.mode = "ok"
                            t = time.time()
                            while time.time() - t < 12 and get(p.http, "bad.test")[0] != 200:
                                time.sleep(0.1)
                            row["recovers"] = time.time() - t if time.time() - t < 12 else None
                        if first == "ok":
                            dns.mode = "nx"
                            time.sleep(4)
                            r = get(p.http, "bad.test", timeout=15)
                            row["later_nx"] = (r[0], r[1])
                        if first == "drop":  # is another host served while a look-up hangs?
                            th = threading.Thread(target=get, args=(p.http, "bad.test", "/s", 6))
                            th.start()
                            time.sleep(0.2)
                            g = get(p.http, "h1.test", timeout=6)
                            row["drop_other"] = (g[0], g[1])
                            th.join()
                    else:
                        try:
                            row[first + "_msg"] = " ".join(
                                open(os.path.join(p.dir, f)).read().strip()[-200:]
                                for f in ("px.log", "error.log", "out.log")
                                if os.path.exists(os.path.join(p.dir, f))
                            )[:300]
                        except OSError:
                            pass
                    p.stop()
                if row is None:
                    continue
                record(kind="summary", scenario="dns", proxy=name, mode=mode, **row)
                st = (
                    lambda k: "no (%.0f s)" % row[k + "_took"]
                    if row[k + "_start"] is None
                    else "yes %.1f s" % row[k + "_start"]
                )
                rq = lambda k: "-" if k not in row else "%s %.1f s" % row[k]
                rows.append(
                    [
                        name,
                        mode,
                        st("nx"),
                        rq("nx_bad"),
                        "-"
                        if "recovers" not in row
                        else ("%.1f s" % row["recovers"] if row["recovers"] is not None else "no"),
                        st("drop"),
                        rq("drop_bad"),
                        rq("drop_other"),
                        rq("later_nx"),
                    ]
                )
        print("\n## dns: one of 100 upstream names does not resolve")
        table(
            [
                "proxy",
                "config",
                "NXDOMAIN: starts",
                "its host answers",
                "recovers without reload",
                "DNS silent: starts",
                "its host answers",
                "other host meanwhile",
                "NXDOMAIN after start",
            ],
            rows,
        )
    finally:
        o.stop()
