#!/usr/bin/env bash
# Speed and memory of reading a profiler's trace, beside zcat, which only unpacks it, and beside simdjson, which holds
# the whole document: runs in turn, as ratios, and whether the answers agree. Prints a table and leaves it in
# build/bench/trace.md. See docs/benchmarks-files.md.
#   tools/bench_trace.sh BUILD_DIR [TRACE.json.gz...]      default: real captures, where they lie beside the checkout
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench_trace.sh BUILD_DIR [TRACE.json.gz...]}
shift
runs=5
captures=../shared/data/profiler_traces
data=$(mktemp -d)
trap 'rm -rf "$data"' EXIT

# tenfold FILE: its entries ten times in one document.
tenfold() {
  python3 - "$1" "$data/tenfold.json.gz" <<'PYTHON'
import gzip, sys
text = gzip.open(sys.argv[1], "rb").read()
first = text.index(b"[", text.index(b'"traceEvents"')) + 1
last = text.rindex(b"]")
entries = text[first:last]
with gzip.open(sys.argv[2], "wb", 6) as out:
    out.write(text[:first] + b",".join([entries] * 10) + text[last:])
PYTHON
}

traces=("$@")
if [ ${#traces[@]} = 0 ] && [ -d "$captures" ]; then
  traces=("$captures/D05_a100_8rank_control.json.gz" "$captures/D16_flux_mi300.json.gz")
  tenfold "${traces[0]}"
  traces+=("$data/tenfold.json.gz")
fi

# Columns of measure: wall seconds, processor seconds, MiB. The median of all runs of a program.
median() { cut -d' ' -f"$2" "$data/$1" | sort -n | sed -n "$(((runs + 1) / 2))p"; }

# timed NAME COMMAND...: adds what it took to the runs of that name.
timed() {
  local runs_of=$data/$1
  shift
  "$build/measure" "$data/run" "$@"
  cat "$data/run" >>"$runs_of"
}

row() {
  local file=$1 ours theirs
  rm -f "$data/zcat" "$data/read" "$data/simdjson"
  for _ in $(seq "$runs"); do
    timed zcat zcat "$file" >/dev/null
    timed read "$build/bench_trace" read "$file" >"$data/ours"
    timed simdjson "$build/bench_trace" simdjson "$file" >"$data/theirs"
  done
  ours=$(tail -n 1 "$data/ours")
  theirs=$(tail -n 1 "$data/theirs")
  awk -v file="$(basename "$file")" -v same="$([ "$ours" = "$theirs" ] && echo agrees || echo DIFFERS)" \
    -v zw="$(median zcat 1)" -v zc="$(median zcat 2)" -v ow="$(median read 1)" -v oc="$(median read 2)" \
    -v om="$(median read 3)" -v sw="$(median simdjson 1)" -v sc="$(median simdjson 2)" -v sm="$(median simdjson 3)" \
    'BEGIN { printf "| %s | %.3f | %.0f | %.3f | %.3f | %.0f | %.2f | %.2f | %.1f | %s | %s |\n", file, ow, om, zw, sw,
             sm, ow / zw, oc / zc, sc / oc, same, ow <= zw ? "met" : "not met" }'
}

mkdir -p build/bench
{
  echo "Medians of $runs whole-process runs in turn, one thread; goal: at most 1.0 of zcat's wall time."
  echo
  echo "| trace | idleburn s | MiB | zcat s | simdjson s | MiB | wall / zcat | CPU / zcat | simdjson CPU / idleburn |" \
    "answers | goal |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|"
  for file in "${traces[@]}"; do row "$file"; done
  [ ${#traces[@]} -gt 0 ] || echo "| no captures here; name traces to measure | | | | | | | | | | |"
  echo
  echo "A trace of 5 GB that is made while it is read: $("$build/bench_trace" generate 5000 | head -n 1)"
} | tee build/bench/trace.md
