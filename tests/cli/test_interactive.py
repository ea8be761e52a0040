"""`--interactive` asks for each fix, and only once."""

from __future__ import annotations

import io
import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixing import finding

from specpreflight.cli.interactive import Chooser, ask_on_terminal, terminal_chooser
from specpreflight.errors import UsageError
from specpreflight.models.finding import MISSING, Edit

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"
FLAGS = (
    *("--speculative-algorithm", "EAGLE3", "--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "4"),
    "--trust-remote-code",
)
FINDINGS = [
    finding(Edit("config.json", f"/{key}", 1, MISSING), rule=f"rule-{key}") for key in "abcd"
]


@pytest.mark.parametrize(
    ("answers", "chosen"),
    [
        (["yes", "no", "yes", "no"], "ac"),
        (["no", "all"], "bcd"),
        (["yes", "quit"], "a"),
        (["quit"], ""),
        (["all"], "abcd"),
    ],
)
def test_answers(answers: list[str], chosen: str) -> None:
    left = list(answers)
    chooser = Chooser(("safe",), lambda question: left.pop(0))
    for _ in range(2):  # the second round asks nothing
        assert "".join(one.rule[-1] for one in chooser.choose(FINDINGS)) == chosen
    assert left == []


def test_what_cannot_be_fixed_is_not_asked() -> None:
    def never(question: str) -> str:
        raise AssertionError(question)

    unsafe = finding(Edit("config.json", "/a", 1, 2), how="unsafe")
    assert Chooser(("safe",), never).choose([finding(), unsafe]) == []


def test_the_question_shows_both_values() -> None:
    asked: list[str] = []

    def note(question: str) -> str:
        asked.append(question)
        return "no"

    both = finding(
        Edit("d/config.json", "/a", 131072, 262144), Edit("d/config.json", "/b", 1, MISSING)
    )
    Chooser(("safe",), note).choose([both])
    assert asked[0].splitlines() == [
        "draft-context-shorter: draft-context-shorter found it",
        "  d/config.json /a: 131072 -> 262144",
        "  d/config.json /b: 1 -> removed",
    ]


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", "yes"),
        ("No\n", "no"),
        ("all\n", "all"),
        ("q\n", "quit"),
        ("x\n\ny\n", "yes"),
        ("", "quit"),
    ],
)
def test_on_a_terminal(typed: str, answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert ask_on_terminal("rule: message") == answer


def test_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(UsageError, match="needs a terminal"):
        terminal_chooser(("safe",))


class Typist:
    """Runs a check in a real process on a real terminal, and types when it is asked."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def answer(self, *answers: str) -> tuple[int, str, str]:
        """Return the exit code, what was asked on the terminal, and stdout."""
        terminal, its_end = pty.openpty()
        with (self.place / "stdout").open("wb") as stdout:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "specpreflight", "check", "target", "draft"),
                    *("--engine", "sglang@0.5.11", "--no-env", "--format", "json"),
                    *("--fix", "--interactive", "--", *FLAGS),
                ],
                cwd=self.place,
                stdin=its_end,
                stdout=stdout,
                stderr=its_end,
            )
        os.close(its_end)
        left, shown, prompts = list(answers), b"", 0
        while True:
            try:
                piece = os.read(terminal, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            shown += piece
            if shown.count(b"[q]uit: ") > prompts:
                prompts += 1
                os.write(terminal, (left.pop(0) + "\n").encode())
        os.close(terminal)
        assert left == []
        return process.wait(), shown.decode(), (self.place / "stdout").read_text()


@pytest.fixture
def typist(tmp_path: Path) -> Typist:
    for name in ("target", "draft"):
        shutil.copytree(EXAMPLE / name, tmp_path / name)
    return Typist(tmp_path)


@pytest.mark.parametrize(
    ("answers", "code", "length"), [(["y"], 0, 262144), (["what?", "n"], 1, 131072)]
)
def test_on_a_real_terminal(answers: list[str], code: int, length: int, typist: Typist) -> None:
    ended, asked, stdout = typist.answer(*answers)
    assert "draft-context-shorter: " in asked
    assert "draft/config.json /max_position_embeddings: 131072 -> 262144" in asked
    config = json.loads((typist.place / "draft" / "config.json").read_text())
    assert (ended, config["max_position_embeddings"]) == (code, length)
    assert json.loads(stdout)["verdict"]["outcome"] == ("starts" if code == 0 else "crashes")
