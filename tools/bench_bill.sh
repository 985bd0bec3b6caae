#!/usr/bin/env bash
# Speed and memory of reconciling a large bill, beside DuckDB, which only scans the same file and sums a column. Checks
# that both sums are that of the generator. Prints a table and leaves it in build/bench/bill.md. See docs/bill.md.
#   tools/bench_bill.sh BUILD_DIR [ROWS]      default 1,000,000 rows: 0.5 GB, made once; 10,000,000 rows are 5 GB
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench_bill.sh BUILD_DIR [ROWS]}
rows=${2:-1000000}
data=build/bench/bill-$rows
mkdir -p "$data"
if [ ! -s "$data/truth.txt" ]; then
  echo "bench: making $data/bill.csv"
  "$build/make_bill" "$rows" "$data/bill.csv" > "$data/truth.part"
  mv "$data/truth.part" "$data/truth.txt"
fi
read -r written _ cents _ copies _ < "$data/truth.txt"

rm -rf "$data/store"
mkdir -p "$data/store"
store="$data/store/bill.duckdb"
"$build/measure" "$data/import.t" "$build/idleburn" bill import "$data/bill.csv" --store "$store" --quiet \
  > "$data/import.txt"
"$build/measure" "$data/reconcile.t" "$build/idleburn" bill reconcile --store "$store" --quiet --format json \
  > "$data/bill.json"
"$build/measure" "$data/scan.t" "$build/duckdb_query" 2 \
  "SELECT (sum(BilledCost::DECIMAL(18, 2)) * 100)::BIGINT FROM read_csv('$data/bill.csv', all_varchar = true)" \
  > "$data/scan.txt"

python3 - "$data" "$cents" "$copies" <<'PYTHON'
import json, sys
data, cents, copies = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
bill = json.load(open(data + "/bill.json"))
assert round(float(bill["invoice"]["rows"]) * 100) == cents, (bill["invoice"], cents)
assert int(open(data + "/scan.txt").read()) == cents
assert sum(m["kind"] == "duplicate_row" for m in bill["mismatches"]) == copies
assert len(bill["mismatches"]) == copies
PYTHON

{
  echo "| step | rows per second | seconds | processor seconds | peak MiB |"
  echo "|---|---|---|---|---|"
  for step in import reconcile scan; do
    read -r wall cpu mib < "$data/$step.t"
    name=$step
    [ "$step" != scan ] || name="DuckDB's scan and sum"
    echo "| $name | $(awk "BEGIN { printf \"%.0f\", $written / $wall }") | $wall | $cpu | $mib |"
  done
} | tee build/bench/bill.md
