"""A flag or value that this release's argument parser does not take.

## What it checks
The engine's arguments, with the parser of that release: unknown and ambiguous flags, values outside
the choices, values of the wrong type, missing values.

## What the engine does
argparse prints its usage and the message, and exits with code 2 before anything is read. vLLM's
parser reads underscores as hyphens first, and `--flag.key value` as a key of a JSON flag.

## Example
`--speculative-draft T` on 0.5.2: `ambiguous option: --speculative-draft could match
--speculative-draft-model-path, --speculative-draft-model-revision, …`.

## Fix
Write the flag as the release has it; the finding names the nearest one, or the releases that have
this one.

## Fix safety
Nothing is edited.

## How sure
Proven: argparse's own rules on the flags harvested from the release.

## References
SGLang `server_args.py:add_cli_args`; vLLM `utils/argparse_utils.py`; Python `argparse`.
"""

from __future__ import annotations

from specpreflight.rules.rule import rule_of_events

RULE = rule_of_events(
    name="arguments-not-understood",
    summary="a flag or value that this release's argument parser does not take",
    since="0.1.0",
    engines=("sglang", "vllm"),
    topics=("arguments.not-parsed", "arguments.parse"),
    remedies={},
)
