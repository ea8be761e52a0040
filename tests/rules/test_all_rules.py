"""Every rule keeps the conventions that CONTRIBUTING states."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from specpreflight.rules import registry
from specpreflight.rules.registry import load_rules, read_page
from specpreflight.rules.rule import Rule

HEADINGS = (
    "## What it checks",
    "## What the engine does",
    "## Example",
    "## Fix",
    "## Fix safety",
    "## How sure",
    "## References",
)
RULES = load_rules()
TESTS = Path(__file__).parent
SOURCE = Path(registry.__file__).parent


def modules() -> dict[str, str]:
    """Rule name → its module in the registry (`context.draft_context_longer`)."""
    return dict(zip((rule.name for rule in RULES), registry._RULES, strict=True))


def starts_in_lower_case(text: str) -> bool:
    """A name such as RoPE or MTP may begin a line; a plain capitalised word may not."""
    first = text.split()[0]
    return not first[0].isupper() or any(letter.isupper() for letter in first[1:])


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_name_reads_well_after_ignore(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert not re.search(r"\b(error|warning|note|fatal)\b", rule.name)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_file_is_called_like_the_rule(rule: Rule) -> None:
    assert modules()[rule.name].split(".")[-1] == rule.name.replace("-", "_")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_page_has_all_headings_in_order(rule: Rule) -> None:
    lines = read_page(rule.name).splitlines()
    assert [line for line in lines if line.startswith("## ")] == list(HEADINGS)
    first = lines[0]
    assert first.endswith(".")
    assert len(first) <= 100


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_summary_is_one_line(rule: Rule) -> None:
    assert rule.summary
    assert "\n" not in rule.summary
    assert not rule.summary.endswith(".")
    assert starts_in_lower_case(rule.summary)
    assert len(rule.summary) <= 100


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_has_a_test(rule: Rule) -> None:
    area, name = modules()[rule.name].split(".")
    assert (TESTS / area / f"test_{name}.py").is_file()


def test_every_rule_file_is_registered() -> None:
    files = {
        f"{path.parent.name}.{path.stem}"
        for path in SOURCE.glob("*/*.py")
        if "\nRULE = " in path.read_text()
    }
    assert files == set(registry._RULES)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_constant_parts_of_messages_keep_the_form(rule: Rule) -> None:
    """What findings say is tested where they are made; here no message may be a sentence."""
    path = SOURCE / (modules()[rule.name].replace(".", "/") + ".py")
    for message in re.findall(r"Outcome\.[A-Z_]+,\n\s+f?\"([^\"]+)\"", path.read_text()):
        assert not message.endswith(".")
        assert starts_in_lower_case(message)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_a_rule_that_waits_for_events_waits_for_its_own(rule: Rule) -> None:
    waits_for = registry._RULES[modules()[rule.name]].topics
    assert waits_for in ((), rule.topics)
    for engine in rule.engines or ("sglang", "vllm"):
        assert all(registry.is_claimed(topic, engine) for topic in rule.topics)
