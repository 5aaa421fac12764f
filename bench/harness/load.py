"""The load generators, each as a function that returns {"n", "secs", "err", …}, and the load scenarios."""
import json, os, re, subprocess

from harness.machine import LOAD_CORE, T, sh


def wrk(port, tls, path, conns, secs, hosts=None, fields=None):
    env = dict(os.environ, BENCH_PATH=path, OPENSSL_CONF=os.path.join(T, "openssl-client.cnf"))
    if hosts:
        env["BENCH_HOSTS_FILE"] = hosts
    if fields:
        env["BENCH_FIELDS_FILE"] = os.path.join(T, fields)
    url = "https://localhost:%d/" % port if tls else "http://127.0.0.1:%d/" % port
    r = sh(
        "taskset",
        "-c",
        LOAD_CORE,
        "wrk",
        "-t1",
        "-c%d" % conns,
        "-d%gs" % secs,
        "--timeout",
        "5s",
        "-s",
        os.path.join(T, "hosts.lua"),
        url,
        env=env,
    )
    m = re.search(r"JSON (\{.*\})", r.stdout)
    if not m:
        return {"n": 0, "secs": secs, "err": -1, "msg": (r.stdout + r.stderr)[-300:]}
    j = json.loads(m[1])
    return {
        "n": j["n"],
        "secs": j["us"] / 1e6,
        "err": j["err"],
        "p50": j["p50_us"],
        "p99": j["p99_us"],
        "bytes": j["bytes"],
    }


def h2load(port, secs, conns=4, streams=100):
    r = sh(
        "taskset",
        "-c",
        LOAD_CORE,
        "h2load",
        "-t1",
        "-c%d" % conns,
        "-m%d" % streams,
        "-D%g" % secs,
        "--tls13-ciphers=TLS_AES_128_GCM_SHA256",
        "--groups=X25519",
        "--connect-to=127.0.0.1:%d" % port,
        "https://h50.test/s",
    )
    m = re.search(r"requests: (\d+) total, .* (\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", r.stdout)
    p = re.search(r"Application protocol: (\S+)", r.stdout)
    s = re.search(r"status codes: (\d+) 2xx", r.stdout)
    l = re.search(r"time for request:\s+(\S+)\s+(\S+)\s+(\S+)", r.stdout)
    if not m:
        return {"n": 0, "secs": secs, "err": -1, "msg": (r.stdout + r.stderr)[-300:]}
    us = lambda t: float(re.match(r"[\d.]+", t)[0]) * (1 if t.endswith("us") else 1e3 if t.endswith("ms") else 1e6)
    return {
        "n": int(s[1]),
        "secs": secs,
        "err": int(m[3]),
        "p50": us(l[3]),
        "p99": us(l[2]),
        "proto": p[1] if p else "?",
    }


def own(mode, port, *a):
    r = sh("taskset", "-c", LOAD_CORE, os.path.join(T, "load"), mode, "--port", str(port), *map(str, a))
    try:
        j = json.loads(r.stdout)
    except ValueError:
        return {"n": 0, "secs": 1, "err": -1, "msg": r.stderr[-300:]}
    return {
        "n": j["ok"],
        "secs": j["secs"],
        "err": j["fail"],
        "p50": j["p50_us"],
        "p99": j["p99_us"],
        "p999": j["p999_us"],
        "resumed": j["resumed"],
        "errors": j["errors"],
    }


def hold(port, n, tls=False):
    h = subprocess.Popen(
        ["taskset", "-c", LOAD_CORE, os.path.join(T, "load"), "hold", "--port", str(port), "--n", str(n)]
        + (["--tls"] if tls else []),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return h, json.loads(h.stdout.readline().replace("READY ", "") or "{}")


LOADS = {  # name: (capability, log, driver(proxy, secs), unit, what)
    "h1": (
        "h1",
        0,
        lambda p, s: wrk(p.http, 0, "/s", 64, s),
        "req",
        "HTTP/1.1 keep-alive, 128 B, 64 connections, 100 hosts, log off",
    ),
    "h1-browser": (
        "h1",
        0,
        lambda p, s: wrk(p.http, 0, "/s", 64, s, fields="browser-fields.txt"),
        "req",
        "the same with the 16 header fields of a browser (about 700 bytes)",
    ),
    "h1log": ("log", 1, lambda p, s: wrk(p.http, 0, "/s", 64, s), "req", "as h1, access log on (to a file)"),
    "h1-64k": (
        "h1",
        0,
        lambda p, s: wrk(p.http, 0, "/64k", 32, s),
        "req",
        "HTTP/1.1 keep-alive, 64 KiB bodies, 32 connections",
    ),
    "h1-1m": (
        "h1",
        0,
        lambda p, s: wrk(p.http, 0, "/1m", 16, s),
        "req",
        "HTTP/1.1 keep-alive, 1 MiB bodies, 16 connections",
    ),
    "rate": (
        "h1",
        0,
        lambda p, s: own("rate", p.http, "--rps", 5000, "--conc", 64, "--secs", s),
        "req",
        "open loop at 5000 req/s, 64 connections, 128 B: latency from the planned send time",
    ),
    "tls": (
        "tls",
        0,
        lambda p, s: wrk(p.tls, 1, "/s", 64, s),
        "req",
        "TLS 1.3 (AES-128-GCM) HTTP/1.1 keep-alive, 128 B, 64 connections",
    ),
    "tls-64k": (
        "tls",
        0,
        lambda p, s: wrk(p.tls, 1, "/64k", 32, s),
        "req",
        "TLS 1.3 HTTP/1.1 keep-alive, 64 KiB bodies, 32 connections",
    ),
    "h2": (
        "h2",
        0,
        lambda p, s: h2load(p.tls, s),
        "req",
        "HTTP/2 over TLS 1.3, 4 connections x 100 streams, one host; p50 column is the mean, p99 column the maximum",
    ),
    "hs": (
        "tls",
        0,
        lambda p, s: own("hs", p.tls, "--tls", "--conc", 16, "--secs", s),
        "conn",
        "new TLS 1.3 connection (full handshake, ECDSA P-256, X25519) + 1 request",
    ),
    "hs-resume": (
        "tls",
        0,
        lambda p, s: own("hs", p.tls, "--tls", "--resume", "--conc", 16, "--secs", s),
        "conn",
        "new TLS 1.3 connection, resumed (PSK with X25519) + 1 request",
    ),
    "ws": (
        "ws",
        0,
        lambda p, s: own("ws", p.http, "--conc", 32, "--secs", s),
        "msg",
        "WebSocket echo, 64 B messages, 32 connections, ping-pong",
    ),
}
