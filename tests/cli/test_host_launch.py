"""`--host`: everything of a launch is read on another machine, through a real SSH server."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_trees import ARGPARSE_STYLE, write_tree
from processes import running_process
from ssh_server import SshServer, server, start

from specpreflight.cli.host_launch import OtherMachine
from specpreflight.errors import InputError, UsageError
from specpreflight.models.launch import EngineVersion, Launch
from specpreflight.models.token_map import TokenMap
from specpreflight.sources.host_mirror import HostMirror
from specpreflight.storage.connections import open_host

__all__ = ["server", "start"]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"


@pytest.fixture
def host(server: SshServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name by which ssh_config knows the server; the cache is empty."""
    (server.home / ".ssh" / "config").write_text(
        f"Host gpu-7\n  HostName 127.0.0.1\n  Port {server.port}\n"
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(server.home / "cache"))
    return "gpu-7"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with a small SGLang 0.5.9 and what tells its version."""
    site = tmp_path / "venv" / "lib" / "python3.12" / "site-packages"
    write_tree(site, {"__init__.py": "", "version.py": '__version__ = "0.5.9"', **ARGPARSE_STYLE})
    for name in ("sglang-0.5.9.dist-info", "nvidia_nccl_cu12-2.27.5.dist-info"):
        (site / name).mkdir()
        (site / name / "METADATA").write_text("Requires-Dist: transformers==4.57.1\n")
    (site / "vllm").mkdir()
    (site / "vllm" / "__init__.py").touch()
    (site / "vllm-0.11.0.dist-info").mkdir()
    return site


@pytest.fixture
def process() -> Iterator[Callable[..., int]]:
    """Start processes with variables of their own; they end with the test."""
    running: list[subprocess.Popen[bytes]] = []

    def begin(**variables: str) -> int:
        running.append(running_process(variables))
        return running[-1].pid

    yield begin
    for one in running:
        one.kill()
        one.communicate()


# ------------------------------------------------------------------ the mirror


def test_a_tree_is_copied_once_and_follows_the_host(
    host: str, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = open_host(f"ssh://{host}")
    mirror = HostMirror(f"ssh://{host}", files, tmp_path / "mirror")
    read: list[str] = []
    real = files.read_many

    def noted(paths: Any) -> Any:
        read.extend(path.rpartition("/")[2] for path in paths)
        return real(paths)

    monkeypatch.setattr(files, "read_many", noted)
    root = site / "sglang"

    def copy() -> list[str]:
        read.clear()
        place = mirror.copy_tree(str(root), ("srt",), ".py")
        found = {path.relative_to(place): path.read_bytes() for path in place.rglob("*.py")}
        assert found == {path.relative_to(root): path.read_bytes() for path in root.rglob("*.py")}
        return sorted(read)

    assert "server_args.py" in copy()
    assert copy() == []
    (root / "srt" / "new.py").write_text("x = 1\n")
    (root / "version.py").unlink()
    (root / "srt" / "server_args.py").write_text("y = 2\n")
    assert copy() == ["new.py", "server_args.py"]


def test_a_file_that_the_host_does_not_let_be_read(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = HostMirror(f"ssh://{host}", open_host(f"ssh://{host}"), tmp_path / "mirror")
    assert not mirror.copy(str(tmp_path / "nowhere")).exists()
    with pytest.raises(InputError, match="is no regular file"):
        mirror.copy(str(tmp_path))
    assert mirror.named(f"in {tmp_path}/mirror/etc") == f"in ssh://{host}/etc"


def test_no_name_leads_out_of_the_mirror(host: str, tmp_path: Path) -> None:
    mirror = HostMirror(f"ssh://{host}", open_host(f"ssh://{host}"), tmp_path / "a" / "mirror")
    (tmp_path / "nccl.conf").write_text("NCCL_DEBUG=INFO\n")
    copied = mirror.copy(f"/../..{tmp_path}/x/../nccl.conf")
    assert copied == tmp_path / "a" / "mirror" / str(tmp_path / "nccl.conf")[1:]
    assert mirror.here("../../../etc/passwd") == tmp_path / "a" / "mirror" / "etc" / "passwd"


# ------------------------------------------------------------------ engines


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("sglang@{site}", "sglang@{kept}{site}/sglang"),
        ("{site}/sglang", "sglang@{kept}{site}/sglang"),
        ("sglang@{venv}", "sglang@{kept}{site}/sglang"),
        ("installed:{venv}/bin/python", "sglang@{kept}{site}/sglang"),
        ("vllm@{venv}", "vllm@{kept}{site}"),
        ("sglang@0.5.9", "sglang@0.5.9"),
        ("sglang@lmsysorg/sglang:v0.5.9-cu129", "sglang@lmsysorg/sglang:v0.5.9-cu129"),
        ("vllm", "vllm"),
    ],
)
def test_engines(wanted: str, found: str, host: str, site: Path, server: SshServer) -> None:
    names = {
        "site": site,
        "venv": site.parents[2],
        "kept": server.home / "cache" / "specpreflight" / "hosts" / host,
    }
    machine = OtherMachine(host, server.home / "scratch", None)
    assert machine.engine(wanted.format(**names)) == found.format(**names)


def test_an_editable_installation_is_followed(
    host: str, site: Path, server: SshServer, tmp_path: Path
) -> None:
    source = tmp_path / "my work" / "python"
    source.mkdir(parents=True)
    (site / "sglang").rename(source / "sglang")
    record = site / "sglang-0.5.9.dist-info" / "direct_url.json"
    record.write_text(json.dumps({"url": source.as_uri(), "dir_info": {"editable": True}}))
    machine = OtherMachine(host, server.home / "scratch", None)
    assert machine.engine(f"installed:{site.parents[2]}/bin/python") == (
        f"sglang@{server.home}/cache/specpreflight/hosts/{host}{source}/sglang"
    )


def test_paths_that_flags_name_are_the_hosts(host: str, server: SshServer) -> None:
    machine = OtherMachine(host, server.home / "scratch", None)
    assert machine.locate("/models/draft") == f"ssh://{host}/models/draft"
    assert machine.locate("lab/draft") == "lab/draft"


def test_an_engine_that_is_not_there(host: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=f"ssh://{host}: no sglang found at {tmp_path}"):
        OtherMachine(host, tmp_path / "scratch", None).engine(f"sglang@{tmp_path}")


# ------------------------------------------------------------------ a whole check


def test_nothing_of_this_machine_is_in_it(
    host: str,
    site: Path,
    server: SshServer,
    process: Callable[..., int],
    run: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NCCL_PROTO", "Simple")
    conf = tmp_path / "nccl.conf"
    conf.write_text("NCCL_DEBUG=WARN\n")
    for name in ("target", "draft"):
        shutil.copytree(EXAMPLE / name, tmp_path / "models" / name)
    before = sorted(path.name for path in tmp_path.rglob("*") if server.home not in path.parents)
    pid = process(NCCL_ALGO="Tree", NCCL_CONF_FILE=str(conf), SGLANG_SECRET_TOKEN="hidden")
    ran = run(
        "check", "--host", host, "--pid", str(pid), "--engine", f"vllm@{site.parents[2]}",
        "--format", "json", tmp_path / "models" / "target", "--", "--speculative-config",
        json.dumps({"model": str(tmp_path / "models" / "draft"), "num_speculative_tokens": 3}),
    )  # fmt: skip
    assert ran.stderr == ""
    report = ran.data
    assert report["engine"]["version"] == "0.11.0"
    assert report["engine"]["determined_by"] == f"metadata in ssh://{host}{site}"
    assert report["inputs"]["environment"] == {
        "NCCL_ALGO": "Tree",
        "NCCL_CONF_FILE": str(conf),
        "NCCL_DEBUG": "WARN",
        "SGLANG_SECRET_TOKEN": "<redacted>",
    }
    explained = [one for one in report["findings"] if one["rule"] == "nccl-setting-explained"]
    origins = {
        value["label"]: value["origin"]["path"] for one in explained for value in one["values"]
    }
    assert origins["NCCL_ALGO"] == f"ssh://{host}/proc/{pid}/environ"
    assert origins["NCCL_DEBUG"] == f"ssh://{host}{conf}"
    after = sorted(path.name for path in tmp_path.rglob("*") if server.home not in path.parents)
    assert after == before


def test_a_token_map_is_looked_for_there(
    host: str, server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "map.pt").write_bytes(b"PK\x03\x04")
    (tmp_path / "broken.pt").write_bytes(b"<html>")
    machine = OtherMachine(host, server.home / "scratch", None)

    def found(path: str) -> TokenMap:
        flags = {"speculative-token-map": path}
        launch = Launch(EngineVersion("sglang", "0.5.9", ""), None, None, flags=flags)
        answer: TokenMap = machine.finish(launch, None).facts["token_map"]
        return answer

    assert found(f"{tmp_path}/map.pt") == TokenMap(f"{tmp_path}/map.pt", "file")
    assert found(f"{tmp_path}/broken.pt").problem == "is not what `torch.save` writes"
    assert found(f"{tmp_path}/nowhere.pt").kind == "missing"
    assert found(f"{tmp_path}").kind == "unread"


def test_a_new_host_is_accepted_where_only_flags_name_paths(
    host: str, server: SshServer, run: Callable[..., Any], tmp_path: Path
) -> None:
    (server.home / ".ssh" / "known_hosts").unlink()
    shutil.copytree(EXAMPLE / "target", tmp_path / "target")
    words = ("check", "--host", host, "--no-env", "--format", "json")
    flags = ("--", "python", "-m", "sglang.launch_server", "--model-path", tmp_path / "target")
    assert run(*words, *flags).code == 4
    accepted = run(*words, "--accept-new", *flags)
    assert accepted.data["inputs"]["target"] == f"{tmp_path}/target"
    assert accepted.stderr == ""


def test_a_process_that_is_not_there(
    host: str, server: SshServer, run: Callable[..., Any], tmp_path: Path
) -> None:
    shutil.copytree(EXAMPLE / "target", tmp_path / "target")
    ran = run("check", "--host", host, "--pid", "99999999", tmp_path / "target")
    assert (ran.code, ran.stdout) == (4, "")
    assert ran.stderr.startswith("specpreflight: --pid 99999999: no such process\n")


def test_the_variables_of_a_process_of_this_machine(
    process: Callable[..., int], run: Callable[..., Any]
) -> None:
    pid = process(SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN="1")
    ran = run(
        "check", EXAMPLE / "target", EXAMPLE / "draft", "--engine", "sglang@0.5.11",
        "--pid", str(pid), "--format", "json", "--", "--speculative-algorithm", "EAGLE3",
    )  # fmt: skip
    assert ran.data["inputs"]["environment"] == {"SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN": "1"}
    assert ran.data["verdict"]["outcome"] != "crashes"


@pytest.mark.parametrize("given", ["--host", "URL"])
def test_a_log_is_read_there(
    given: str, host: str, run: Callable[..., Any], tmp_path: Path
) -> None:
    log = shutil.copy(EXAMPLE / "launch-3-steps.log", tmp_path / "server.log")
    here = run("diagnose", log)
    words = ("--host", host, log) if given == "--host" else (f"ssh://{host}{log}",)
    there = run("diagnose", *words)
    assert (there.code, there.stdout) == (here.code, here.stdout)
    lost = run("diagnose", "--host", host, tmp_path / "nowhere.log")
    assert lost.code == 4
    assert f"ssh://{host}{tmp_path}/nowhere.log: cannot be read: no such file" in lost.stderr
