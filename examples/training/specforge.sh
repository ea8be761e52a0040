#!/bin/bash
# A SpecForge run: the draft's config before any GPU is taken, and the newest checkpoint after it.
# TARGET is the model served, DRAFT_CONFIG the template, OUTPUT gets epoch_0/, epoch_1/ ….
set -euo pipefail
specpreflight check "$TARGET" "$DRAFT_CONFIG"
torchrun --standalone --nproc_per_node "${GPUS:-8}" scripts/train_eagle3.py \
  --target-model-path "$TARGET" --draft-model-config "$DRAFT_CONFIG" \
  --train-data-path "$DATA" --output-dir "$OUTPUT"
specpreflight scan "$OUTPUT" --target "$TARGET" --latest
