#!/usr/bin/env bash
# Speed and memory of idleburn beside peers that give the same answer, as ratios of runs taken in turn in one go, and
# whether the answers agree. Prints a table and leaves it in build/bench/results.md. See docs/benchmarks.md.
#   tools/bench.sh BUILD_DIR [ROWS]      default 20,000,000 rows: 3 GB of files, made once; 15 minutes
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench.sh BUILD_DIR [ROWS]}
rows=${2:-20000000}
data=build/bench/$rows
mkdir -p "$data"

# make FILE COMMAND...: FILE from a command that writes to the path it is given last, once.
make() {
  local file=$1
  shift
  [ -s "$file" ] && return
  echo "bench: making $file"
  "$@" "$file.part"
  mv "$file.part" "$file"
}

to_parquet() {
  "$build/duckdb_query" 2 "COPY (SELECT timestamp, \"index\"::UTINYINT AS \"index\",
      \"utilization.gpu\"::UTINYINT AS \"utilization.gpu\", \"power.draw\"::FLOAT AS \"power.draw\",
      \"memory.used\"::UINTEGER AS \"memory.used\", \"clocks.current.sm\"::USMALLINT AS \"clocks.current.sm\"
    FROM read_csv('$data/plain.csv', timestampformat = '%Y/%m/%d %H:%M:%S.%g'))
    TO '$1' (FORMAT parquet, COMPRESSION zstd)"
}

make "$data/units.csv" "$build/make_log" "$rows" units
make "$data/plain.csv" "$build/make_log" "$rows" nounits
make "$data/log.parquet" to_parquet

exec python3 bench/compare.py "$build" "$data"
