#!/usr/bin/env bash
# What `make audit` audits, as arguments of `idleburn audit`: AUDIT_FOR (default 30s) of this machine's own GPUs where
# the driver lists any, else the example recording at an invented price.
#   tools/audit_input.sh BUILD_DIR
set -euo pipefail
build=${1:?usage: tools/audit_input.sh BUILD_DIR}
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q '^GPU '; then
  recording=$build/this_machine.idleburn
  rm -f "$recording"
  "./$build/idleburn" record --for "${AUDIT_FOR:-30s}" -o "$recording" --report /dev/null >&2
  echo "$recording"
else
  echo "examples/finetune_4xh100.csv.gz --price 8"
fi
