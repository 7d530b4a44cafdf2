# Sourced, not run. How these scripts treat a program they depend on: use the
# one that is there; on Debian as root, install it; otherwise say what to
# install and stop. Nothing goes on without it.

# die MESSAGE...: one line each on stderr, then exit 1.
die() {
  printf '%s\n' "$@" >&2
  exit 1
}

can_install() {
  [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1
}

# install PACKAGE...: through apt-get, whose talk is shown only if it fails; the
# caller has asked can_install.
apt_updated=
install() {
  local talk
  echo "installing $*" >&2
  if [ -z "$apt_updated" ]; then
    talk=$(apt-get update -qq 2>&1) || die "$talk" "apt-get update failed; needed to install: $*"
    apt_updated=yes
  fi
  talk=$(DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" 2>&1) ||
    die "$talk" "apt-get could not install: $*"
}

# need COMMAND PACKAGES WHY: after it, COMMAND can be run.
need() {
  command -v "$1" >/dev/null 2>&1 && return
  can_install || die "$1 is missing: $3." \
    "Install it (Debian: apt-get install $2) and run this again; no test is left out because of it."
  install $2
  command -v "$1" >/dev/null 2>&1 || die "$1 is still missing after installing $2"
}

# need_go: Go itself is never installed here, only looked for.
need_go() {
  command -v go >/dev/null 2>&1 || [ ! -x /usr/local/go/bin/go ] || PATH=$PATH:/usr/local/go/bin
  command -v go >/dev/null 2>&1 ||
    die "go is missing: install Go $(sed -n 's/^go //p' go.mod) or newer from https://go.dev/dl/"
}
