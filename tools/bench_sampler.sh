#!/usr/bin/env bash
# What measuring eight GPUs, a host and 16 processes costs at 10 and at 100 Hz, beside a Python loop that asks the same
# library for the same, in turn. Prints a table and leaves it in build/bench/sampler.md. See docs/benchmarks-live.md.
#   tools/bench_sampler.sh BUILD_DIR [SECONDS]     default 10 s a run: four minutes
set -euo pipefail
cd "$(dirname "$0")/.."

exec python3 bench/compare_sampler.py "${1:?usage: tools/bench_sampler.sh BUILD_DIR [SECONDS]}" "${2:-10}"
