"""Checkpoints behind a real OpenSSH server are read, fixed and restored like those here."""

from __future__ import annotations

import os
import random
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fixing import FIXED, KIMI, finding
from small_disk import SmallDisk, small_disk
from ssh_server import SshServer

from specpreflight.errors import InputError, UsageError
from specpreflight.fixes.apply import Applied, FixesIncomplete, apply_plans
from specpreflight.fixes.plan import FilePlan, plan_fixes
from specpreflight.fixes.undo import read_history, undo_last
from specpreflight.models.finding import Edit
from specpreflight.sources.remote_checkpoint import read_remote_checkpoint
from specpreflight.storage import close_connections, open_storage
from specpreflight.storage.connections import open_file
from specpreflight.storage.sftp import SftpStorage

__all__ = ["small_disk"]


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    directory = tmp_path / "draft"
    directory.mkdir()
    (directory / "config.json").write_bytes(KIMI)
    return directory


def plan(url: str) -> tuple[FilePlan, ...]:
    document = read_remote_checkpoint("draft", url).config
    edit = Edit(document.name, "/max_position_embeddings", 131072, 262144)
    return plan_fixes([finding(edit)], [document])


def fix(url: str) -> Applied:
    (applied,) = apply_plans(plan(url))
    return applied


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_a_checkpoint_is_read(server: SshServer, draft: Path) -> None:
    (draft / "model.safetensors").touch()
    checkpoint = read_remote_checkpoint("draft", server.url(draft))
    assert checkpoint.config.get("/max_position_embeddings") == 131072
    assert checkpoint.config.name == server.url(draft / "config.json")
    assert checkpoint.files == ("config.json", "model.safetensors")
    assert checkpoint.problem is None


def test_a_fix_and_its_undo(server: SshServer, draft: Path) -> None:
    (draft / "config.json").chmod(0o640)
    applied = fix(server.url(draft))
    assert applied.notes == ()
    assert (draft / "config.json").read_bytes() == FIXED
    assert stat.S_IMODE((draft / "config.json").stat().st_mode) == 0o640
    assert names(draft) == [".specpreflight", "config.json"]
    assert names(draft / ".specpreflight") == [".gitignore", "0001-config.json", "0001.json"]
    assert plan(server.url(draft)) == ()
    storage, path = open_storage(server.url(draft))
    assert [entry.state for entry in read_history(path, storage)] == ["applied"]
    undo_last(path, storage=storage)
    assert (draft / "config.json").read_bytes() == KIMI


def test_a_fix_over_ssh_is_undone_on_the_machine_itself(server: SshServer, draft: Path) -> None:
    fix(server.url(draft))
    undo_last(str(draft))
    assert (draft / "config.json").read_bytes() == KIMI


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_the_owner_is_kept(server: SshServer, draft: Path) -> None:
    os.chown(draft / "config.json", 1234, 5678)
    fix(server.url(draft))
    status = (draft / "config.json").stat()
    assert (status.st_uid, status.st_gid) == (1234, 5678)


def test_paths_at_home(server: SshServer) -> None:
    storage, path = open_storage(server.url("/~/some/draft"))
    assert path == "some/draft"
    assert storage.real_path(".") == storage.real_path(str(Path("~" + _user()).expanduser()))


def test_a_file_that_changed_is_left(server: SshServer, draft: Path) -> None:
    plans = plan(server.url(draft))
    (draft / "config.json").write_bytes(b"{}")
    with pytest.raises(InputError, match="changed since it was read"):
        apply_plans(plans)
    assert (draft / "config.json").read_bytes() == b"{}"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda draft: (draft / "config.json").unlink(), "no such file"),
        (lambda draft: (draft / "config.json").write_bytes(b"{"), ":1:2: the file ends"),
        (lambda draft: _replace_by_pipe(draft / "config.json"), "is no regular file"),
        (lambda draft: (draft / "config.json").write_bytes(b""), "is empty"),
    ],
)
def test_what_cannot_be_read_is_a_problem_of_the_checkpoint(
    make: Callable[[Path], object], says: str, server: SshServer, draft: Path
) -> None:
    make(draft)
    problem = read_remote_checkpoint("draft", server.url(draft)).problem
    assert problem is not None
    assert problem.message.startswith(f"{server.url(draft)}/config.json")
    assert says in problem.message


