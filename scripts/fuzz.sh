#!/usr/bin/env bash
# Runs every fuzz target of the harness for the given time each (default 5s).
set -euo pipefail
time=${1:-5s}
# What is fuzzed is Go. With cgo every kernel would be compiled once more, with the fuzzer's instrumentation around it.
export CGO_ENABLED=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# One target. Before Go 1.27 the end of -fuzztime can surface as a failure "context deadline exceeded"
# (golang/go#75804). An input that fails is always written to testdata and named: without one, that
# message alone is no finding.
fuzz() {
  echo "fuzz $1 $2 $time"
  if go test "$1" -run '^$' -fuzz "^$2\$" -fuzztime "$time" -fuzzminimizetime 100x </dev/null 2>&1 | tee "$log"; then return; fi
  if grep -q 'Failing input written' "$log" || ! grep -qx ' *context deadline exceeded' "$log"; then return 1; fi
  echo "fuzz $1 $2: the time was up, nothing was found"
}

grep -rlE '^func Fuzz' --include=*_test.go goharness cmd | while read -r file; do
  grep -oE '^func Fuzz[A-Za-z0-9_]*' "$file" | awk '{print $2}' | while read -r target; do
    fuzz "./$(dirname "$file")" "$target"
  done
done
