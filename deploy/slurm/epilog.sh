#!/usr/bin/env bash
# Epilog of slurmd (Epilog= in slurm.conf): removes what the prolog wrote. It never fails a job.
set -euo pipefail
trap 'exit 0' EXIT
folder=${IDLEBURN_JOB_FILES:-/run/idleburn/jobs}
[ -n "${SLURM_JOB_ID:-}" ] || exit 0
for file in "$folder"/GPU-* "$folder"/MIG-*; do
  [ -f "$file" ] || continue
  read -r job _ <"$file" && [ "$job" = "$SLURM_JOB_ID" ] && rm -f "$file"
done
