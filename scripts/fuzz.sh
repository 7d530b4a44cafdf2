#!/usr/bin/env bash
# Runs each fuzz target for FUZZTIME (default 10s), one after the other. A crash
# ends the script; go test has then written the input to the package's
# testdata/fuzz, from where it is a test case for good.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/need.sh

need_go
# Only the packages that have a target are built, not all.
found=0
for dir in $(grep -rl --include='*_test.go' '^func Fuzz' . | sed 's,/[^/]*$,,' | sort -u); do
  for target in $(go test -list '^Fuzz' "$dir" | grep '^Fuzz'); do
    echo "$dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-10s}" -fuzzminimizetime 10x "$dir"
    found=$((found + 1))
  done
done
[ "$found" -gt 0 ] || die "no fuzz target was found"
echo "$found fuzz targets, ${FUZZTIME:-10s} each"
