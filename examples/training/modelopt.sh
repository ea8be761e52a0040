#!/bin/bash
# A ModelOpt run: what is served is the export, so the export is what is checked.
set -euo pipefail
./launch_train.sh --model "$TARGET" --output_dir "$OUTPUT/trained"
python scripts/export_hf_checkpoint.py --model_path "$OUTPUT/trained" --export_path "$OUTPUT/export"
specpreflight check "$TARGET" "$OUTPUT/export"
