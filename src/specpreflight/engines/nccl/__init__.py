"""NCCL: what a release makes of its environment variables, restated from its source per release.

Read from the release tags 2.3.5 to 2.30.7 of NVIDIA/nccl; a newer release is read as 2.30.7 where
nothing else is known of it. Every module names the function it restates.
"""
