#!/usr/bin/env bash
# Prolog of slurmd (Prolog= in slurm.conf): writes which job holds each GPU, for `idleburn agent --job-files FOLDER`.
# One file for each GPU, named by its UUID: "JOBID START UID". It never fails a job.
set -euo pipefail
trap 'exit 0' EXIT
folder=${IDLEBURN_JOB_FILES:-/run/idleburn/jobs}
gpus=${SLURM_JOB_GPUS:-}
[ -n "$gpus" ] && [ -n "${SLURM_JOB_ID:-}" ] || exit 0
smi=${IDLEBURN_NVIDIA_SMI:-nvidia-smi}
umask 022
mkdir -p "$folder" || exit 0
start=$(date +%s)
# SLURM_JOB_GPUS has indices of the node, or UUIDs.
for gpu in $(echo "$gpus" | tr ',' ' '); do
  case $gpu in
    GPU-* | MIG-*) uuid=$gpu ;;
    *) uuid=$("$smi" --id="$gpu" --query-gpu=uuid --format=csv,noheader 2>/dev/null) || continue ;;
  esac
  case $uuid in
    GPU-* | MIG-*) ;;
    *) continue ;;
  esac
  # Renamed, so that the agent never reads half a file.
  echo "$SLURM_JOB_ID $start ${SLURM_JOB_UID:-0}" >"$folder/.$uuid.$$" && mv "$folder/.$uuid.$$" "$folder/$uuid"
done
