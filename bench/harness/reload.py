"""Reloads one after the other under load."""
import json, os, signal, subprocess, time

from harness.machine import LOAD_CORE, T, mem_kib, quiet
from harness.peers import ORIGIN, Origin, Proxy, get
from harness.report import record, table


def run_reload(names, count, nhosts):
    o = Origin()
    rows = []
    try:
        for i, name in enumerate(names):
            p = Proxy(name, i, nhosts=nhosts, PX_RELOADABLE=1, **({"PX_NOTLS": 1} if nhosts > 1000 else {}))
            if "reload" not in p.caps:
                p.stop()
                continue
            p.config()
            if p.start(timeout=60) is None:
                rows.append([name, "did not start"] + [""] * 9)
                p.stop()
                continue
            ld = subprocess.Popen(
                [
                    "taskset",
                    "-c",
                    LOAD_CORE,
                    os.path.join(T, "load"),
                    "rate",
                    "--port",
                    str(p.http),
                    "--rps",
                    "1000",
                    "--conc",
                    "16",
                    "--newfrac",
                    "0.3",
                    "--secs",
                    "280",
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
            quiet()
            lat, pollerr, lost, peak, peakp = [], 0, 0, 0, 0
            t00 = time.time()
            for k in range(count):
                if time.time() - t00 > 250:
                    break
                open(p.hosts, "a").write("new%d.test\t127.0.0.1:%d\n" % (k, ORIGIN + k % 100))
                p.config()
                t = time.perf_counter()
                p.call("px_reload")
                seen = False
                while time.perf_counter() - t < 5:
                    s = get(p.http, "new%d.test" % k, timeout=5)[0]
                    if s == 200:
                        seen = True
                        break
                    if isinstance(s, str):
                        pollerr += 1
                    time.sleep(0.001)
                if seen:
                    lat.append((time.perf_counter() - t) * 1e3)
                else:
                    lost += 1
                q = p.pids()
                peakp = max(peakp, len(q))
                peak = max(peak, mem_kib(q)[0] if k % 5 == 4 else 0)
            took = time.time() - t00
            ld.send_signal(signal.SIGTERM)
            j = json.loads(ld.communicate()[0])
            lat.sort()
            fnew = sum(v for e, v in j["errors"].items() if e.startswith(("new:", "connect", "status")))
            freu = sum(v for e, v in j["errors"].items() if e.startswith("reused"))
            foth = j["fail"] - fnew - freu
            add = []
            if "addhost" in p.caps:
                for k in range(count):
                    t = time.perf_counter()
                    p.call("px_addhost add%d.test 127.0.0.1:%d" % (k, ORIGIN + k % 100))
                    while time.perf_counter() - t < 5 and get(p.http, "add%d.test" % k)[0] != 200:
                        time.sleep(0.001)
                    add.append((time.perf_counter() - t) * 1e3)
            alive = get(p.http, "h1.test")[0]
            record(
                kind="summary",
                scenario="reload",
                hosts=nhosts,
                proxy=name,
                version=p.version,
                reloads=count,
                took=took,
                lat_ms=lat,
                lost=lost,
                load=j,
                fail_new=fnew,
                fail_reused=freu,
                fail_other=foth,
                poll_errors=pollerr,
                peak_pss=peak,
                peak_procs=peakp,
                add_ms=add,
                alive=alive,
            )
            m = lambda v, q: "%.1f" % v[min(len(v) - 1, int(q * len(v)))] if v else "-"
            rows.append(
                [
                    name,
                    len(lat),
                    m(lat, 0.5),
                    m(lat, 0.99),
                    m(sorted(add), 0.5),
                    j["ok"],
                    fnew,
                    freu,
                    foth,
                    "%.1f" % (j["p99_us"] / 1e3),
                    "%.0f" % (j["max_us"] / 1e3),
                    peakp,
                    "%.0f" % (peak / 1024),
                    lost,
                ]
            )
            p.stop()
        print("\n## reload: %d consecutive reloads, %d hosts, 1000 req/s (30 %% on new connections)" % (count, nhosts))
        table(
            [
                "proxy",
                "reloads",
                "new host p50 ms",
                "p99 ms",
                "API add p50 ms",
                "ok",
                "failed: new",
                "failed: reused",
                "other",
                "p99 ms under load",
                "max ms",
                "procs peak",
                "PSS peak MiB",
                "never seen",
            ],
            rows,
        )
    finally:
        o.stop()
