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
  protobuf-compiler libcpp-httplib-dev libssl-dev libyaml-cpp-dev)
test_packages=(libgtest-dev librapidcheck-dev libbenchmark-dev clang-14 libclang-rt-14-dev procps xz-utils zstd mandoc zsh
  fish chromium chromium-driver)
package_packages=(dpkg-dev file gzip zstd)
python_packages=(python3 python3-pip python3-venv python3-setuptools python3-wheel)
tidy_packages=(clang-tidy-14 clang-format)

# Not in Debian: fetched by package name from the npm registry, unpacked into .deps/.
duckdb_version=1.4.4
uplot_version=1.6.32
axe_version=4.14.1

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

apt_install() {
  echo "install_deps: installing $*"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

# npm_file PACKAGE INNER OUT: one file of an npm package.
npm_file() {
  local package=$1 inner=$2 out=$3
  [ -s "$out" ] && return
  command -v npm >/dev/null || apt_install npm
  echo "install_deps: fetching $(basename "$out") from the npm package $package"
  local folder
  folder=$(mktemp -d)
  (cd "$folder" && npm pack --silent "$package" >/dev/null && tar xzf ./*.tgz)
  mkdir -p "$(dirname "$out")"
  cp "$folder/package/$inner" "$out.part"
  mv "$out.part" "$out"
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
[ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
[ "${1:-build}" != python ] || exit 0

case "$(uname -m)" in
  x86_64) duckdb_package="@duckdb/node-bindings-linux-x64@$duckdb_version-r.4" ;;
  aarch64) duckdb_package="@duckdb/node-bindings-linux-arm64@$duckdb_version-r.4" ;;
  *) duckdb_package="" ;;
esac
if [ -n "$duckdb_package" ]; then
  npm_file "duckdb@$duckdb_version" src/duckdb/src/include/duckdb.h .deps/include/duckdb.h
  npm_file "$duckdb_package" libduckdb.so .deps/lib/libduckdb.so
fi
npm_file "uplot@$uplot_version" dist/uPlot.iife.min.js .deps/share/uplot/uPlot.iife.min.js
npm_file "uplot@$uplot_version" dist/uPlot.min.css .deps/share/uplot/uPlot.min.css
# Checks in a browser whether everybody can use the report. The report does not contain it.
if [ "${1:-build}" != build ]; then
  npm_file "axe-core@$axe_version" axe.min.js .deps/share/axe-core/axe.min.js
fi
