#!/usr/bin/env bash
# Runs every fuzz target of a build folder, four a processor at a time, and prints one line each.
#   tools/run_fuzzers.sh DIR SECONDS     DIR: where the *_fuzz programs are; SECONDS: for each of them
# Seeds come from fuzz/corpus/<name>/ (name without _fuzz) and stay as they are. Ends with 1 if a target crashed,
# ran out of memory or time; the input that did it stays in DIR/crashes.
#
# FUZZ_SEED (default 1) starts the random choices: a smoke test repeats itself, so that a failure is of the change at
# hand. Hunt for what nobody has met yet with FUZZ_SEED=0, which chooses anew each time.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# = 2 ] || { echo "usage: tools/run_fuzzers.sh DIR SECONDS" >&2; exit 2; }
folder=$1
seconds=$2
crashes=$folder/crashes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$crashes"

run_one() {
  local program=$1 name code=0
  name=$(basename "$program" _fuzz)
  mkdir -p "$scratch/$name"
  if [ -d "fuzz/corpus/$name" ]; then cp -r "fuzz/corpus/$name/." "$scratch/$name"; fi
  "$program" "$scratch/$name" -seed="${FUZZ_SEED:-1}" -max_total_time="$seconds" -max_len=65536 \
    -rss_limit_mb=2048 -timeout=20 -artifact_prefix="$crashes/$name-" \
    -print_final_stats=1 >"$scratch/$name.log" 2>&1 </dev/null || code=$?
  local runs coverage
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$name.log")
  coverage=$(grep -o 'cov: [0-9]*' "$scratch/$name.log" | tail -n 1 | cut -d' ' -f2)
  if [ "$code" = 0 ]; then
    printf 'fuzz: %-24s %12s runs  %8s edges  ok\n' "$name" "${runs:-?}" "${coverage:-?}"
  else
    printf 'fuzz: %-24s %12s runs  %8s edges  FAILED: %s\n' "$name" "${runs:-?}" "${coverage:-?}" \
      "$(sed -n 's/.*Test unit written to //p' "$scratch/$name.log" | tail -n 1)"
    grep -m 1 -A 12 -E 'ERROR|runtime error|check failed' "$scratch/$name.log" || tail -n 20 "$scratch/$name.log"
    touch "$scratch/failed"
  fi
}

shopt -s nullglob
programs=("$folder"/*_fuzz)
[ ${#programs[@]} -gt 0 ] || { echo "fuzz: no *_fuzz program in $folder; build it with: make fuzz" >&2; exit 1; }
for program in "${programs[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge $((4 * $(nproc))) ]; do wait -n; done
  run_one "$program" &
done
wait
[ ! -e "$scratch/failed" ]
