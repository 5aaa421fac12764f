#!/usr/bin/env bash
# Builds the bench tools next to their sources (needs g++ and libssl-dev).
set -e
cd "$(dirname "$0")"
for t in origin relay load; do
  if [ ! -x "$t" ] || [ "$t.cpp" -nt "$t" ] || [ -n "$(find . -name "${t}_*.h" -newer "$t")" ]; then g++ -O2 -std=c++20 -o "$t" "$t.cpp" -lssl -lcrypto; fi
done