@pytest.mark.parametrize("size", [0, 1, 32_768, 1_048_577, 5_000_000])
def test_a_stream_of_a_file(size: int, server: SshServer, tmp_path: Path) -> None:
    data = random.Random(size).randbytes(size)
    (tmp_path / "server.log").write_bytes(data)
    with open_file(server.url(tmp_path / "server.log")) as stream:
        assert b"".join(iter(lambda: stream.read(100_000), b"")) == data
    with pytest.raises(FileNotFoundError):
        open_file(server.url(tmp_path / "nowhere"))


def test_links_and_the_hubs_cache(server: SshServer, draft: Path, tmp_path: Path) -> None:
    (draft / "config.json").rename(tmp_path / "shared.json")
    (draft / "config.json").symlink_to(tmp_path / "shared.json")
    with pytest.raises(InputError, match="outside of the checkpoint"):
        fix(server.url(draft))
    snapshot = tmp_path / "models--lab--draft" / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_bytes(KIMI)
    with pytest.raises(InputError, match="belongs to the Hub's cache"):
        fix(server.url(snapshot))


def test_read_only_file(server: SshServer, draft: Path) -> None:
    (draft / "config.json").chmod(0o444)
    with pytest.raises(InputError, match="read-only"):
        fix(server.url(draft))


# ------------------------------------------------------------------ connections


def test_unknown_host(server: SshServer, draft: Path) -> None:
    known_hosts = server.home / ".ssh" / "known_hosts"
    known_hosts.unlink()
    with pytest.raises(InputError, match="is not in known_hosts") as caught:
        read_remote_checkpoint("draft", server.url(draft))
    assert "--accept-new" in str(caught.value.hint)
    assert not known_hosts.exists()
    open_storage(server.url(draft), accept_new=True)
    assert server.host_key in known_hosts.read_text()
    close_connections()
    assert read_remote_checkpoint("draft", server.url(draft)).problem is None


def test_a_host_with_another_key(server: SshServer, draft: Path) -> None:
    other = (server.home / ".ssh" / "id_ed25519.pub").read_text().rsplit(" ", 1)[0]
    server.know_host(other)
    for accept_new in (False, True):
        with pytest.raises(InputError, match="is not the one in known_hosts"):
            open_storage(server.url(draft), accept_new=accept_new)


def test_no_key_is_accepted(server: SshServer, draft: Path) -> None:
    (server.folder / "authorized_keys").write_text("")
    with pytest.raises(InputError, match="no key of this user is accepted"):
        open_storage(server.url(draft))


def test_key_with_a_passphrase(server: SshServer, draft: Path) -> None:
    key = server.home / ".ssh" / "id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-p", "-N", "secret", "-f", str(key)], check=True)
    with pytest.raises(InputError, match="has a passphrase") as caught:
        open_storage(server.url(draft))
    assert "ssh-add" in str(caught.value.hint)


def test_a_key_that_only_the_agent_has(
    server: SshServer, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = server.home / ".ssh" / "id_ed25519"
    socket = server.home / "agent"
    agent = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.PIPE, text=True
    )
    assert agent.stdout is not None
    agent.stdout.readline()  # it says where it listens once it does
    monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
    subprocess.run(["ssh-add", "-q", str(key)], check=True, capture_output=True)
    key.rename(server.home / "elsewhere")
    try:
        assert read_remote_checkpoint("draft", server.url(draft)).problem is None
    finally:
        close_connections()
        agent.terminate()
        agent.communicate()


def test_known_hosts_that_are_hashed(server: SshServer, draft: Path) -> None:
    known = server.home / ".ssh" / "known_hosts"
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
    assert "127.0.0.1" not in known.read_text()
    assert read_remote_checkpoint("draft", server.url(draft)).problem is None


def test_nobody_listens(server: SshServer, draft: Path) -> None:
    server.stop()
    with pytest.raises(InputError, match=f"no connection to port {server.port}"):
        open_storage(server.url(draft))


def test_no_such_host(server: SshServer) -> None:
    with pytest.raises(InputError, match="no connection to port 22"):
        open_storage("ssh://nowhere.invalid/draft")


