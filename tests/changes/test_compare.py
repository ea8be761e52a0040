"""What changed between two launches, and what comes of each change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from launches import EAGLE3_FLAGS, LLAMA, LLAMA_EAGLE3, change, make_launch

from specpreflight.api import check
from specpreflight.changes.capture import capture
from specpreflight.changes.compare import compare_launches
from specpreflight.changes.rebuild import rebuild_launch
from specpreflight.models.change import Change
from specpreflight.models.comparison import Comparison
from specpreflight.models.finding import MISSING
from specpreflight.models.launch import Hardware, Launch
from specpreflight.models.lock import Lock

LONG = change(LLAMA, max_position_embeddings=262144)
LONG_DRAFT = change(LLAMA_EAGLE3, max_position_embeddings=262144)
OVERRIDE = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


def lock(launch: Launch) -> Lock:
    return capture(launch, check(launch))


def compare(before: Launch, after: Launch, recorded: Lock | None = None) -> Comparison:
    """Compare; `recorded` is the first, where its files are overwritten by the second's."""
    return compare_launches(recorded or lock(before), lock(after), after, names=("A", "B"))


def of_part(found: Comparison, part: str) -> dict[str, Change]:
    return {change.name: change for change in found.changes if change.part == part}


def rules(change: Change) -> dict[str | None, str]:
    return {one.rule: one.effect for one in change.consequences}


def two(folder: Path, before: dict[str, Any], after: dict[str, Any]) -> Comparison:
    """Compare two launches that are written one after the other into the same folder."""
    first = make_launch(folder, **before)
    recorded = lock(first)
    return compare(first, make_launch(folder, **after), recorded)


def test_nothing_changed(tmp_path: Path) -> None:
    launch = make_launch(tmp_path)
    found = compare(launch, launch)
    assert (found.changes, found.together) == ((), ())


def test_a_record_of_another_specpreflight(tmp_path: Path) -> None:
    launch = make_launch(tmp_path)
    older = replace(lock(launch), written_by="specpreflight 0.0.9")
    [only] = compare(launch, launch, older).changes
    assert (only.part, only.before) == ("libraries", "specpreflight 0.0.9")


def test_a_key_of_the_drafts_config(tmp_path: Path) -> None:
    found = two(
        tmp_path,
        {"target": LONG, "draft": LONG_DRAFT},
        {"target": LONG, "draft": LLAMA_EAGLE3},
    )
    [only] = found.changes
    assert (only.part, only.name) == ("draft", "max_position_embeddings")
    assert (only.before, only.after) == (262144, 131072)
    [worst] = [one for one in only.consequences if one.effect == "worse"]
    assert worst.rule == "draft-context-shorter"
    assert worst.text.startswith("now an error (crashes, draft-config): the draft's context")
    assert found.after_verdict is not None
    assert found.after_verdict.outcome.value == "crashes"


def test_a_warning_that_another_release_makes_an_error(tmp_path: Path) -> None:
    found = two(
        tmp_path,
        {"target": LONG, "engine": "sglang@0.4.9"},
        {"target": LONG, "engine": "sglang@0.5.9"},
    )
    engine = of_part(found, "engine")["engine"]
    assert (engine.before, engine.after) == ("0.4.9", "0.5.9")
    texts = [one.text for one in engine.consequences if one.rule == "draft-context-shorter"]
    assert texts[0].startswith("this was a warning, is now an error (crashes, draft-config)")
    assert found.changes[0] is engine


def test_a_variable_that_the_next_shell_forgot(tmp_path: Path) -> None:
    found = two(
        tmp_path,
        {"target": LONG, "environment": {OVERRIDE: "1", "NCCL_PROTO": "LL"}},
        {"target": LONG, "environment": {}},
    )
    variables = of_part(found, "environment")
    assert variables[OVERRIDE].before, variables[OVERRIDE].after == ("1", MISSING)
    assert rules(variables[OVERRIDE])["draft-context-shorter"] == "worse"
    assert rules(variables["NCCL_PROTO"]) == {"nccl-setting-explained": "other"}
    assert [change.name for change in found.changes] == [OVERRIDE, "NCCL_PROTO"]


