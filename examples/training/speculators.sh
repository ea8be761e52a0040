#!/bin/bash
# A speculators run: each save in OUTPUT (0/, 1/ …) names its verifier, so no target has to be given.
set -euo pipefail
torchrun --standalone --nproc_per_node "${GPUS:-8}" scripts/train.py \
  --verifier-name-or-path "$TARGET" --data-path "$DATA" --save-path "$OUTPUT"
specpreflight scan "$OUTPUT" --latest --engine vllm
