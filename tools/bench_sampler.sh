#!/usr/bin/env bash
# What sampling eight GPUs costs at 10 and at 100 Hz, beside a Python loop that asks the same library, in turn.
#   tools/bench_sampler.sh BUILD_DIR [SECONDS]     default 20 s each
# Goals: at most 0.5 % of a core at 10 Hz and 3 % at 100 Hz, 16 MiB, p99 lateness 5 ms, 0.2x the Python loop.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:?usage: tools/bench_sampler.sh BUILD_DIR [SECONDS]}
seconds=${2:-20}
library=$build/bench/libinstant_nvml.so

for hz in 10 100; do
  echo "idleburn $hz Hz: $("$build/sample_gpus" "$library" "$hz" "$seconds")"
  echo "python   $hz Hz: $(python3 bench/sample_gpus_peer.py "$library" "$hz" "$seconds")"
done
