#!/usr/bin/env bash
# Kimi-K2.5 with an EAGLE-3 draft, 2 speculative steps, on eight RTX PRO 6000 without NVLink.
set -euo pipefail

export NCCL_PROTO=LL
export NCCL_ALGO=Ring
export NCCL_P2P_LEVEL=SYS
export NCCL_MAX_NCHANNELS=16
export NCCL_BUFFSIZE=16777216
export NCCL_NTHREADS=512

python -m sglang.launch_server \
  --model-path target \
  --tp-size 8 \
  --trust-remote-code \
  --speculative-algorithm EAGLE3 \
  --speculative-draft-model-path draft \
  --speculative-num-steps 2 \
  --speculative-eagle-topk 1 \
  --speculative-num-draft-tokens 3 \
  --mem-fraction-static 0.85 \
  --host 0.0.0.0 --port 30000
