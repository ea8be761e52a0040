"""`undo`, `history` and `check` on a checkpoint behind a real SSH server."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from fixing import KIMI, kimi_plan
from ssh_server import SshServer, server, start

from specpreflight.cli import main
from specpreflight.fixes.apply import apply_plans

__all__ = ["server", "start"]


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
