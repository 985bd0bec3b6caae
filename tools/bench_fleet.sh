#!/usr/bin/env bash
# The fleet's ledger beside the engine's own query, as ratios of runs in turn, with goals and exact sums. Prints a table
# and leaves it in build/bench/fleet.md. See docs/scale.md.
#   tools/bench_fleet.sh BUILD_DIR            2,000 GPUs for a week, with jobs: under 2 minutes
#   tools/bench_fleet.sh BUILD_DIR --month    10,000 GPUs for 30 days, with jobs: 15 minutes and 3 GB of disk
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench_fleet.sh BUILD_DIR [--month]}
size=(--nodes 250 --hours 168)
[ "${2:-}" = --month ] && size=(--nodes 1250 --hours 720)
mkdir -p build/bench
python3 bench/fleet_ledger.py "$build" "${size[@]}" --jobs | tee build/bench/fleet.md
