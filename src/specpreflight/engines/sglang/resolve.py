"""Walks a launch through one release, from its command line to the draft worker."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from specpreflight.engines.sglang.arguments import parse
from specpreflight.engines.sglang.assumptions import with_assumptions
from specpreflight.engines.sglang.command_line import flag_origins
from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.knowledge import Knowledge
from specpreflight.engines.sglang.launch_source import open_source
from specpreflight.engines.sglang.model_config import ModelConfigs
from specpreflight.engines.sglang.server_args.machine import Machine, possible_machines
from specpreflight.engines.sglang.server_args.resolution import resolve_server_args
from specpreflight.engines.sglang.server_args.state import ServerArgs, Unknowable
from specpreflight.engines.sglang.walk import Prediction, Walk
from specpreflight.models.argument_parser import Arguments
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import STOPPING, Origin, Outcome, Stage
from specpreflight.models.launch import Launch
from specpreflight.models.resolved import Event, Resolved

#: Settings of the report's `resolved` block that are fields of `ServerArgs`.
_SETTINGS = {
    "algorithm": "speculative_algorithm",
    "num_steps": "speculative_num_steps",
    "topk": "speculative_eagle_topk",
    "num_draft_tokens": "speculative_num_draft_tokens",
    "draft_path": "speculative_draft_model_path",
    "draft_revision": "speculative_draft_model_revision",
    "draft_attention_backend": "speculative_draft_attention_backend",
    "attention_backend": "attention_backend",
    "page_size": "page_size",
    "max_running_requests": "max_running_requests",
    "mem_fraction_static": "mem_fraction_static",
    "mixed_chunk": "enable_mixed_chunk",
}


def resolve(launch: Launch, knowledge: Knowledge) -> Resolved:
    """Predict what this release does with a launch.

    Where the machine is not known, the launch is predicted for each kind of machine; what they
    agree on is the answer, the rest is listed as unknown.
    """
    parsed = parse(launch.argv, knowledge, config=launch.facts.get("config_file"))
    checkpoints = _checkpoints(launch, parsed.values)
    given = flag_origins(parsed)
    predictions: dict[Machine, Prediction] = {}
    configs: ModelConfigs | None = None
    with _without_collecting():
        for machine in possible_machines(launch.hardware):
            if configs is None or configs.source.asked_capability:
                source = open_source(launch, knowledge, machine, checkpoints)
                configs = ModelConfigs(source, checkpoints)
            predictions[machine] = predict(launch, knowledge, machine, parsed, given, configs)
    merged = _merge(predictions)
    return merged if launch.engine.path is None else with_assumptions(merged, knowledge)


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Pause garbage collection: syntax trees are many objects, none of them garbage yet."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def predict(
    launch: Launch,
    knowledge: Knowledge,
    machine: Machine,
    parsed: Arguments,
    given: Mapping[str, Origin],
    configs: ModelConfigs,
) -> Prediction:
    """Predict what this release does with a launch on one machine.

    `given` are the origins of the attributes that the command line sets.
    """
    prediction = Prediction()
    for problem in parsed.problems:
        prediction.events.append(
            Event(
                "arguments.parse",
                Outcome.REFUSES,
                Stage.ARGUMENTS,
                problem.message,
                engine_message=f"error: {problem.message}",
                exception="SystemExit",
                source="server_args.py:prepare_server_args",
                facts={"problem": problem, "read": "flags"},
            )
        )
    args = ServerArgs(
        parsed.values,
        given,
        release=knowledge,
        machine=machine,
        environment=configs.source.variables,
        checkpoints=configs,
    )
    resolve_server_args(args)
    prediction.events += args.events
    prediction.unknown += args.unknown
    for name, setting in _SETTINGS.items():
        try:
            prediction.values[name] = args.resolved(setting)
        except Unknowable as missing:
            prediction.unknown.append((name, str(missing)))
    Walk(launch, knowledge, args, configs, prediction).run()
    prediction.facts["transformers_major"] = configs.source.transformers_major
    for name in [name for name, known in prediction.values.items() if known.value is UNKNOWN]:
        del prediction.values[name]
        prediction.unknown.append((name, "depends on code that is not at hand"))
    return prediction


def _checkpoints(launch: Launch, fields: Mapping[str, Any]) -> dict[str, Checkpoint]:
    """Return the checkpoints by the paths that the engine is given."""
    found: dict[str, Checkpoint] = {}
    draft_path, target_path = fields.get("speculative_draft_model_path"), fields.get("model_path")
    if launch.draft is not None:
        found[str(draft_path or launch.draft_path or launch.draft.given)] = launch.draft
    if launch.target is not None:
        found[str(target_path or launch.target_path or launch.target.given)] = launch.target
    return found


def _merge(predictions: Mapping[Machine, Prediction]) -> Resolved:
    """Return what all predictions agree on, and list the rest as unknown."""
    first, *others = predictions.values()
    events = [e for e in first.events if all(_said(e, other.events) for other in others)]
    values = {
        name: value
        for name, value in first.values.items()
        if all(other.values.get(name) == value for other in others)
    }
    unknown = list(dict.fromkeys(each for p in predictions.values() for each in p.unknown))
    for name in first.values:  # in their order: a difference of sets has another in each process
        if name not in values:
            unknown.append((name, "depends on the machine: " + _by_machine(predictions, name)))
    for machine, prediction in predictions.items():
        for event in prediction.events:
            if event.outcome in STOPPING and not _said(event, events):
                unknown.append((event.topic, f"on {machine.name}: {event.message}"))
    return Resolved(values, tuple(events), unknown=tuple(unknown), facts=first.facts)


def _said(event: Event, events: Iterable[Event]) -> bool:
    return any(
        (event.topic, event.engine_message) == (other.topic, other.engine_message)
        for other in events
    )


def _by_machine(predictions: Mapping[Machine, Prediction], name: str) -> str:
    return ", ".join(
        f"{prediction.values[name].value} on {machine.name}"
        for machine, prediction in predictions.items()
        if name in prediction.values
    )
