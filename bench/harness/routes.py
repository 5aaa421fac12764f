"""Start time, memory and cost of many host names; the counts of one proxy run side by side, so that a noisy machine does not matter."""
import os, time

from harness.machine import WORK, med, mem_kib
from harness.peers import Origin, Proxy
from harness.report import record, table
from harness.load import wrk
from harness.steady import sample

ROUNDS = 5


def names_file(n):
    """100 of the n hosts, evenly spread."""
    path = os.path.join(WORK, "names%d" % n)
    with open(path, "w") as f:
        f.write("".join("h%d.test\n" % (k * (n // 100) + n // 200) for k in range(100)))
    return path


def start(name, idx, n):
    """(proxy, start in s, PSS KiB, RSS KiB); None for a proxy that cannot, a start of None for one that did not."""
    p = Proxy(name, idx, nhosts=n, PX_NOTLS=1)
    if "routes" not in p.caps:
        p.stop()
        return None
    p.config()
    t = p.start(probe="h%d.test" % (n - 1), timeout=90)
    if t is None:
        p.stop()
        return p, None, 0, 0
    time.sleep(1)
    return (p, t) + mem_kib(p.pids())


def measure(o, started, secs):
    """n -> samples, one a round for each count in turn."""
    runs = {n: [] for n in started}
    hosts = {n: names_file(n) for n in started}
    for n, s in started.items():
        wrk(s[0].http, 0, "/s", 64, 1, hosts[n])
    for _ in range(ROUNDS):
        for n, s in started.items():
            runs[n].append(sample(o, s[0], lambda q, secs, n=n: wrk(q.http, 0, "/s", 64, secs, hosts[n]), secs))
    return runs


def run_one(o, name, idx, counts, secs):
    rows, started = [], {}
    for i, n in enumerate(counts):
        s = start(name, idx + i, n)
        if s is None:
            continue
        if s[1] is None:
            record(kind="summary", scenario="routes", n=n, proxy=name, start=None)
            rows.append([name, n, "not in 90 s"] + [""] * 7)
        else:
            started[n] = s
    runs = measure(o, started, secs)
    for n, (p, t, pss, rss) in started.items():
        rs, least = runs[n], runs[min(started)]
        c = med([r["cpu_100k"] for r in rs])
        x = sorted(a["cpu_100k"] / b["cpu_100k"] for a, b in zip(rs, least))
        rate, err = med([r["rate"] for r in rs]), sum(r["err"] for r in rs)
        record(kind="summary", scenario="routes", n=n, proxy=name, version=p.version, start=t, pss=pss, rss=rss, cpu_100k=c, rate=rate,
               err=err, x_least=med(x))
        rows.append([name, n, "%.2f" % t, "%.1f" % (pss / 1024), "%.1f" % (rss / 1024), "%.2f" % (pss / n), "%.0f" % rate, "%.2f" % c,
                     "%.2f (%.2f-%.2f)" % (med(x), x[0], x[-1]), err])
        p.stop()
    return rows


def run_routes(names, counts, secs):
    o = Origin()
    rows = []
    try:
        for i, name in enumerate(names):
            rows += run_one(o, name, i * len(counts), counts, secs)
        print("\n## routes: many host names configured (plain HTTP), 64 connections over 100 of them")
        table(["proxy", "hosts", "start s", "PSS MiB", "RSS MiB", "KiB/host", "req/s", "CPU s/100k", "x fewest, paired", "errors"], rows)
    finally:
        o.stop()