def test_ssh_config_names_everything(server: SshServer, draft: Path) -> None:
    key = server.home / "another_key"
    (server.home / ".ssh" / "id_ed25519").rename(key)
    (server.home / ".ssh" / "config").write_text(
        f"Host gpu-*\n  HostName 127.0.0.1\n  Port {server.port}\n  User {_user()}\n"
        f"  IdentityFile {key}\n  IdentitiesOnly yes\n"
    )
    assert read_remote_checkpoint("draft", f"ssh://gpu-7{draft}").problem is None


def test_ssh_config_includes_other_files(server: SshServer, draft: Path) -> None:
    ssh = server.home / ".ssh"
    (ssh / "hosts.d").mkdir()
    (ssh / "hosts.d" / "one.conf").write_text("Host gpu-7\n  HostName 127.0.0.1\n")
    (ssh / "hosts.d" / "two.conf").write_text(f"Host gpu-*\n  Port {server.port}\n")
    (ssh / "config").write_text(
        "# mine\nInclude hosts.d/*.conf nowhere\n"
        f"Host other\n  Include = {ssh}/hosts.d/one.conf\n  Port 1\nInclude config\n"
    )
    assert read_remote_checkpoint("draft", f"ssh://gpu-7{draft}").problem is None
    with pytest.raises(InputError, match="no connection to port 1:"):
        open_storage("ssh://other/draft")


@contextmanager
def broken_at(monkeypatch: pytest.MonkeyPatch, step: str, ending: str) -> Iterator[list[str]]:
    """Run something before the storage's operation `step` on a path that ends so."""
    real = getattr(SftpStorage, step)
    todo: list[Callable[[], None]] = []

    def broken(self: SftpStorage, path: str, *rest: Any) -> Any:
        if path.endswith(ending) and todo:
            todo.pop()()
        return real(self, path, *rest)

    monkeypatch.setattr(SftpStorage, step, broken)
    yield todo  # type: ignore[misc]
    monkeypatch.undo()