def test_flags_and_the_settings_that_they_resolve_to(tmp_path: Path) -> None:
    more = tuple({"3": "4", "4": "5"}.get(word, word) for word in EAGLE3_FLAGS)
    first, second = make_launch(tmp_path), make_launch(tmp_path, None, None, *more)
    found = compare(first, second)
    flags = of_part(found, "flags")
    assert set(flags) == {"--speculative-num-steps", "--speculative-num-draft-tokens"}
    assert len(found.changes) == 2
    [steps] = flags["--speculative-num-steps"].consequences
    assert steps.text == "num_steps 3 → 4 (--speculative-num-steps given)"
    [tokens] = flags["--speculative-num-draft-tokens"].consequences
    assert tokens.text.startswith("num_draft_tokens 4 → 5")


def test_what_only_changed_is_not_blamed(tmp_path: Path) -> None:
    noise = {f"unused_{number}": number for number in range(20)}
    found = two(
        tmp_path,
        {"target": LONG, "draft": LONG_DRAFT},
        {"target": LONG, "draft": {**LLAMA_EAGLE3, **noise}},
    )
    blamed = [change.name for change in found.changes if change.consequences]
    assert blamed == ["max_position_embeddings"]
    assert len(found.changes) == 21


def test_what_two_changes_do_together(tmp_path: Path) -> None:
    """Either length alone keeps the draft short; only both together would mend it."""
    found = two(
        tmp_path,
        {"target": LLAMA, "draft": LLAMA_EAGLE3},
        {
            "target": LONG,
            "draft": change(LLAMA_EAGLE3, max_position_embeddings=65536),
        },
    )
    assert [one.rule for one in found.together if one.effect == "worse"] == [
        "draft-context-shorter"
    ]


def test_hardware(tmp_path: Path) -> None:
    launch = make_launch(tmp_path)
    found = compare(
        replace(launch, hardware=Hardware(gpu="H100", capability=(9, 0), memory_mib=81559)),
        replace(launch, hardware=Hardware(gpu="B200", capability=(10, 0), memory_mib=183359)),
    )
    hardware = of_part(found, "hardware")
    assert set(hardware) == {"gpu", "capability", "memory_mib"}
    backend = [
        one.text
        for one in hardware["capability"].consequences
        if one.text.startswith("attention_backend")
    ]
    assert len(backend) == 1


def test_speculative_config_is_compared_key_by_key(tmp_path: Path) -> None:
    def launch(tokens: int) -> Launch:
        config = f'{{"method": "eagle3", "num_speculative_tokens": {tokens}}}'
        words = ("--speculative-config", config)
        return make_launch(tmp_path, None, None, *words, engine="vllm@0.20.0")

    found = compare(launch(3), launch(5))
    [only] = found.changes
    assert only.name == "--speculative-config.num_speculative_tokens"
    assert (only.before, only.after) == (3, 5)
    assert any(one.text.startswith("num_speculative_tokens 3 → 5") for one in only.consequences)


def test_two_engines(tmp_path: Path) -> None:
    found = compare(
        make_launch(tmp_path, engine="sglang@0.5.11"),
        make_launch(tmp_path, None, None, "--max-model-len", "4096", engine="vllm@0.20.0"),
    )
    assert of_part(found, "engine")["engine"].before == "sglang 0.5.11"
    assert not found.together
    assert not any(change.consequences for change in found.changes)


def test_a_recorded_launch_can_be_checked_again(tmp_path: Path) -> None:
    launch = make_launch(tmp_path, LONG, environment={"NCCL_PROTO": "LL"})
    recorded = lock(launch)
    again = lock(rebuild_launch(recorded))
    assert again.report.verdict == recorded.report.verdict
    assert again.report.resolved == recorded.report.resolved
    found = compare_launches(recorded, recorded, rebuild_launch(recorded), names=("A", "B"))
    assert not found.changes


@pytest.mark.parametrize("given", [{"--context-length": "131072"}, {"--context-length=131072": ""}])
def test_a_flag_that_was_not_given_before(tmp_path: Path, given: dict[str, str]) -> None:
    words = [word for pair in given.items() for word in pair if word]
    first = make_launch(tmp_path, LONG)
    found = compare(first, make_launch(tmp_path, LONG, None, *EAGLE3_FLAGS, *words))
    flag = of_part(found, "flags")["--context-length"]
    assert (flag.before, flag.after) == (MISSING, "131072")
    assert rules(flag)["draft-context-shorter"] == "better"


def test_a_flag_with_several_values(tmp_path: Path) -> None:
    first, second = (
        make_launch(tmp_path, None, None, *EAGLE3_FLAGS, "--lora-paths", *names)
        for names in (("a", "b"), ("a", "c"))
    )
    [only] = compare(first, second).changes
    assert (only.name, only.before, only.after) == ("--lora-paths", ["a", "b"], ["a", "c"])
