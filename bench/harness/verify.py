"""What each proxy is and does, before it is measured."""
import re, subprocess

from harness.machine import sh
from harness.peers import Origin, Proxy, get
from harness.report import table
from harness.load import own


def run_verify(names):
    o = Origin()
    rows = []
    try:
        for i, name in enumerate(names):
            p = Proxy(name, i)
            p.config()
            t = p.start()
            if t is None:
                rows.append([name, "did not start: see px.log"])
                p.stop()
                continue
            body = get(p.http, "h7.test", "/echo")[2]
            hd = [l.split(":")[0] for l in body.split("\r\n")[1:] if l]
            tl = (
                sh(
                    "openssl",
                    "s_client",
                    "-connect",
                    "127.0.0.1:%d" % p.tls,
                    "-servername",
                    "h7.test",
                    "-alpn",
                    "h2,http/1.1",
                    stdin=subprocess.DEVNULL,
                ).stdout
                if "tls" in p.caps
                else ""
            )
            m = re.search(r"New, ([^,]+), Cipher is (\S+)", tl)
            al = re.search(r"ALPN protocol: (\S+)", tl)
            w = own("ws", p.http, "--conc", 4, "--secs", 0.3) if "ws" in p.caps else {}
            rows.append(
                [
                    name,
                    p.version,
                    "%.2f" % t,
                    get(p.http, "unknown.test")[0],
                    " ".join(h for h in hd if h.lower().startswith(("x-fo", "forwarded", "via"))),
                    "h7" if "h7.test" in body else "?",
                    (m[1] + " " + m[2] if m else "-"),
                    al[1] if al else "-",
                    "%s ok %s err" % (w.get("n"), w.get("err")),
                    get(p.tls - 1, "h1.test", "/1m")[2].count("m"),
                ]
            )
            p.stop()
        table(
            [
                "proxy",
                "version",
                "start s",
                "unknown host",
                "forwarding headers the origin saw",
                "Host",
                "TLS",
                "ALPN",
                "WebSocket",
                "1m bytes",
            ],
            rows,
        )
    finally:
        o.stop()
