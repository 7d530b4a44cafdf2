#!/usr/bin/env bash
# A private PostgreSQL for tests and benchmarks.
#
#   scripts/postgres.sh start DIR   make a cluster in DIR (new or empty), start it, print its URL
#   scripts/postgres.sh stop DIR    stop the server that start left running in DIR
#
# Durability stays as PostgreSQL ships it (fsync, full_page_writes and
# synchronous_commit on): what the gateway promises is tested on a server that
# keeps its own promises. The server listens on 127.0.0.1 with a password made
# for the occasion and keeps its socket in DIR, so nobody else's programs and no
# other cluster of the machine are touched. PostgreSQL refuses to run as root;
# root runs it as another user, see server_user.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/need.sh

missing="PostgreSQL's server programs (initdb, pg_ctl, postgres) are missing.
Debian, Ubuntu: apt-get install postgresql    Fedora: dnf install postgresql-server
macOS:          brew install postgresql@17
or name a running server that tests may create databases on: TEST_POSTGRES_URL=postgres://..."

# find_bin: prints the directory of the first complete set of server programs:
# the PATH's, else the newest of the places where packages put them.
find_bin() {
  local dir
  while read -r dir; do
    if [ -x "$dir/initdb" ] && [ -x "$dir/pg_ctl" ] && [ -x "$dir/postgres" ]; then
      echo "$dir"
      break
    fi
  done < <(candidates)
}

candidates() {
  dirname "$(command -v initdb || true)"
  pg_config --bindir 2>/dev/null || true
  printf '%s\n' /usr/lib/postgresql/*/bin /usr/pgsql-*/bin \
    /opt/homebrew/opt/postgresql*/bin /usr/local/opt/postgresql*/bin | sort -rV
}

# install_server: Debian's package would at once make and start a cluster of its
# own; a setting that stands only while it is installed prevents that.
install_server() {
  local conf=/etc/postgresql-common/createcluster.d/no-main-cluster.conf
  mkdir -p "${conf%/*}"
  echo 'create_main_cluster = false' >"$conf"
  install postgresql
  rm -f "$conf"
}

# server_user: prints whom the server runs as. Not `nobody`: other daemons run
# as that, and could read and signal ours.
server_user() {
  if [ "$(id -u)" -ne 0 ]; then
    id -un
  elif [ -n "${SUDO_USER:-}" ] && [ "$SUDO_USER" != root ]; then
    echo "$SUDO_USER"
  elif id postgres >/dev/null 2>&1; then
    echo postgres
  else
    die "PostgreSQL does not run as root and there is no user 'postgres' to run it as." \
      "Make one (useradd --system --shell /bin/sh postgres) or run this as an ordinary user."
  fi
}

# as_server COMMAND...: runs it as the server's user, in a directory that user may be in.
as_server() {
  if [ "$(id -u)" -ne 0 ]; then
    (cd "$dir" && "$@")
  elif command -v runuser >/dev/null 2>&1; then
    (cd "$dir" && runuser -u "$user" -- "$@")
  else
    (cd "$dir" && su "$user" -s /bin/sh -c '"$0" "$@"' -- "$@")
  fi
}

# free_port: below the range from which outgoing connections take theirs; a port
# that is lost between here and the server's bind is noticed by start.
free_port() {
  local port
  while :; do
    port=$((20000 + RANDOM % 12000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
  done
  echo "$port"
}

start() {
  local bin password port try
  bin=$(find_bin)
  if [ -z "$bin" ]; then
    can_install || die "$missing"
    install_server
    bin=$(find_bin)
    [ -n "$bin" ] || die "$missing"
  fi
  user=$(server_user)
  mkdir -p "$dir"
  chmod 0700 "$dir"
  [ "$(id -u)" -ne 0 ] || chown "$user" "$dir"

  password=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  echo "$password" | as_server tee "$dir/password" >/dev/null
  as_server "$bin/initdb" --pgdata="$dir/data" --username=gateway --pwfile="$dir/password" \
    --auth-local=reject --auth-host=password --encoding=UTF8 --locale=C >"$dir/initdb.log" 2>&1 || {
    cat "$dir/initdb.log" >&2
    die "initdb failed"
  }
  for try in 1 2 3 4 5; do
    port=$(free_port)
    printf '%s\n' "listen_addresses = '127.0.0.1'" "port = $port" \
      "unix_socket_directories = '$dir'" 'max_connections = 200' |
      as_server tee "$dir/data/postgresql.auto.conf" >/dev/null
    if as_server "$bin/pg_ctl" start --pgdata="$dir/data" --log="$dir/server.log" --wait --timeout=60 >/dev/null 2>&1; then
      echo "$bin" >"$dir/bin"
      echo "postgres://gateway:$password@127.0.0.1:$port/postgres?sslmode=disable"
      return
    fi
    as_server "$bin/pg_ctl" stop --pgdata="$dir/data" --mode=immediate >/dev/null 2>&1 || true
  done
  tail -n 20 "$dir/server.log" >&2
  die "PostgreSQL did not start, $try times; its log is above"
}

stop() {
  [ -f "$dir/bin" ] || return 0
  user=$(server_user)
  as_server "$(cat "$dir/bin")/pg_ctl" stop --pgdata="$dir/data" --mode=fast --wait --timeout=60 >/dev/null
  rm -f "$dir/bin"
}

[ $# -eq 2 ] || die "usage: scripts/postgres.sh start|stop DIR"
case $2 in
/*) dir=$2 ;;
*) dir=$PWD/$2 ;;
esac
case $1 in
start | stop) "$1" ;;
*) die "usage: scripts/postgres.sh start|stop DIR" ;;
esac
