#!/usr/bin/env bash
# What `idleburn agent` costs a node of eight GPUs at 10 Hz: eight jobs of a prolog, eight processes, a scrape every
# 5 s. Prints a table and leaves it in build/bench/agent.md. See docs/benchmarks.md.
#   tools/bench_agent.sh BUILD_DIR [SECONDS]     default 30 s
set -euo pipefail
cd "$(dirname "$0")/.."

exec python3 bench/agent_cost.py "${1:?usage: tools/bench_agent.sh BUILD_DIR [SECONDS]}" "${2:-30}"
