#!/usr/bin/env bash
# Installs what idleburn needs on Debian 12: as root, or with sudo. Says what it installs; a second run finds
# everything there and does nothing.
#   tools/install_deps.sh build   compiler, libraries, DuckDB's C library, the chart library of the report
#   tools/install_deps.sh test    also what the tests, the fuzzers and the benchmarks need
#   tools/install_deps.sh package also what makes the packages
#   tools/install_deps.sh python  only what builds the Python package
#   tools/install_deps.sh tidy    also clang-tidy and clang-format
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ cmake ninja-build make ccache git ca-certificates tzdata
  libexpected-dev libfmt-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libsimdjson-dev libexpat1-dev
  libcctz-dev zlib1g-dev liblzma-dev libzstd-dev libsnappy-dev libisal-dev libsqlite3-dev libprotobuf-dev
  protobuf-compiler libcpp-httplib-dev libssl-dev libyaml-cpp-dev libnghttp2-dev)
test_packages=(libgtest-dev librapidcheck-dev libbenchmark-dev clang-14 libclang-rt-14-dev procps xz-utils zstd mandoc
  zsh fish chromium chromium-driver libgrpc++-dev slurm-wlm slurm-client slurm-wlm-basic-plugins munge
  prometheus victoria-metrics curl)
package_packages=(dpkg-dev file gzip zstd)
python_packages=(python3 python3-pip python3-venv python3-setuptools python3-wheel)
tidy_packages=(clang-tidy-14 clang-format)

# Not in Debian: fetched by package name from the npm registry, unpacked into .deps/.
duckdb_version=1.4.4
uplot_version=1.6.32
axe_version=4.14.1
typescript_version=5.9.3
grafana_schema_version=12.4.11

missing=()
want_packages() {
  local have
  # dpkg-query fails when it has never heard of one of them, which on a bare system is the case.
  have=$({ dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null || true; } | sed -n 's/^installed //p')
  for package in "$@"; do
    grep -qxF "$package" <<<"$have" || missing+=("$package")
  done
}

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
    echo "install_deps: run this as root, or install sudo: needed: $*" >&2
    exit 1
  fi
}

# Daemons (Slurm's) must not start by being installed: tests start their own. invoke-rc.d asks this script.
policy=/usr/sbin/policy-rc.d
deny_daemons() {
  [ ! -e $policy ] || return 0
  printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
  as_root chmod 755 $policy
  trap 'as_root rm -f $policy' EXIT
}

apt_install() {
  echo "install_deps: installing $*"
  deny_daemons
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# npm_files PACKAGE INNER OUT...: files of an npm package, fetched once if one of them is missing.
npm_files() {
  local package=$1 folder i complete=yes
  local -a files=("${@:2}")
  for ((i = 1; i < ${#files[@]}; i += 2)); do [ -s "${files[i]}" ] || complete=no; done
  [ $complete = no ] || return 0
  echo "install_deps: fetching the npm package $package"
  folder=$(mktemp -d)
  (cd "$folder" && npm pack --silent "$package" >/dev/null && tar xzf ./*.tgz)
  for ((i = 1; i < ${#files[@]}; i += 2)); do
    mkdir -p "$(dirname "${files[i]}")"
    cp "$folder/package/${files[i - 1]}" "${files[i]}.part"
    mv "${files[i]}.part" "${files[i]}"
  done
  rm -rf "$folder"
}

case "${1:-build}" in
  build) want_packages "${build_packages[@]}" ;;
  test) want_packages "${build_packages[@]}" "${package_packages[@]}" "${python_packages[@]}" "${test_packages[@]}" ;;
  tidy) want_packages "${build_packages[@]}" "${test_packages[@]}" "${tidy_packages[@]}" ;;
  package) want_packages "${build_packages[@]}" "${package_packages[@]}" ;;
  python) want_packages "${python_packages[@]}" ;;
  *) echo "usage: tools/install_deps.sh build|test|package|python|tidy" >&2; exit 2 ;;
esac
# npm with the other packages, because every run of apt costs seconds.
fetched() { [ -s .deps/share/duckdb/LICENSE ] && [ -s .deps/share/uplot/uPlot.min.css ]; }
if [ "${1:-build}" != python ] && ! fetched && ! command -v npm >/dev/null; then missing+=(npm); fi
[ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
[ "${1:-build}" != python ] || exit 0

case "$(uname -m)" in
  x86_64) duckdb_package="@duckdb/node-bindings-linux-x64@$duckdb_version-r.4" ;;
  aarch64) duckdb_package="@duckdb/node-bindings-linux-arm64@$duckdb_version-r.4" ;;
  *) duckdb_package="" ;;
esac
if [ -n "$duckdb_package" ]; then
  npm_files "duckdb@$duckdb_version" src/duckdb/src/include/duckdb.h .deps/include/duckdb.h \
    LICENSE .deps/share/duckdb/LICENSE
  npm_files "$duckdb_package" libduckdb.so .deps/lib/libduckdb.so
fi
npm_files "uplot@$uplot_version" dist/uPlot.iife.min.js .deps/share/uplot/uPlot.iife.min.js \
  dist/uPlot.min.css .deps/share/uplot/uPlot.min.css
# Checks in a browser whether everybody can use the report. The report does not contain it.
if [ "${1:-build}" != build ]; then
  npm_files "axe-core@$axe_version" axe.min.js .deps/share/axe-core/axe.min.js
  # Check that dashboards have the types that Grafana declares: its compiler, and the declarations alone.
  files=()
  for file in tsc.js _tsc.js lib.es5.d.ts lib.decorators.d.ts lib.decorators.legacy.d.ts; do
    files+=("lib/$file" ".deps/share/typescript/$file")
  done
  npm_files "typescript@$typescript_version" "${files[@]}"
  files=()
  for file in index index.gen common/common.gen raw/dashboard/x/types.gen veneer/common.types veneer/dashboard.types \
    veneer/librarypanel.types raw/composable/{stat,timeseries,table,bargauge}/panelcfg/x/types.gen; do
    files+=("dist/types/$file.d.ts" ".deps/share/grafana-schema/$file.d.ts")
  done
  npm_files "@grafana/schema@$grafana_schema_version" "${files[@]}"
fi
