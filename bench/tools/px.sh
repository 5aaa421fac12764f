#!/usr/bin/env bash
# Runs one proxy definition for bench/run: reads commands on stdin, answers "rc=N pid=P" on fd 3 (the original stdout).
# Environment from bench/run: BENCH PX_DIR PX_HTTP PX_TLS PX_ADMIN PX_HOSTS PX_LOG PX_CERT PX_KEY PX_PEM PX_RELOADABLE PX_DNS_MODE PX_DNS_PORT
exec 3>&1 >> "$PX_DIR/px.log" 2>&1
. "$BENCH/proxies/$1.sh"
while read -r cmd; do
  if [ "$cmd" = version ]; then echo "$(px_version)" >&3; continue; fi
  if [ "$cmd" = caps ]; then echo "$(px_caps)" >&3; continue; fi
  $cmd 3>&-; rc=$?
  echo "rc=$rc pid=${PX_PID:-0}" >&3
done
