"""This machine: its two cores, who uses them, and what a process tree costs."""
import os, statistics, subprocess, sys, tempfile, time

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

T = os.path.join(BENCH, "tools")

LOAD_CORE, PROXY_CORE = os.environ.get("BENCH_LOAD_CORE", "0"), os.environ.get("BENCH_PROXY_CORE", "1")

NICE = os.environ.get("BENCH_NICE", "-10")

WORK = tempfile.mkdtemp(prefix="bench-")

med = statistics.median


def sh(*a, **k):
    return subprocess.run(a, capture_output=True, text=True, errors="replace", **k)


def corestat(core):
    for l in open("/proc/stat"):
        f = l.split()
        if f[0] == "cpu" + core:
            v = list(map(int, f[1:9]))
            return {"busy": v[0] + v[1] + v[2] + v[5] + v[6], "steal": v[7], "all": sum(v)}


def tree(root):
    kids = {}
    for d in os.listdir("/proc"):
        if d.isdigit():
            try:
                s = open("/proc/%s/stat" % d).read()
                kids.setdefault(int(s[s.rindex(")") + 2 :].split()[1]), []).append(int(d))
            except OSError:
                pass
    out, todo = [], [root]
    while todo:
        p = todo.pop()
        if os.path.exists("/proc/%d" % p):
            out.append(p)
        todo += kids.get(p, [])
    return out


def cpu_ns(pids):
    r = {}
    for p in pids:
        try:
            for t in os.listdir("/proc/%d/task" % p):
                r[(p, t)] = int(open("/proc/%d/task/%s/schedstat" % (p, t)).read().split()[0])
        except OSError:
            pass
    return r


def cpu_diff(a, b):
    return sum(v - a.get(k, 0) for k, v in b.items()) / 1e9


def mem_kib(pids):
    pss = rss = 0
    for p in pids:
        try:
            for l in open("/proc/%d/smaps_rollup" % p):
                if l.startswith("Pss:"):
                    pss += int(l.split()[1])
                elif l.startswith("Rss:"):
                    rss += int(l.split()[1])
        except OSError:
            pass
    return pss, rss


def quiet(limit=15):
    """Waits (up to limit seconds) until nobody else uses the two cores."""
    end = time.time() + limit
    while time.time() < end:
        a = {c: corestat(c) for c in (LOAD_CORE, PROXY_CORE)}
        time.sleep(0.25)
        b = {c: corestat(c) for c in a}
        if all((b[c]["busy"] - a[c]["busy"]) / max(1, b[c]["all"] - a[c]["all"]) < 0.12 for c in a):
            return True
    return False


def prio():
    try:
        os.setpriority(os.PRIO_PROCESS, 0, int(NICE))
    except OSError:
        print("bench: cannot set priority %s" % NICE, file=sys.stderr)
