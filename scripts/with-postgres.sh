#!/usr/bin/env bash
# Runs a command with TEST_POSTGRES_URL set to a server it may create databases
# on: the one the variable names already, else a private one that lives as long
# as the command.
#
#   scripts/with-postgres.sh COMMAND [ARGUMENT...]
set -euo pipefail

if [ -z "${TEST_POSTGRES_URL:-}" ]; then
  scripts=$(cd "$(dirname "$0")" && pwd)
  dir=$(mktemp -d "${TMPDIR:-/tmp}/gateway-postgres.XXXXXX")
  finish() {
    "$scripts/postgres.sh" stop "$dir" || tail -n 20 "$dir/server.log" >&2
    rm -rf "$dir"
  }
  trap finish EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  TEST_POSTGRES_URL=$("$scripts/postgres.sh" start "$dir")
  export TEST_POSTGRES_URL
fi
"$@"