@pytest.mark.parametrize(
    ("step", "ending"),
    [
        ("make_directory", ".specpreflight"),
        ("_try_lock", "/lock"),
        ("create", "/.gitignore"),
        ("create", "0001-config.json"),
        ("create", "0001.json"),
        ("create", ".tmp"),
        ("rename", ".tmp"),
        ("sync_directory", "draft"),
        ("remove", "/lock"),
    ],
)
def test_the_connection_breaks(
    step: str, ending: str, server: SshServer, draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = plan(server.url(draft))
    with monkeypatch.context() as patch, broken_at(patch, step, ending) as todo:
        todo.append(server.break_connections)  # type: ignore[arg-type]
        if step in ("sync_directory", "remove"):
            apply_plans(plans)
        else:
            with pytest.raises(InputError, match="the connection broke") as caught:
                apply_plans(plans)
            assert "run it again" in str(caught.value.hint)
        assert todo == []
    content = (draft / "config.json").read_bytes()
    assert content == (FIXED if step in ("sync_directory", "remove") else KIMI)

    if content == KIMI:
        fix(server.url(draft))
    assert (draft / "config.json").read_bytes() == FIXED
    assert plan(server.url(draft)) == ()
    assert [path.name for path in draft.glob(".*.tmp")] == []


def test_another_run_holds_the_lock(server: SshServer, draft: Path) -> None:
    (draft / ".specpreflight").mkdir()
    (draft / ".specpreflight" / "lock").write_text("another-machine 1\n")
    with pytest.raises(InputError, match="another specpreflight is writing"):
        fix(server.url(draft))
    os.utime(draft / ".specpreflight" / "lock", (1, 1))
    fix(server.url(draft))
    assert (draft / "config.json").read_bytes() == FIXED


def test_a_server_that_cannot_replace_in_one_step(
    start: Callable[..., SshServer], draft: Path
) -> None:
    server = start("-P", "posix-rename")
    applied = fix(server.url(draft))
    assert applied.notes == ("the server cannot replace a file in one step; it was done in two",)
    assert (draft / "config.json").read_bytes() == FIXED
    assert names(draft) == [".specpreflight", "config.json"]


def test_a_server_that_cannot_flush(start: Callable[..., SshServer], draft: Path) -> None:
    server = start("-P", "fsync")
    assert fix(server.url(draft)).notes == ()
    assert (draft / "config.json").read_bytes() == FIXED


def test_a_read_only_server(start: Callable[..., SshServer], draft: Path) -> None:
    server = start("-R")
    with pytest.raises(FixesIncomplete, match="no permission to write in its directory"):
        fix(server.url(draft))
    assert names(draft) == ["config.json"]


def test_a_full_disk(server: SshServer, small_disk: SmallDisk) -> None:
    config = small_disk.path / "config.json"
    config.write_bytes(KIMI)
    small_disk.fill()
    with pytest.raises(InputError, match="no space left on the device"):
        fix(server.url(small_disk.path))
    assert config.read_bytes() == KIMI
    small_disk.make_room()
    fix(server.url(small_disk.path))
    assert config.read_bytes() == FIXED


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("ssh://user:secret@host/draft", "a password stands in the URL"),
        ("ssh:///draft", "names no host"),
        ("ssh://host:port/draft", "[Pp]ort"),
    ],
)
def test_urls_that_are_refused(url: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        open_storage(url)
    assert "secret" not in caught.value.message


@pytest.fixture
def behind(start: Callable[..., SshServer]) -> tuple[SshServer, SshServer]:
    """Two servers, `outer` and `inner`; ssh_config reaches the second one through the first."""
    outer, inner = start(), start()
    (inner.home / ".ssh" / "config").write_text(
        f"Host outer\n  HostName 127.0.0.1\n  Port {outer.port}\n"
        f"Host inner\n  HostName 127.0.0.1\n  Port {inner.port}\n  ProxyJump outer\n"
        f"Host innermost\n  HostName 127.0.0.1\n  Port {outer.port}\n  ProxyJump outer,inner\n"
        "Host circle\n  ProxyJump circle\n"
        "Host command\n  ProxyCommand nc %h %p\n"
    )
    return outer, inner


@pytest.mark.parametrize("host", ["inner", "innermost"])
def test_a_host_behind_another(host: str, behind: tuple[SshServer, SshServer], draft: Path) -> None:
    fix(f"ssh://{host}{draft}")
    assert (draft / "config.json").read_bytes() == FIXED
    storage, path = open_storage(f"ssh://{host}{draft}")
    undo_last(path, storage=storage)
    assert (draft / "config.json").read_bytes() == KIMI


def test_the_host_in_between_is_down(behind: tuple[SshServer, SshServer], draft: Path) -> None:
    outer, _ = behind
    outer.stop()
    with pytest.raises(InputError, match=f"127.0.0.1: no connection to port {outer.port}"):
        open_storage(f"ssh://inner{draft}")


def test_the_host_behind_is_down(behind: tuple[SshServer, SshServer], draft: Path) -> None:
    _, inner = behind
    inner.stop()
    with pytest.raises(InputError, match=f"does not reach its port {inner.port}"):
        open_storage(f"ssh://inner{draft}")


@pytest.mark.parametrize("unknown", [0, 1])
def test_both_hosts_on_the_way_must_be_known(
    unknown: int, behind: tuple[SshServer, SshServer], draft: Path
) -> None:
    (behind[0].home / ".ssh" / "known_hosts").unlink()
    behind[1 - unknown].know_host()
    with pytest.raises(InputError, match="is not in known_hosts"):
        open_storage(f"ssh://inner{draft}")
    close_connections()
    open_storage(f"ssh://inner{draft}", accept_new=True)
    known = (behind[0].home / ".ssh" / "known_hosts").read_text()
    assert behind[0].host_key in known
    assert behind[1].host_key in known


@pytest.mark.parametrize(("host", "says"), [("circle", "in a circle"), ("command", "ProxyCommand")])
def test_ways_that_are_refused(
    host: str, says: str, behind: tuple[SshServer, SshServer], draft: Path
) -> None:
    with pytest.raises(UsageError, match=says):
        open_storage(f"ssh://{host}{draft}")


def test_a_host_is_known_by_its_alias(server: SshServer, draft: Path) -> None:
    (server.home / ".ssh" / "known_hosts").write_text(f"rack-7 {server.host_key}\n")
    (server.home / ".ssh" / "config").write_text(
        f"Host gpu\n  HostName 127.0.0.1\n  Port {server.port}\n  HostKeyAlias rack-7\n"
    )
    assert read_remote_checkpoint("draft", f"ssh://gpu{draft}").problem is None


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)
