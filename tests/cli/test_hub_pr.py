"""`--fix --hub-pr` opens a pull request with the fixed bytes and the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixing import FIXED, KIMI, kimi_plan
from hub_server import COMMIT, HubServer, hub
from sample_report import SAMPLE

from specpreflight.cli.fixing import propose
from specpreflight.errors import UsageError
from specpreflight.sources.checkpoint import read_checkpoint
from specpreflight.sources.hub_cache import find_or_download, find_snapshot

__all__ = ["hub"]


@pytest.mark.parametrize("given", ["lab/draft", "hf://lab/draft", f"lab/draft@{COMMIT}"])
def test_a_checkpoint_is_downloaded_only_if_asked_for(given: str, hub: HubServer) -> None:
    hub.files = {"config.json": KIMI}
    problem = read_checkpoint("draft", given, find=find_snapshot).problem
    assert problem is not None
    assert problem.kind == "not-cached"
    assert hub.downloads == []
    checkpoint = read_checkpoint("draft", given, find=find_or_download)
    assert checkpoint.config.get("/max_position_embeddings") == 131072
    assert read_checkpoint("draft", f"lab/draft@{COMMIT}").problem is None


def test_what_the_hub_refuses_is_a_problem_of_the_checkpoint(hub: HubServer) -> None:
    problem = read_checkpoint("draft", "lab/another", find=find_or_download).problem
    assert problem is not None
    assert "no such repository" in problem.message


def test_a_pull_request(hub: HubServer, capsys: pytest.CaptureFixture[str]) -> None:
    hub.files = {"config.json": KIMI}
    snapshot = find_or_download("lab/draft", "main")
    propose(kimi_plan(snapshot), [SAMPLE])
    header, files = hub.committed()
    assert files == {"config.json": FIXED}
    assert header["parentCommit"] == COMMIT
    assert header["summary"] == "Fix config.json: draft-context-shorter"
    assert header["description"].startswith("### ")
    assert f"opened {hub.url}/lab/draft/discussions/7" in capsys.readouterr().err
    assert (snapshot / "config.json").read_bytes() == KIMI


def test_a_local_checkpoint_has_no_pull_request(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(KIMI)
    with pytest.raises(UsageError, match="--hub-pr needs a checkpoint of the Hub"):
        propose(kimi_plan(tmp_path), [SAMPLE])
