"""`undo`, `history` and `check` on a checkpoint behind a real SSH server."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fixing import KIMI, kimi_plan
from ssh_server import SshServer, server, start

from specpreflight.cli import main
from specpreflight.fixes.apply import apply_plans

__all__ = ["server", "start"]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def fixed(tmp_path: Path) -> Path:
    """A checkpoint in which one fix was written."""
    directory = tmp_path / "draft"
    directory.mkdir()
    (directory / "config.json").write_bytes(KIMI)
    apply_plans(kimi_plan(directory))
    return directory


@pytest.mark.parametrize("given", ["", "/", "/config.json"])
def test_undo(given: str, server: SshServer, fixed: Path) -> None:
    url = f"{server.url(fixed)}{given}"
    result = run("undo", url)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"restored {server.url(fixed)}/config.json as it was")
    assert (fixed / "config.json").read_bytes() == KIMI


def test_history(server: SshServer, fixed: Path) -> None:
    assert "131072 -> 262144" in run("history", server.url(fixed)).stdout


def test_an_unknown_host_is_refused_until_it_is_accepted(server: SshServer, fixed: Path) -> None:
    (server.home / ".ssh" / "known_hosts").unlink()
    refused = run("history", server.url(fixed))
    assert refused.exit_code == 4
    assert "is not in known_hosts" in refused.stderr
    assert "--accept-new" in refused.stderr
    assert run("history", "--accept-new", server.url(fixed)).exit_code == 0
    assert run("history", server.url(fixed)).exit_code == 0


def test_a_scheme_that_is_not_supported() -> None:
    result = run("history", "nothing://host/draft")
    assert result.exit_code == 2
    assert "Protocol not known" in result.stderr


FLAGS = [
    *("--speculative-algorithm", "EAGLE3"),
    *("--speculative-num-steps", "3"),
    *("--speculative-eagle-topk", "1"),
    *("--speculative-num-draft-tokens", "4"),
    "--trust-remote-code",
]


def verdict(result: Result) -> str:
    return str(json.loads(result.stdout)["verdict"]["outcome"])


def test_the_draft_on_another_machine_from_crashes_to_starts_and_back(
    server: SshServer, tmp_path: Path
) -> None:
    """The incident, as it was: the draft is on the machine that serves."""
    shutil.copytree(EXAMPLE / "draft", tmp_path / "draft")
    original = (tmp_path / "draft" / "config.json").read_bytes()
    url = server.url(tmp_path / "draft")

    def check(*options: str) -> Result:
        engine = ("--engine", "sglang@0.5.11", "--no-env", "--format", "json")
        return run("check", str(EXAMPLE / "target"), url, *engine, *options, "--", *FLAGS)

    before = check()
    assert (before.exit_code, verdict(before)) == (1, "crashes")
    assert f"{url}/config.json" in before.stdout
    fixed = check("--fix")
    assert (fixed.exit_code, verdict(fixed)) == (0, "starts")
    assert check("--fix").exit_code == 0
    assert run("undo", url).exit_code == 0
    assert (tmp_path / "draft" / "config.json").read_bytes() == original
    assert verdict(check()) == "crashes"


def test_two_hosts_are_compared_and_fixed_together(
    start: Callable[..., SshServer], tmp_path: Path
) -> None:
    """Two addresses of one server stand for two hosts; one of the drafts was fixed before."""
    server = start()
    shutil.copytree(EXAMPLE / "draft", tmp_path / "draft")
    url = server.url(tmp_path / "draft")
    config = f"Host one two\n  HostName 127.0.0.1\n  Port {server.port}\n"
    (server.home / ".ssh" / "config").write_text(config)
    both = url.replace(f"127.0.0.1:{server.port}", "{one,two}")
    result = run(
        "check", str(EXAMPLE / "target"), both, "--engine", "sglang@0.5.11", "--no-env",
        "--format", "json", "--", *FLAGS,
    )  # fmt: skip
    reports = json.loads(result.stdout)["reports"]
    assert [report["inputs"]["draft"] for report in reports] == [
        both.replace("{one,two}", host) for host in ("one", "two")
    ]
    assert result.exit_code == 1


def test_what_cannot_be_read_on_one_host_hides_no_other(
    start: Callable[..., SshServer], tmp_path: Path
) -> None:
    server = start()
    place = tmp_path / "draft"
    shutil.copytree(EXAMPLE / "draft", place)
    config = "".join(
        f"Host {name}\n  HostName 127.0.0.1\n  Port {port}\n"
        for name, port in (("down", 1), ("up", server.port))
    )
    (server.home / ".ssh" / "config").write_text(config)
    words = ("check", str(EXAMPLE / "target"), f"ssh://{{down,up}}{place}")
    rest = ("--engine", "sglang@0.5.11", "--no-env")
    result = run(*words, *rest, "--", *FLAGS)
    assert result.exit_code == 4
    assert "127.0.0.1: no connection to port 1" in result.stderr
    assert "crashes" in result.stdout
    assert f"ssh://up{place}" in result.stdout
    fixed = run(*words, *rest, "--fix", "--", *FLAGS)
    assert fixed.exit_code == 4
    assert f"fixed ssh://up{place}/config.json" in fixed.stderr
    assert json.loads((place / "config.json").read_text())["max_position_embeddings"] == 262144
    undone = run("undo", f"ssh://{{down,up}}{place}")
    assert undone.exit_code == 4
    assert undone.stdout.startswith(f"restored ssh://up{place}/config.json")
