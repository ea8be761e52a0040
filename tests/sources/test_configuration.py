"""Reading a configuration: what it says, and one clear line for everything that it may not say."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import jsonschema
import pytest

from specpreflight.errors import UsageError
from specpreflight.models.configuration import configuration_schema
from specpreflight.models.finding import Severity
from specpreflight.models.policy import PairGlobs
from specpreflight.rules.registry import rule_names
from specpreflight.sources.configuration import read_configuration
from specpreflight.sources.configuration_place import find_configuration

WHOLE = """\
engine = ["sglang@0.5.9", "vllm"]
fail-on = "warning"
baseline = "known.json"
plugins = ["acme"]

[severity]
rope-theta-differs = "error"

[[ignore]]
rule = "draft-context-shorter"
reason = "served at 128k only"
until = 2027-01-31
paths = ["drafts/old/**"]
pairs = [{ target = "kimi", draft = "drafts/*" }]

[[ignore]]
rule = "vocab-size-differs"
reason = "pruned head"
"""

IGNORE = "[[ignore]]\nrule='a'\nreason='b'\n"


def write(folder: Path, text: str, name: str = "specpreflight.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_everything_that_can_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    read = read_configuration(write(tmp_path, WHOLE))
    assert read.engines == ("sglang@0.5.9", "vllm")
    assert (read.fail_on, read.baseline, read.plugins) == ("warning", "known.json", ("acme",))
    assert read.severities == {"rope-theta-differs": Severity.ERROR}
    first, second = read.ignores
    assert (first.by, first.until) == ("specpreflight.toml:9", date(2027, 1, 31))
    assert first.pairs == (PairGlobs("kimi", "drafts/*"),)
    assert second.by == "specpreflight.toml:16"
    assert (first.root, second.paths) == (str(tmp_path), ())


def test_a_table_of_pyproject(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = '[project]\nname = "x"\n[tool.specpreflight]\nengine = "vllm"\n'
    text += '[[tool.specpreflight.ignore]]\nrule = "a"\nreason = "b"\nuntil = "2027-01-31"\n'
    read = read_configuration(write(tmp_path, text, "pyproject.toml"))
    assert read.engines == ("vllm",)
    assert (read.ignores[0].by, read.ignores[0].until) == ("pyproject.toml:5", date(2027, 1, 31))


def test_ignores_in_one_array_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'ignore = [\n  { rule = "a", reason = "b" },\n  { rule = "c", reason = "d" },\n]\n'
    read = read_configuration(write(tmp_path, text))
    assert [ignore.by for ignore in read.ignores] == [
        "specpreflight.toml:1 (entry 1)",
        "specpreflight.toml:1 (entry 2)",
    ]


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("fail_on = 'error'", ":1: `fail_on`: unknown key", "did you mean `fail-on`?"),
        ("zzz = 1", ":1: `zzz`: unknown key", "known keys: engine, fail-on"),
        ("\nfail-on = 'fatal'", ":2: `fail-on`: 'fatal' is none of error, warning", None),
        ("engine = 5", ":1: `engine`: expected a string or an array, got 5", None),
        ("engine = ''", ":1: `engine`: is empty", None),
        ("severity = 'error'", ":1: `severity`: expected a table, got 'error'", None),
        ("[severity]\nx = 'off'", ":2: `severity.x`: 'off' is none of", None),
        ("[[ignore]]\nrule = 'a'", ":1: `ignore`: has no `reason`", 'add reason = "…"'),
        ("[[ignore]]\nrule = 'a'\nreason = ' '", ":3: `ignore.reason`: is empty", None),
        (IGNORE + "untill=1", ":4: `ignore.untill`", "`until`?"),
        (IGNORE + "until='soon'", ":4: `ignore.until`: expected a", "2027"),
        (IGNORE + "until=2027-01-31T00:00:00", ":4: `ignore.until`", "2027"),
        (IGNORE + "paths='x'", ":4: `ignore.paths`: expected an array", None),
        (IGNORE + "pairs=[{x='y'}]", ":4 (entry 1): `ignore.pairs.x`", "known"),
        ("engine = [", ": no TOML: ", None),
    ],
)  # fmt: skip
def test_what_it_may_not_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str, hint: str | None
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        read_configuration(write(tmp_path, text))
    assert caught.value.message.startswith("specpreflight.toml" + message)
    assert hint is None or hint in (caught.value.hint or "")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        read_configuration(tmp_path / "none.toml")


def test_the_nearest_is_found(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert find_configuration(str(inner)) != str(tmp_path / "pyproject.toml")
    shared = write(tmp_path, "[tool.specpreflight]\n", "pyproject.toml")
    assert find_configuration(str(inner)) == str(shared)
    write(tmp_path / "a", "[tool.ruff]\n", "pyproject.toml")
    assert find_configuration(str(inner)) == str(shared)
    own = write(tmp_path, "")
    assert find_configuration(str(inner)) == str(own)
    nearer = write(tmp_path / "a", "")
    assert find_configuration(str(inner)) == str(nearer)


def test_the_published_schema_says_the_same() -> None:
    schema = configuration_schema(rule_names())
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    good = {"engine": "vllm", "ignore": [{"rule": "a", "reason": "b", "until": "2027-01-31"}]}
    assert list(validator.iter_errors(good)) == []
    for bad in ({"fail_on": "error"}, {"engine": 5}, {"ignore": [{"rule": "a"}]}):
        assert list(validator.iter_errors(bad)), json.dumps(bad)
