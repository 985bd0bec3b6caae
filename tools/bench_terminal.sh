#!/usr/bin/env bash
# How fast short lines reach the user's terminal through `idleburn run`, beside the command alone. Prints a table and
# leaves it in build/bench/terminal.md. See docs/benchmarks-live.md.
#   tools/bench_terminal.sh BUILD_DIR [PAIRS] [MEGABYTES]     default 5 pairs of 1000 MB: about ten minutes
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench_terminal.sh BUILD_DIR [PAIRS] [MEGABYTES]}
exec python3 bench/compare_terminal.py "$build" "${2:-5}" "${3:-1000}"
