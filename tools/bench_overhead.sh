#!/usr/bin/env bash
# What `idleburn run` costs a workload that keeps every core busy: its sampler stopped and running in turn, with an
# interval. Prints a table and leaves it in build/bench/overhead.md. See docs/benchmarks-live.md.
#   tools/bench_overhead.sh BUILD_DIR [PAIRS] [SECONDS]     default 2000 pairs of blocks of 0.1 s: eight minutes
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench_overhead.sh BUILD_DIR [PAIRS] [SECONDS]}
exec python3 bench/compare_overhead.py "$build" "${2:-2000}" "${3:-0.1}"
