"""Which engine a command is predicted for, and with which variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from specpreflight.api import identify_engine
from specpreflight.conditions import Surroundings, conditions_of
from specpreflight.engines.sglang.knowledge import releases
from specpreflight.errors import UsageError
from specpreflight.models.command import Command, variable
from specpreflight.models.finding import Origin
from specpreflight.models.launch import EngineVersion, Variable

NEWEST = releases()[-1]
SERVE = Command("sglang", "sglang serve", ("--model-path", "t"))


def of_image(tag: str, engine: str = "sglang") -> Command:
    return replace(SERVE, engine=engine, image=f"some/{engine}:{tag}", engine_version=tag)


@pytest.mark.parametrize(
    ("command", "version", "determined_by"),
    [
        (None, NEWEST, "assumed: the newest known release"),
        (SERVE, NEWEST, "assumed: the newest known release"),
        (of_image("v0.5.9"), "0.5.9", "image some/sglang:v0.5.9"),
        (of_image("v0.5.9-cu130"), "0.5.9", "image some/sglang:v0.5.9-cu130"),
        (of_image("v9.9.9"), NEWEST, f"image some/sglang:v9.9.9, predicted as {NEWEST}"),
        (of_image("latest"), NEWEST, f"image some/sglang:latest, predicted as {NEWEST}"),
        (
            of_image("cu130-mtp-tuned"),
            NEWEST,
            "assumed: the newest known release (image some/sglang:cu130-mtp-tuned names none)",
        ),
    ],
)
def test_the_release_of_a_command(
    command: Command | None, version: str, determined_by: str
) -> None:
    [conditions] = conditions_of(command, Surroundings())
    assert conditions.engine == EngineVersion("sglang", version, determined_by)


@pytest.mark.parametrize(("tag", "engine"), [("v0.4.3", "sglang"), ("v0.5.4", "vllm")])
def test_a_release_that_nobody_knows_is_not_guessed(tag: str, engine: str) -> None:
    with pytest.raises(UsageError, match="older than every known"):
        conditions_of(of_image(tag, engine), Surroundings())


def test_what_is_asked_for_comes_first_and_what_is_configured_last() -> None:
    asked = tuple(identify_engine(one) for one in ("sglang@0.5.10", "vllm@0.11.0"))
    configured = tuple(identify_engine(one) for one in ("sglang@0.4.10", "vllm@0.10.0"))
    around = Surroundings(configured=configured)
    assert around.engines_of(of_image("v0.5.9"))[0].version == "0.5.9"
    assert around.engines_of(SERVE) == [configured[0]]
    assert around.engines_of(replace(SERVE, engine="vllm")) == [configured[1]]
    assert around.engines_of(None) == list(configured)
    assert around.engines_of(of_image("mine"))[0].version == "0.4.10"
    recorded = replace(around, recorded=identify_engine("sglang@0.5.11"))
    assert recorded.engines_of(SERVE)[0].version == "0.5.11"
    assert replace(recorded, engines=asked).engines_of(of_image("v0.5.9")) == asked


def variables(**values: str) -> dict[str, Variable]:
    return {
        name: Variable(name, value, Origin("environment", name=name))
        for name, value in values.items()
    }


def test_the_variables_of_a_launch() -> None:
    def add(environment: Mapping[str, Variable], engine: EngineVersion) -> dict[str, Variable]:
        return {**variables(NCCL_ALGO=engine.version), **environment}

    command = replace(SERVE, environment=(variable("B", "stated"), variable("C", "stated")))
    around = Surroundings(
        inherited=variables(A="around", B="around", C="around"),
        given=variables(C="given"),
        add_files=add,
    )

    def seen(command: Command, around: Surroundings) -> dict[str, str | None]:
        [conditions] = conditions_of(command, around)
        return {name: one.value for name, one in conditions.environment.items()}

    assert seen(command, around) == {
        "NCCL_ALGO": NEWEST, "A": "around", "B": "stated", "C": "given",
    }  # fmt: skip
    own = {"B": "stated", "C": "given"}
    assert seen(command, replace(around, inherited=None)) == own
    for elsewhere in (replace(command, form="kubernetes"), replace(command, image="some:v0.5.9")):
        assert seen(elsewhere, around) == own
