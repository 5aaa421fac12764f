"""Steady load: interleaved rounds over all proxies, medians, repeats where the machine was not quiet."""
import os

from harness.machine import LOAD_CORE, PROXY_CORE, corestat, cpu_diff, cpu_ns, med, quiet
from harness.peers import ORIGIN, Origin, Proxy
from harness.report import record, table
from harness.load import LOADS, wrk


def sample(o, p, fn, secs):
    q = quiet()
    pids = p.pids()
    s0 = o.stats()
    c0, l0 = corestat(PROXY_CORE), corestat(LOAD_CORE)
    a = cpu_ns(pids)
    oc = cpu_ns([o.p.pid])
    ch0 = os.times()
    r = fn(p, secs)
    b = cpu_ns(p.pids())
    oc1 = cpu_ns([o.p.pid])
    ch1 = os.times()
    c1, l1 = corestat(PROXY_CORE), corestat(LOAD_CORE)
    s1 = o.stats()
    r["quiet"] = q
    r["cpu_s"] = cpu_diff(a, b)
    wall = (c1["all"] - c0["all"]) / 100 or 1
    r["cpu_100k"] = r["cpu_s"] / r["n"] * 1e5 if r["n"] else float("nan")
    r["rate"] = r["n"] / r["secs"]
    r["proxy_busy"] = r["cpu_s"] / wall
    r["foreign_p"] = (
        max(0, (c1["busy"] - c0["busy"]) / 100 - r["cpu_s"]) / wall + (c1["steal"] - c0["steal"]) / 100 / wall
    )
    mine = (
        cpu_diff(oc, oc1)
        + (ch1.children_user - ch0.children_user)
        + (ch1.children_system - ch0.children_system)
        + (ch1.user - ch0.user)
        + (ch1.system - ch0.system)
    )
    r["foreign_l"] = max(0, (l1["busy"] - l0["busy"]) / 100 - mine) / wall + (l1["steal"] - l0["steal"]) / 100 / wall
    r["load_busy"] = (l1["busy"] - l0["busy"]) / ((l1["all"] - l0["all"]) or 1)
    r["upconn_1k"] = (s1["accept"] - s0["accept"] - 1) / r["n"] * 1e3 if r["n"] else 0
    return r


