#!/usr/bin/env bash
# What is derived agrees with what it is derived from, and the house has its
# shape: generated files are fresh, go.mod is tidy, sources are formatted, and
# internal/archtest holds. Changes nothing in the work tree.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/need.sh

need_go
need git git "generated files are compared in a copy of the tree"

# files [PATTERN...]: what a commit of everything would hold, each ended by a NUL.
files() {
  git ls-files -z --cached --others --exclude-standard "$@" |
    while IFS= read -r -d '' file; do
      [ ! -e "$file" ] || printf '%s\0' "$file"
    done
}

echo "formatting"
unformatted=$(files '*.go' | xargs -0 gofmt -l)
[ -z "$unformatted" ] || die "not formatted (make fmt):" "$unformatted"

echo "go.mod"
go mod tidy -diff || die "go.mod or go.sum is not tidy: go mod tidy"

echo "the shape of the house"
go test -count=1 ./internal/archtest ./scripts/...

# Generation runs in a copy, so that a stale tree is reported and not repaired.
echo "generated files"
copy=$(mktemp -d "${TMPDIR:-/tmp}/gateway-verify.XXXXXX")
trap 'rm -rf "$copy"' EXIT
files | tar --null -T - -cf - | tar -xf - -C "$copy"
(
  cd "$copy"
  git init -q
  git add -A
  go generate ./...
  git add --intent-to-add .
  git diff --exit-code --stat
) || die "generated files are stale: make generate"
