#!/usr/bin/env bash
# Packs the built program with the libraries it needs into build/reality, so that it runs on a machine of the same
# processor where nothing can be installed (glibc of Debian 12 or newer).
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v patchelf >/dev/null || { echo "reality: install patchelf first (apt-get install patchelf)" >&2; exit 1; }
make build
rm -rf build/reality
mkdir -p build/reality/lib build/reality/include
cp build/release/idleburn build/reality/
strip build/reality/idleburn
# For tools/nvml_abi.py there, which compiles src/measure/nvml_library.h.
cp -rL /usr/include/tl build/reality/include/
# What belongs to the C library has to be the machine's own.
ldd build/release/idleburn | awk '$3 ~ /^\// { print $3 }' | grep -Ev '/lib(c|m|dl|rt|pthread|resolv)\.so' |
  xargs -I{} cp -L {} build/reality/lib/
# A library path in the program, none in the environment: the workload would inherit that.
patchelf --force-rpath --set-rpath '$ORIGIN/lib' build/reality/idleburn
patchelf --force-rpath --set-rpath '$ORIGIN' build/reality/lib/*.so*
du -sh build/reality
ldd build/reality/idleburn | grep -q 'not found' && exit 1
./build/reality/idleburn --version