def paired(mine, peers):
    """Median and quartiles of the CPU ratio to a peer's sample of the same round; None where there is no such pair."""
    x = sorted(a["cpu_100k"] / b["cpu_100k"] for a, b in zip(mine, peers) if a["n"] and b["n"])
    return (med(x), x[len(x) // 4], x[(3 * len(x)) // 4 if len(x) > 4 else len(x) - 1]) if x else None


def run_load(sc, names, rounds, secs):
    cap, log, fn, unit, what = LOADS[sc]
    o = Origin()
    ps = []
    bad = {}
    try:
        for i, n in enumerate(names):
            p = Proxy(n, i, log=log)
            if cap not in p.caps:
                p.stop()
                bad[n] = "not supported"
                continue
            p.config()
            if p.start() is None:
                bad[n] = "did not start"
                p.stop()
                continue
            ps.append(p)
        runs = {p.name: [] for p in ps}
        for p in ps:
            fn(p, 1.0)

        def clean(n):
            c = [r for r in runs[n] if r["foreign_p"] < 0.10 and r["foreign_l"] < 0.15]
            return c if len(c) >= 3 else runs[n]

        def spread(n):
            v = sorted(r["cpu_100k"] for r in clean(n))
            return (v[-1] - v[0]) / med(v)

        def go(q, k):
            r = sample(o, q, fn, secs)
            runs[q.name].append(r)
            record(kind="sample", scenario=sc, proxy=q.name, round=k, **r)

        for k in range(rounds):
            for p in ps:
                go(p, k)
        for k in range(
            rounds, rounds + 3
        ):  # repeat where the spread is over 15 %, or where too few runs were undisturbed
            again = [
                p
                for p in ps
                if runs[p.name][0]["n"]
                and (
                    spread(p.name) > 0.15
                    or sum(r["foreign_p"] < 0.10 and r["foreign_l"] < 0.15 for r in runs[p.name]) < 3
                )
            ]
            if not again:
                break
            for p in again:
                go(p, k)
        rows = []
        best = min(
            (p.name for p in ps if not p.name.startswith(("hedge", "limit"))),
            key=lambda n: med([r["cpu_100k"] for r in clean(n)]),
            default=None,
        )
        for p in ps:
            c = clean(p.name)
            m = {
                k: med([r[k] for r in c])
                for k in ("rate", "cpu_100k", "p50", "p99", "proxy_busy", "load_busy", "foreign_p", "upconn_1k")
                if all(k in r for r in c)
            }
            err = sum(r["err"] for r in c)
            b = med([r.get("bytes", 0) / r["secs"] for r in c]) / 1e6
            res = sum(r.get("resumed", 0) for r in c) / max(1, sum(r["n"] for r in c))
            record(
                kind="summary",
                scenario=sc,
                proxy=p.name,
                version=p.version,
                runs=len(c),
                of=len(runs[p.name]),
                spread=spread(p.name),
                err=err,
                MBps=b,
                resumed=res,
                proto=c[0].get("proto"),
                **m
            )
            m.setdefault("p50", 0)
            m.setdefault("p99", 0)
            pair = paired(runs[p.name], runs[best]) if best else None
            rows.append(
                (
                    m["cpu_100k"],
                    [
                        p.name,
                        "%.0f" % m["rate"],
                        "%.2f" % m["cpu_100k"],
                        "%.0f" % (1e5 / m["cpu_100k"]) if m["cpu_100k"] == m["cpu_100k"] else "-",
                        "%.0f" % m["p50"],
                        "%.0f" % m["p99"],
                        "%.0f" % b if b else "%.0f%%" % (100 * res) if sc == "hs-resume" else "-",
                        err,
                        "%.0f%%" % (100 * m["proxy_busy"]),
                        "%.0f%%" % (100 * m["load_busy"]),
                        "%.1f" % m["upconn_1k"],
                        "%.0f%%" % (100 * spread(p.name)),
                        "%d/%d" % (len(c), len(runs[p.name])),
                        "%.2f (%.2f-%.2f)" % pair if pair else "-",
                    ],
                )
            )
        print("\n## %s: %s" % (sc, what))
        table(
            [
                "proxy",
                unit + "/s",
                "CPU s/100k",
                unit + "/CPU s",
                "p50 us",
                "p99 us",
                "resumed" if sc == "hs-resume" else "MB/s",
                "errors",
                "proxy core",
                "load core",
                "upconn/1k",
                "spread",
                "runs",
                "x best peer, paired",
            ],
            [r for _, r in sorted(rows, key=lambda x: x[0])] + [[n, w] + [""] * 12 for n, w in bad.items()],
        )
    finally:
        for p in ps:
            p.stop()
        o.stop()


def run_floor(secs, rounds):
    o = Origin()
    rows = []
    try:
        for path, c in (("/s", 64), ("/64k", 32), ("/1m", 16)):
            rs = []
            for k in range(rounds):
                quiet()
                a = cpu_ns([o.p.pid])
                r = wrk(ORIGIN, 0, path, c, secs)
                r["cpu_s"] = cpu_diff(a, cpu_ns([o.p.pid]))
                r["rate"] = r["n"] / r["secs"]
                rs.append(r)
                record(kind="sample", scenario="floor", proxy="origin" + path, **r)
            rows.append(
                [
                    "origin alone " + path,
                    "%.0f" % med([r["rate"] for r in rs]),
                    "%.2f" % med([r["cpu_s"] / r["n"] * 1e5 for r in rs]),
                    "%.0f" % med([r["p50"] for r in rs]),
                    "%.0f" % med([r["p99"] for r in rs]),
                    "%.0f" % med([r["bytes"] / r["secs"] / 1e6 for r in rs]),
                ]
            )
        print("\n## floor: origin and wrk on the load core, no proxy")
        table(["what", "req/s", "origin CPU s/100k", "p50 us", "p99 us", "MB/s"], rows)
    finally:
        o.stop()
