"""`--fix` names the flags and variables to add, or writes them with `--launch-file`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fixing import finding

from specpreflight.cli import launch_fixing
from specpreflight.cli.launch_fixing import LaunchFix, plan_launch_fix
from specpreflight.errors import InputError
from specpreflight.fixes.recheck import FixRefused
from specpreflight.fixes.undo import undo_last
from specpreflight.models.finding import Finding, Outcome, Remedy
from specpreflight.models.launch import EngineVersion, Launch

SCRIPT = "#!/bin/sh\n# serve\npython -m sglang.launch_server \\\n  --model-path target --tp 8\n"
REMEDY = Remedy(
    "lower it",
    "flag",
    "safe",
    flags=("--context-length 131072",),
    environment={"SGLANG_ALLOW": "1"},
)
TOO_LONG = Finding("draft-context-shorter", Outcome.CRASHES, "too long", remedies=(REMEDY,))
LAUNCH = Launch(EngineVersion("sglang", "0.5.9", "--engine"), None, None, ("--tp", "8"))

Rules = Callable[[Launch], Sequence[Finding]]


def too_long(launch: Launch) -> Sequence[Finding]:
    return () if "--context-length" in launch.argv else (TOO_LONG,)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., LaunchFix | None]:
    """Plan the fix of a launch whose findings are those of `rules`."""
    engine = SimpleNamespace(read_arguments=lambda argv, version: SimpleNamespace(flags={}))
    monkeypatch.setattr(launch_fixing, "find_engine", lambda name: engine)

    def plan(file: Path | None, rules: Rules = too_long, **changed: Any) -> LaunchFix | None:
        monkeypatch.setattr(
            launch_fixing,
            "check",
            lambda launch, policy: SimpleNamespace(findings=rules(launch)),
        )
        options = SimpleNamespace(
            unsafe=False, policy=None, select=(), launch_file=None if file is None else str(file)
        )
        vars(options).update(changed)
        report: Any = SimpleNamespace(findings=rules(LAUNCH))
        return plan_launch_fix([LAUNCH], [report], options)  # type: ignore[arg-type]

    return plan


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "launch.sh"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    return path


def test_without_a_file_the_lines_are_named(
    run: Callable[..., LaunchFix | None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(None) is None
    assert capsys.readouterr().err == (
        "to add to the launch:\n  export SGLANG_ALLOW=1\n  --context-length 131072\n"
    )


def test_the_file_is_written_and_can_be_undone(
    run: Callable[..., LaunchFix | None], script: Path
) -> None:
    fix = run(script)
    assert fix is not None
    assert fix.launches[0].argv == ("--tp", "8", "--context-length", "131072")
    assert fix.launches[0].variable("SGLANG_ALLOW") == "1"
    assert script.read_text() == SCRIPT
    assert b"+export SGLANG_ALLOW=1\n" in fix.diff()
    assert fix.write().rules == ("draft-context-shorter",)
    assert script.read_text() == (
        "#!/bin/sh\n# serve\nexport SGLANG_ALLOW=1\npython -m sglang.launch_server \\\n"
        "  --context-length 131072 \\\n  --model-path target --tp 8\n"
    )
    assert script.stat().st_mode & 0o777 == 0o755
    undo_last(str(script.parent), file="launch.sh")
    assert script.read_text() == SCRIPT


def test_nothing_to_change(run: Callable[..., LaunchFix | None], script: Path) -> None:
    assert run(script, lambda launch: ()) is None
    assert run(script, select=("another-rule",)) is None


def test_a_change_that_brings_a_new_error_is_refused(
    run: Callable[..., LaunchFix | None], script: Path
) -> None:
    def rules(launch: Launch) -> Sequence[Finding]:
        return too_long(launch) or (finding(rule="new-trouble"),)

    with pytest.raises(FixRefused, match="would bring new-trouble"):
        run(script, rules)


def test_files_that_cannot_be_read(run: Callable[..., LaunchFix | None], tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        run(tmp_path / "nowhere.sh")
    (tmp_path / "latin.sh").write_bytes(b"# M\xfcller\n" + SCRIPT.encode())
    with pytest.raises(InputError, match="is not UTF-8"):
        run(tmp_path / "latin.sh")
