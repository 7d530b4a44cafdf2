#!/usr/bin/env bash
# Measures the figures of docs/benchmarks.md on a private PostgreSQL with its
# shipped durability, and writes that page. Arguments go to the program.
# Not part of the tests: it takes long, and says little on a busy machine.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/need.sh

need_go
[ -d cmd/bench ] || die "there is nothing to measure yet: cmd/bench does not exist"
exec scripts/with-postgres.sh go run ./cmd/bench "$@"
