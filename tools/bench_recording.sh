#!/usr/bin/env bash
# Size of a recording beside Parquet and VictoriaMetrics with the same samples, and how fast it is read back. Prints a
# table and leaves it in build/bench/recording.md. VictoriaMetrics is left out where it is not installed (Debian:
# victoria-metrics). See docs/benchmarks-files.md.
#   tools/bench_recording.sh BUILD_DIR [SECONDS]      default 7200 s of 8 GPUs; half a minute
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench_recording.sh BUILD_DIR [SECONDS]}
seconds=${2:-7200}
data=$(mktemp -d)
server=""
finish() {
  if [ -n "$server" ]; then kill "$server" 2>/dev/null && wait "$server" || true; fi
  rm -rf "$data"
}
trap finish EXIT

"$build/bench_recording" make "$data" "$seconds"
rows=$(wc -l <"$data/trace.csv")
size() { stat -c %s "$1"; }

# parquet FILE TIME POWER: sorted by GPU, with the time and the power kept in that form.
parquet() {
  "$build/duckdb_query" 2 "COPY (SELECT $2 AS ts, gpu, util, memory_util, $3 AS power, power_limit, energy, sm_clock,
      memory, temperature, reasons, pcie
    FROM read_csv('$data/trace.csv', header = false, columns = {'ms': 'BIGINT', 'gpu': 'UTINYINT', 'util': 'UTINYINT',
      'memory_util': 'UTINYINT', 'watts': 'FLOAT', 'power_limit': 'USMALLINT', 'energy': 'BIGINT',
      'sm_clock': 'USMALLINT', 'memory': 'UINTEGER', 'temperature': 'UTINYINT', 'reasons': 'UINTEGER',
      'pcie': 'UINTEGER'}) ORDER BY gpu, ts) TO '$1' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION 'V2')"
}

victoria() {
  local url=http://127.0.0.1:18428 format="1:time:unix_ms,2:label:gpu" column=3 name
  for name in util memory_util power power_limit energy sm_clock memory temperature reasons pcie; do
    format+=",$column:metric:$name"
    column=$((column + 1))
  done
  victoria-metrics -storageDataPath="$data/vm" -httpListenAddr=127.0.0.1:18428 -retentionPeriod=100y \
    >"$data/vm.log" 2>&1 &
  server=$!
  for _ in $(seq 100); do curl -sf "$url/health" >/dev/null && break || sleep 0.1; done
  curl -sf --data-binary "@$data/trace.csv" "$url/api/v1/import/csv?format=$format"
  curl -sf "$url/internal/force_flush"
  curl -sf "$url/internal/force_merge"
  sleep 10
  kill "$server" && wait "$server" || true
  server=""
}

parquet "$data/float.parquet" "make_timestamp_ms(ms)" watts
parquet "$data/integer.parquet" ms "(watts * 100)::INTEGER"
ours=$(size "$data/trace.idleburn")

row() { # NAME BYTES GOAL
  awk -v name="$1" -v bytes="$2" -v goal="$3" -v rows="$rows" -v ours="$ours" 'BEGIN {
    printf "| %s | %.2f | %.3f | %s |\n", name, bytes / rows, ours / bytes, goal }'
}
mkdir -p build/bench
{
  echo "| $rows rows of ten signals | bytes a row | recording / it | goal |"
  echo "|---|---|---|---|"
  row "recording, 60 s chunks" "$ours" ""
  row "Parquet v2, zstd, sorted by GPU: timestamp, watts as FLOAT" "$(size "$data/float.parquet")" "<= 0.75"
  row "the same in integers: milliseconds, hundredths of a watt" "$(size "$data/integer.parquet")" ""
  if command -v victoria-metrics >/dev/null && command -v curl >/dev/null; then
    victoria
    row "VictoriaMetrics after a force merge, without its index" "$(du -sb "$data/vm/data" | cut -f1)" "<= 0.85"
  else
    echo "| VictoriaMetrics | not installed here | | <= 0.85 |"
  fi
  echo
  echo "Read back, one core: $("$build/bench_recording" read "$data/trace.idleburn") rows a second (goal: 20,000,000)."
} | tee build/bench/recording.md
