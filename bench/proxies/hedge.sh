# Adapter for our edge. HEDGE names the binary (default: on PATH).
HEDGE=${HEDGE:-hedge}
px_caps() { echo h1 log tls h2 ws mem routes register reload dns addhost; }
px_version() { "$HEDGE" --version | awk '{print $NF}'; }
# The settings file is for a few routes; many are in the store, where the manager puts them.
px_store_routes() {
  "$HEDGE" --state-dir "$PX_DIR/state" route add seed.test tcp:127.0.0.1:1 >/dev/null 2>&1
  python3 - "$PX_DIR/state/routes.db" "$PX_HOSTS" <<'PY'
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as store, open(sys.argv[2]) as hosts:
    store.executemany("INSERT OR REPLACE INTO routes VALUES (?, 0, 'tcp:' || ?, 'http1', '', 'live')",
                      (line.rstrip().split("\t") for line in hosts))
PY
}
px_config() {
  {
    printf '[edge]\nstate_dir = "%s/state"\ncontrol = "%s/edge.sock"\nworkers = 1\n' "$PX_DIR" "$PX_DIR"
    printf 'http = "127.0.0.1:%s"\n' "$PX_HTTP"
    [ "${PX_NOTLS:-0}" = 1 ] || printf 'https = "127.0.0.1:%s"\ncertificate = "%s"\nprivate_key = "%s"\n' "$PX_TLS" "$PX_CERT" "$PX_KEY"
    [ "${PX_LOG:-0}" = 1 ] && printf 'access_log = "%s/access.log"\n' "$PX_DIR" || printf 'access_log = "off"\n'
    [ -n "${PX_DNS_PORT:-}" ] && printf 'dns_servers = ["127.0.0.1:%s"]\n' "$PX_DNS_PORT"
    if [ "$(wc -l <"$PX_HOSTS")" -gt 5000 ]; then
      px_store_routes >&2
      return
    fi
    while IFS=$'\t' read -r host upstream; do
      case "$upstream" in
        [0-9]*) printf '[[routes]]\nhost = "%s"\nupstream = "tcp:%s"\n' "$host" "$upstream" ;;
        *) printf '[[routes]]\nhost = "%s"\nupstream = "dns:%s"\n' "$host" "$upstream" ;;
      esac
    done <"$PX_HOSTS"
  } >"$PX_DIR/edge.toml"
}
px_start() { "$HEDGE" edge run --config "$PX_DIR/edge.toml" >"$PX_DIR/out" 2>&1 & PX_PID=$!; }
px_reload() { kill -HUP "$PX_PID"; }
px_addhost() { "$HEDGE" --state-dir "$PX_DIR/state" route add "$1" "tcp:$2" >/dev/null; }
px_stop() { kill "$PX_PID"; wait "$PX_PID" 2>/dev/null; }
