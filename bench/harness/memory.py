"""Memory of idle connections."""
import time

from harness.machine import cpu_diff, cpu_ns, mem_kib
from harness.peers import Origin, Proxy, get
from harness.report import record, table
from harness.load import hold, own


def run_mem(sc, names, n):
    o = Origin()
    rows = []
    try:
        for i, name in enumerate(names):
            p = Proxy(name, i)
            if "mem" not in p.caps:
                p.stop()
                continue
            p.config()
            if p.start() is None:
                rows.append([name, "did not start"] + [""] * 6)
                p.stop()
                continue
            tls = sc == "mem-tls"
            own("hs", p.tls if tls else p.http, "--secs", 0.3, *(["--tls"] if tls else []))
            time.sleep(0.5)
            pss0, rss0 = mem_kib(p.pids())
            h, j = hold(p.tls if tls else p.http, n, tls)
            time.sleep(1)
            pss1, rss1 = mem_kib(p.pids())
            i0 = cpu_ns(p.pids())
            time.sleep(2)
            idle = cpu_diff(i0, cpu_ns(p.pids())) / 2
            s = get(p.http, "h1.test")
            h.stdin.close()
            h.wait()
            time.sleep(1)
            pss2, _ = mem_kib(p.pids())
            per = (pss1 - pss0) / max(1, j.get("held", 0))
            record(
                kind="summary",
                scenario=sc,
                proxy=name,
                version=p.version,
                held=j.get("held"),
                errors=j.get("errors"),
                base_pss=pss0,
                base_rss=rss0,
                held_pss=pss1,
                held_rss=rss1,
                after_pss=pss2,
                kib_per_conn=per,
                idle_cpu=idle,
                serves=s[0],
            )
            rows.append(
                [
                    name,
                    j.get("held"),
                    "%.1f" % (pss0 / 1024),
                    "%.1f" % (pss1 / 1024),
                    "%.1f" % (rss1 / 1024),
                    "%.2f" % per,
                    "%.1f" % (pss2 / 1024),
                    "%.2f%%" % (100 * idle),
                    s[0],
                ]
            )
            p.stop()
        print(
            "\n## %s: %d idle %sconnections, one request served on each"
            % (sc, n, "TLS 1.3 " if sc == "mem-tls" else "keep-alive ")
        )
        table(
            [
                "proxy",
                "held",
                "base PSS MiB",
                "held PSS MiB",
                "held RSS MiB",
                "KiB/conn",
                "after close MiB",
                "idle CPU",
                "still serves",
            ],
            rows,
        )
    finally:
        o.stop()
