#!/usr/bin/env bash
# Proves the README's commands where nothing is installed: a bare Debian 12 in a temporary folder (debootstrap and
# chroot, so as root), the committed HEAD cloned into it, the commands run there with a clean environment.
#   tools/fresh.sh [COMMAND...]     default: "make audit" "make test" package container
#   package     makes the packages there, then installs and starts each in another bare Debian 12
#   container   carries out deploy/Containerfile, each stage in a bare Debian 12 of its own
# Where packages come from (apt sources and keys, certificates, proxies, npm registry) is taken from this machine.
#   FRESH_DIR=DIR   where to put the folder (default /var/tmp)
#   FRESH_KEEP=1    leave it there afterwards
#   FRESH_CCACHE=DIR  start from this cache of compilations: quicker, but times then say nothing
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
[ $# -gt 0 ] || set -- "make audit" "make test" package container

work=$(mktemp -d "${FRESH_DIR:-/var/tmp}/idleburn-fresh.XXXXXX")
root=$work/root
bare=$work/bare  # as debootstrap left it, with this machine's package sources: what other roots are copied from
roots=()         # that hold mounts
tree=/srv/idleburn
failed=""
summary=""

finish() {
  local code=$?
  local mounted
  for mounted in "${roots[@]}"; do
    if mountpoint -q "$mounted"; then umount --recursive "$mounted"; fi
  done
  printf '%s' "$summary"
  [ "$code" = 0 ] || echo "fresh: FAILED at: ${failed:-start}"
  if [ -n "${FRESH_KEEP:-}" ] || grep -qF " $work" /proc/self/mounts; then
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
    --keyring=/usr/share/keyrings/debian-archive-keyring.gpg bookworm "$bare" "$mirror"
}

copy_configuration() {
  local file
  cp /etc/resolv.conf /etc/hosts "$bare/etc/"
  rm -f "$bare/etc/apt/sources.list"
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources \
    /etc/apt/auth.conf /etc/apt/auth.conf.d/*; do
    if [ -f "$file" ]; then cp "$file" "$bare$file"; fi
  done
  cp -r /usr/share/keyrings /etc/apt/keyrings "$bare/tmp/"
  mkdir -p "$bare/etc/apt/keyrings"
  cp -n "$bare"/tmp/keyrings/* "$bare/usr/share/keyrings/" || true
  for file in $(grep -lE '^ *Acquire' /etc/apt/apt.conf /etc/apt/apt.conf.d/* 2>/dev/null); do
    cp "$file" "$bare$file"
  done
  cp -r /usr/local/share/ca-certificates "$bare/usr/local/share/"
  chroot "$bare" update-ca-certificates
  for file in /etc/npmrc /usr/etc/npmrc "$HOME/.npmrc"; do
    if [ -f "$file" ]; then install -D -m 600 "$file" "$bare${file/#$HOME/\/root}"; fi
  done
}

# new_root FOLDER: a copy of the bare one, with what a running system has.
new_root() {
  local new=$1
  cp -a "$bare" "$new"
  roots+=("$new")
  mount --bind "$new" "$new"  # so that / is a mount inside too, as on any machine
  mount -t proc proc "$new/proc"
  mount --rbind /dev "$new/dev"  # with its terminals and shared memory
}

mount_shared() {
  if [ -d ../shared ]; then
    mkdir -p "$root/srv/shared"
    mount --bind "$(readlink -f ../shared)" "$root/srv/shared"
    mount -o remount,bind,ro "$root/srv/shared"
  fi
  if [ -n "${FRESH_CCACHE:-}" ]; then
    mkdir -p "$root/root/.cache"
    cp -r "$FRESH_CCACHE" "$root/root/.cache/ccache"
  fi
}

clone() { git clone --quiet --depth 1 "file://$PWD" "$root$tree"; }

settings=(PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb)
if command -v npm >/dev/null; then settings+=("npm_config_registry=$(npm config get registry 2>/dev/null)"); fi
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY SSL_CERT_FILE NODE_EXTRA_CA_CERTS; do
  if [ -n "${!name:-}" ]; then settings+=("$name=${!name}"); fi
done
# within ROOT FOLDER COMMAND: runs it there.
within() { chroot "$1" /usr/bin/env -i "${settings[@]}" /bin/bash -c "cd $2 && $3"; }
inside() { within "$root" "$tree" "$1"; }

# What a user starts from gets no compiler and no library: only what apt installs for the package.
install_deb() {
  new_root "$work/deb"
  cp "$root$tree"/build/package/*.deb "$work/deb/tmp/"
  within "$work/deb" / "apt-get update -qq && apt-get install -y -qq --no-install-recommends /tmp/*.deb"
}
start_deb() {
  within "$work/deb" / "idleburn demo --full && idleburn --version && zcat /usr/share/man/man1/idleburn-audit.1.gz &&
    test -s /usr/share/bash-completion/completions/idleburn && test -s /usr/lib/idleburn/libduckdb.so"
}
start_archive() {
  new_root "$work/archive"
  zstd -dc "$root$tree"/build/package/*.tar.zst | tar -x -C "$work/archive/opt"
  within "$work/archive" / "/opt/idleburn-*/bin/idleburn demo --full"
}

source tools/containerfile.sh

step "debootstrap a bare Debian 12" make_root
step "take over this machine's package sources" copy_configuration
step "copy and mount it" new_root "$root"
step "mount what tests read" mount_shared
step "clone $(git rev-parse --short HEAD)" clone
for command in "$@"; do
  case $command in
    package)
      step "make package" inside "make package"
      step "install the .deb" install_deb
      step "start it" start_deb
      step "unpack and start the .tar.zst" start_archive
      ;;
    container) carry_out deploy/Containerfile ;;
    *) step "$command" inside "$command" ;;
  esac
  if [ "$command" = "make audit" ]; then step "report.html is there" inside "test -s report.html"; fi
done
step "tools/install_deps.sh test" inside "tools/install_deps.sh test"
step "tools/install_deps.sh again" inside "tools/install_deps.sh test"
failed="tools/install_deps.sh again: took $step_ms ms, should take about a second"
[ "$step_ms" -lt 3000 ]
echo "fresh: all steps passed"
