#!/usr/bin/env bash
# Makes packages of the program in the build folder $1, in build/package:
#   deb       idleburn_VERSION_ARCH.deb, for Debian 12: apt installs the libraries that it depends on
#   archive   idleburn-VERSION-linux-ARCH.tar.zst: runs where it is unpacked and needs nothing but glibc
#   tools/package.sh BUILD deb|archive...
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
out=$PWD/build/package
version=$(sed -n 's/^project(idleburn VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=idleburn-$version-linux-$(uname -m)
mkdir -p "$out"

make_deb() {
  rm -rf "$out"/idleburn_*.deb
  (cd "$build" && cpack -G DEB >"$out/cpack.log" 2>&1) || { cat "$out/cpack.log" >&2; exit 1; }
  rm -rf "$out/cpack.log" "$out/_CPack_Packages"
}

# The Debian package of a library. dpkg knows a file by the path that its package has, which links may hide.
package_of() {
  local path
  for path in "$1" "${1#/usr}" "$(readlink -f "$1")"; do
    dpkg-query -S "$path" 2>/dev/null | sed 's/:.*//; q' | grep . && return
  done
  echo "package: no Debian package has $1" >&2
  return 1
}

# The archive carries every library but those of glibc, which must fit the system's own loader. The program finds them
# by its DT_RPATH (cmake/install.cmake). Their licences come along.
make_archive() {
  local tree=$out/$name library package
  rm -rf "$tree" "$out"/idleburn-*.tar.zst
  cmake --install "$build" --prefix "$tree" --strip >/dev/null
  mkdir -p "$tree/lib/idleburn" "$tree/share/doc/idleburn/licenses"
  for library in $(ldd "$build/idleburn" | awk '$2 == "=>" { print $3 }'); do
    case "$(basename "$library")" in
      libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | libresolv.so.*) continue ;;
    esac
    cp -L "$library" "$tree/lib/idleburn/"
    package=$(package_of "$library")
    cp -L "/usr/share/doc/$package/copyright" "$tree/share/doc/idleburn/licenses/$package"
  done
  tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -c "$name" |
    zstd -q -10 -T2 -f -o "$out/$name.tar.zst"
  rm -rf "$tree"
}

for kind in "${@:2}"; do
  case $kind in
    deb) make_deb ;;
    archive) make_archive ;;
    *) echo "usage: tools/package.sh BUILD deb|archive..." >&2; exit 2 ;;
  esac
done
ls -l "$out"
