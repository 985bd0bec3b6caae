#!/usr/bin/env bash
# Pieces of reality.py on a machine with a GPU, where nothing is installed and little is brought back:
#   tools/reality/call.sh PIECE...     for example: tools/reality/call.sh abi truth
# Needs build/reality (tools/reality/pack.sh). Works in /tmp/reality, so that a later call finds what an earlier one
# left, and leaves an archive of figures and recordings, and one of traces in parts of 15 MiB, in $OUT (/tmp/out).
set -euo pipefail
cd "$(dirname "$0")/../.."
export PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1 OUT=${OUT:-/tmp/out}
work=/tmp/reality
mkdir -p "$work" "$OUT"
chmod +x build/reality/idleburn
{
  set +e
  date -u; uname -r; ldd --version | sed -n 1p; python3 --version; df -h /tmp /dev/shm; nproc; free -g
  cat /proc/pressure/io /proc/self/cgroup
  nvidia-smi --query-gpu=name,driver_version,memory.total,power.limit,persistence_mode,mig.mode.current --format=csv
  python3 -c 'import torch, pynvml; print(torch.__version__)'
  python3 -m pip show transformers peft nvidia-ml-py | grep -E '^(Name|Version)'
  ./build/reality/idleburn --version
  set -e
} >"$work/machine.txt" 2>&1
cat "$work/machine.txt"
./build/reality/idleburn --version >/dev/null || { echo "reality: the packed program does not run here"; exit 1; }
timeout -k 5 535 python3 tools/reality/reality.py "$@" --out "$work" --limit 515 2>&1 |
  tee "$work/log_$(date +%s).txt" | tail -c 5000 || echo "reality: ended early"
python3 tools/reality/reality.py table --out "$work" | tail -c 6000 || true
cd "$work"
tar czf "$OUT/recordings.tar.gz" --exclude='*.bin' --exclude='*.pt' --exclude='*.gz' --exclude='counts_*' .
find . -name '*.pt.trace.json.gz' -print0 | tar cf - --null -T - | split -d -b 15M - "$OUT/traces.tar."
ls -l "$OUT"
