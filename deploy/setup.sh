#!/bin/sh
# Prepares a machine to build and test NanoClaw. Safe to run again: what is
# there already is only looked at.
#
#   deploy/setup.sh          the core: Go, git, a C compiler, bubblewrap and
#                            Python for programs in a sandbox, Go modules
#   deploy/setup.sh all      and Node.js with npm, for the generators; Chromium
#                            and fonts, for the tests in a browser
#
# Software comes from package managers alone. Without root nothing is
# installed: the script says which command is missing and goes on.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

# The oldest Go that go.work accepts, and the oldest Node.js that runs the
# generators.
min_go=$(awk '$1 == "go" { print $2 }' go.work)
min_node=20

started=$(date +%s)
say() { printf 'setup: [%3ss] %s\n' "$(($(date +%s) - started))" "$*" >&2; }
warn() { printf 'setup: [%3ss] ! %s\n' "$(($(date +%s) - started))" "$*" >&2; }

# at_least VERSION MINIMUM, both as numbers with dots.
at_least() {
  [ "$(printf '%s\n%s\n' "$1" "$2" | sort -t. -k1,1n -k2,2n -k3,3n | head -n 1)" = "$2" ]
}

# apt_install WHY PACKAGE... installs, or says how.
apt_install() {
  why=$1
  shift
  if ! command -v apt-get >/dev/null; then
    warn "$why: install the equivalent of these Debian packages: $*"
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    warn "$why: as root, run: apt-get install $*"
    return 1
  fi
  say "installing $*"
  log=$(mktemp)
  if DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 update >"$log" 2>&1 </dev/null &&
    DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 \
      install -y --no-install-recommends "$@" >>"$log" 2>&1 </dev/null; then
    rm -f "$log"
    return 0
  fi
  tail -n 15 "$log" >&2
  rm -f "$log"
  warn "$why: apt-get could not install $* (its last lines are above)"
  return 1
}

check_go() {
  if ! command -v go >/dev/null; then
    warn "Go is not installed: take $min_go or newer from https://go.dev/dl/, unpack it and put its bin folder on PATH"
    exit 1
  fi
  # An older Go may fetch the toolchain that go.work names; then it answers
  # with that one's version.
  if ! version=$(go env GOVERSION 2>&1); then
    warn "$version"
    warn "take Go $min_go or newer from https://go.dev/dl/"
    exit 1
  fi
  number=$(printf '%s\n' "$version" | sed 's/^go//; s/[^0-9.].*//')
  if ! at_least "$number" "$min_go"; then
    warn "this is $version: take Go $min_go or newer from https://go.dev/dl/"
    exit 1
  fi
  say "Go $number"
}

check_git() {
  if command -v git >/dev/null; then
    say "git $(git --version | awk '{ print $3 }')"
    return
  fi
  apt_install "without git the build cannot tell its version" git || true
}

# A compiler without the C library's headers is as good as none.
can_compile_c() {
  printf '#include <stdlib.h>\nint main(void) { return 0; }\n' |
    "$(go env CC)" -x c -o /dev/null - 2>/dev/null
}

check_c() {
  if can_compile_c || { apt_install "tests run without the race detector" gcc libc6-dev && can_compile_c; }; then
    say "C compiler $(go env CC), for the race detector"
  fi
}

# Programs run by bubblewrap, which must be able to make user namespaces; Python
# must be in /usr, which is what a sandbox shows of the machine.
can_isolate() {
  bwrap --unshare-user --unshare-pid --unshare-net --ro-bind / / --proc /proc true 2>/dev/null
}

has_python() { [ -x /usr/bin/python3 ] || [ -x /usr/local/bin/python3 ]; }

check_sandbox() {
  missing=
  command -v bwrap >/dev/null || missing=bubblewrap
  has_python || missing="${missing:+$missing }python3"
  # The packages are two words.
  # shellcheck disable=SC2086
  [ -z "$missing" ] || apt_install "programs cannot run in a sandbox, and their tests fail" $missing || return 0
  if ! can_isolate; then
    warn "bubblewrap cannot make a sandbox here, so no program runs in one: in a container its security profile must allow user namespaces; on a host look at sysctl kernel.apparmor_restrict_unprivileged_userns, kernel.unprivileged_userns_clone and user.max_user_namespaces"
    return 0
  fi
  say "$(bwrap --version), $(PATH=/usr/local/bin:/usr/bin:/bin python3 --version 2>&1)"
}

download_modules() {
  if ! packages=$(go list -deps -test -tags netgo,osusergo -f '{{.ImportPath}}' work | wc -l); then
    warn "the Go modules could not be loaded; see above (behind a proxy, set GOPROXY)"
    exit 1
  fi
  say "Go modules of $((packages)) packages"
}

node_major() { node --version 2>/dev/null | sed 's/^v//; s/\..*//'; }

check_node() {
  if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    apt_install "make lint and make generate need Node.js $min_node and npm" nodejs npm || return 0
  fi
  if ! at_least "$(node_major)" "$min_node"; then
    warn "this is Node.js $(node --version): make lint and make generate need $min_node or newer"
    return 0
  fi
  say "Node.js $(node --version), npm $(npm --version)"
}

find_chromium() {
  for name in chromium chromium-headless-shell chromium-browser google-chrome; do
    # What stands on PATH under that name may only tell how to install it.
    "$name" --version 2>/dev/null | grep -oE '[0-9]+(\.[0-9]+){3}' && return
  done
  return 1
}

# Chinese texts and symbols need fonts of their own to be looked at.
check_browser() {
  missing=
  find_chromium >/dev/null || missing=chromium
  for font in cjk color-emoji; do
    if command -v dpkg-query >/dev/null && ! dpkg-query -W "fonts-noto-$font" >/dev/null 2>&1; then
      missing="${missing:+$missing }fonts-noto-$font"
    fi
  done
  # The packages are words.
  # shellcheck disable=SC2086
  [ -z "$missing" ] || apt_install "make e2e needs a browser" $missing || true
  version=$(find_chromium) || {
    warn "there is no Chromium, so make e2e cannot test the web app"
    return 0
  }
  say "Chromium $version"
}

case ${1:-core} in
core | all) ;;
*)
  echo "usage: deploy/setup.sh [core|all]" >&2
  exit 2
  ;;
esac

check_go
check_git
check_c
check_sandbox
download_modules
if [ "${1:-core}" = all ]; then
  check_node
  check_browser
fi
say "ready"
