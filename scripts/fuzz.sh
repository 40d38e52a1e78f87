#!/usr/bin/env bash
# Runs every fuzz target of the harness for the given time each (default 5s).
set -euo pipefail
time=${1:-5s}
grep -rlE '^func Fuzz' --include=*_test.go goharness cmd | while read -r file; do
  pkg=./$(dirname "$file")
  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | awk '{print $2}' | while read -r target; do
    echo "fuzz $pkg $target $time"
    go test "$pkg" -run '^$' -fuzz "^$target\$" -fuzztime "$time" </dev/null
  done
done
