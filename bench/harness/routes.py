"""Start time, memory and cost of many host names."""
import os, time

from harness.machine import WORK, med, mem_kib
from harness.peers import Origin, Proxy
from harness.report import record, table
from harness.load import wrk
from harness.steady import sample


def run_routes(names, counts, secs):
    o = Origin()
    rows = []
    try:
        for n in counts:
            hf = os.path.join(WORK, "names%d" % n)
            open(hf, "w").write("".join("h%d.test\n" % (k * (n // 100) + n // 200) for k in range(100)))
            for i, name in enumerate(names):
                p = Proxy(name, i, nhosts=n, PX_NOTLS=1)
                if "routes" not in p.caps:
                    p.stop()
                    continue
                p.config()
                t = p.start(probe="h%d.test" % (n - 1), timeout=90)
                if t is None:
                    record(kind="summary", scenario="routes", n=n, proxy=name, start=None)
                    rows.append([name, n, "not in 90 s"] + [""] * 6)
                    p.stop()
                    continue
                time.sleep(1)
                pss, rss = mem_kib(p.pids())
                wrk(p.http, 0, "/s", 64, 1, hf)
                rs = [sample(o, p, lambda q, s: wrk(q.http, 0, "/s", 64, s, hf), secs) for _ in range(3)]
                c = med([r["cpu_100k"] for r in rs])
                record(
                    kind="summary",
                    scenario="routes",
                    n=n,
                    proxy=name,
                    version=p.version,
                    start=t,
                    pss=pss,
                    rss=rss,
                    cpu_100k=c,
                    rate=med([r["rate"] for r in rs]),
                    err=sum(r["err"] for r in rs),
                )
                rows.append(
                    [
                        name,
                        n,
                        "%.2f" % t,
                        "%.1f" % (pss / 1024),
                        "%.1f" % (rss / 1024),
                        "%.2f" % (pss / n),
                        "%.0f" % med([r["rate"] for r in rs]),
                        "%.2f" % c,
                        sum(r["err"] for r in rs),
                    ]
                )
                p.stop()
        print("\n## routes: many host names configured (plain HTTP), 64 connections over 100 of them")
        table(["proxy", "hosts", "start s", "PSS MiB", "RSS MiB", "KiB/host", "req/s", "CPU s/100k", "errors"], rows)
    finally:
        o.stop()
