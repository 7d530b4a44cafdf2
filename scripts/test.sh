#!/usr/bin/env bash
# Every test there is, on a machine that needs nothing running: what the tests
# depend on is started, found, installed (Debian, as root) or asked for. Nothing
# is skipped: a skipped test ends this script with status 1.
#
#   scripts/test.sh                    everything
#   scripts/test.sh ./internal/lock    these packages
#
# TEST_POSTGRES_URL names a server to use instead of a private one.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/need.sh

if [ -z "${TEST_POSTGRES_URL:-}" ]; then
  exec scripts/with-postgres.sh scripts/test.sh "$@"
fi

need_go
need cc "gcc libc6-dev" "the race detector is built with a C compiler"
need python3 python3 "line keys are compared with a computation in Python"
need node nodejs "line keys are compared with a computation in Node"
need curl curl "the session of README.md is run as it stands there"

# What is not run under the race detector, with the reason.
no_race=(
  payrollgateway/internal/archtest  # reads source files, starts no goroutine
  payrollgateway/scripts/testreport # likewise
  # SQLite in Go is some fifteen times slower under the detector, and has one
  # writer; what its callers do at the same time is raced below, by name.
  payrollgateway/internal/store/sqlite
  payrollgateway/internal/e2e
)

# What of those is raced all the same: tests in which many do something at once.
raced_anyway() {
  CGO_ENABLED=1 events -race -run '^(TestPayRun|TestCancelInMidRun|TestDrainLeavesNothingInFlight|TestALateAnswerIsEvidence)$' \
    payrollgateway/internal/e2e
}

# Of one package; all of them together have 12 minutes on two cores.
timeout=8m

# Most of what the end-to-end tests do is wait: for a vendor that does not
# answer, for an attempt to become quiet. So more of them run at once than
# there are cores.
events() { # events FLAG... PACKAGE...
  go test -json -count=1 -vet=off -parallel=8 -timeout="$timeout" "$@"
}

# both: the events of the two runs, and a failure of either as its status.
both() {
  local status=0
  [ -z "$plain" ] || events $plain || status=1
  [ -z "$raced" ] || CGO_ENABLED=1 events -race $raced || status=1
  [ $# -gt 0 ] || raced_anyway || status=1
  return "$status"
}

packages=$(go list "${@:-./...}")
is_plain=$(printf '%s\n' "${no_race[@]}")
plain=$(grep -xF "$is_plain" <<<"$packages" || true)
raced=$(grep -vxF "$is_plain" <<<"$packages" || true)

go vet "${@:-./...}"
both "$@" | go run ./scripts/testreport
