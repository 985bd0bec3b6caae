#!/usr/bin/env bash
# The recording that `make audit` audits.
set -euo pipefail
echo examples/finetune_4xh100.csv.gz
