#!/usr/bin/env bash
# Proves the README's commands where nothing is installed: a bare Debian 12 in a temporary folder (debootstrap and
# chroot, so as root), the committed HEAD cloned into it, the commands run there with a clean environment.
#   tools/fresh.sh [COMMAND...]     default: "make audit" "make test"
# Where packages come from (apt sources and keys, certificates, proxies, npm registry) is taken from this machine.
#   FRESH_DIR=DIR   where to put the folder (default /var/tmp)
#   FRESH_KEEP=1    leave it there afterwards
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || { echo "fresh: run this as root: it makes a chroot" >&2; exit 1; }
for program in debootstrap git unshare; do
  command -v "$program" >/dev/null || { echo "fresh: install $program first (apt-get install $program)" >&2; exit 1; }
done
# In namespaces of its own: mounts and processes end with this script, however it ends.
if [ -z "${FRESH_INSIDE:-}" ]; then
  FRESH_INSIDE=1 exec unshare --mount --propagation private --pid --fork --kill-child bash "$PWD/tools/fresh.sh" "$@"
fi
[ $# -gt 0 ] || set -- "make audit" "make test"

work=$(mktemp -d "${FRESH_DIR:-/var/tmp}/idleburn-fresh.XXXXXX")
root=$work/root
tree=/srv/idleburn
failed=""
summary=""

finish() {
  local code=$?
  mountpoint -q "$root" && umount --recursive "$root"
  printf '%s' "$summary"
  [ "$code" = 0 ] || echo "fresh: FAILED at: ${failed:-start}"
  if [ -n "${FRESH_KEEP:-}" ] || grep -qF " $root" /proc/self/mounts; then
    echo "fresh: left in $work"
  else
    rm -rf --one-file-system "$work"
  fi
}
trap finish EXIT
trap 'exit 130' INT TERM

# step NAME COMMAND...: runs it with its output in a log, shown only if it fails.
step() {
  local name=$1 begin
  shift
  failed=$name
  echo "fresh: $name"
  begin=$(date +%s%N)
  if ! "$@" >"$work/log" 2>&1 </dev/null; then
    tail -n 60 "$work/log"
    exit 1
  fi
  step_ms=$((($(date +%s%N) - begin) / 1000000))
  summary+=$(printf 'fresh: %7d.%03d s  %s' $((step_ms / 1000)) $((step_ms % 1000)) "$name")$'\n'
}

mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' |
  awk '$2 == "bookworm" { print $1; exit }')
[ -n "$mirror" ] || { echo "fresh: this machine's apt has no source for bookworm" >&2; exit 1; }

# What a person starts from: Debian's minimum, with git to clone, make to say `make`, and certificates.
make_root() {
  debootstrap --variant=minbase --include=ca-certificates,git,make \
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg bookworm "$root" "$mirror"
}

copy_configuration() {
  local file
  cp /etc/resolv.conf /etc/hosts "$root/etc/"
  rm -f "$root/etc/apt/sources.list"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
    /etc/apt/auth.conf /etc/apt/auth.conf.d/*; do
    if [ -f "$file" ]; then cp "$file" "$root$file"; fi
  done
  cp -r /usr/share/keyrings /etc/apt/keyrings "$root/tmp/"
  mkdir -p "$root/etc/apt/keyrings"
  cp -n "$root"/tmp/keyrings/* "$root/usr/share/keyrings/" || true
  for file in $(grep -lE '^ *Acquire' /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2>/dev/null); do
    cp "$file" "$root$file"
  done
  cp -r /usr/local/share/ca-certificates "$root/usr/local/share/"
  chroot "$root" update-ca-certificates
  for file in /etc/npmrc /usr/etc/npmrc "$HOME/.npmrc"; do
    if [ -f "$file" ]; then install -D -m 600 "$file" "$root${file/#$HOME/\/root}"; fi
  done
}

mount_system() {
  mount --bind "$root" "$root"  # so that / is a mount inside too, as on any machine
  mount -t proc proc "$root/proc"
  mount --rbind /dev "$root/dev"  # with its terminals and shared memory
  if [ -d ../shared ]; then
    mkdir -p "$root/srv/shared"
    mount --bind "$(readlink -f ../shared)" "$root/srv/shared"
    mount -o remount,bind,ro "$root/srv/shared"
  fi
}

clone() { git clone --quiet --depth 1 "file://$PWD" "$root$tree"; }

settings=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb)
if command -v npm >/dev/null; then settings+=("npm_config_registry=$(npm config get registry 2>/dev/null)"); fi
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE NODE_EXTRA_CA_CERTS; do
  if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
done
inside() { chroot "$root" /usr/bin/env -i "${settings[@]}" /bin/bash -c "cd $tree && $1"; }

step "debootstrap a bare Debian 12" make_root
step "take over this machine's package sources" copy_configuration
step "mount" mount_system
step "clone $(git rev-parse --short HEAD)" clone
for command in "$@"; do
  step "$command" inside "$command"
  if [ "$command" = "make audit" ]; then step "report.html is there" inside "test -s report.html"; fi
done
step "tools/install_deps.sh test" inside "tools/install_deps.sh test"
step "tools/install_deps.sh again" inside "tools/install_deps.sh test"
failed="tools/install_deps.sh again: took $step_ms ms, should take about a second"
[ "$step_ms" -lt 3000 ]
echo "fresh: all steps passed"
