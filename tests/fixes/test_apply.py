"""Files are replaced whole, with their attributes, and never behind anybody's back."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import stat
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from fixing import FIXED, KIMI, kimi_plan
from small_disk import SmallDisk, small_disk

from specpreflight.documents import parse_document
from specpreflight.errors import InputError
from specpreflight.fixes.apply import (
    Applied,
    FixesIncomplete,
    FixesInterrupted,
    apply_plans,
)
from specpreflight.fixes.plan import FilePlan
from specpreflight.storage import LocalStorage

__all__ = ["small_disk"]


def leftovers(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_the_file_holds_the_new_bytes(draft: Path) -> None:
    (applied,) = apply_plans(kimi_plan(draft))
    assert (draft / "config.json").read_bytes() == FIXED
    assert applied.name == str(draft / "config.json")
    assert applied.rules == ("draft-context-shorter",)
    assert applied.notes == ()
    assert leftovers(draft) == [".specpreflight", "config.json"]


def test_a_second_run_plans_nothing(draft: Path) -> None:
    apply_plans(kimi_plan(draft))
    assert kimi_plan(draft) == ()


def test_backup_and_record(draft: Path) -> None:
    (applied,) = apply_plans(kimi_plan(draft))
    journal = draft / ".specpreflight"
    assert leftovers(journal) == ["0001-config.json", "0001.json"]
    assert (journal / "0001-config.json").read_bytes() == KIMI
    assert applied.record.number == 1


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664, 0o755])
def test_mode_is_kept(mode: int, draft: Path) -> None:
    (draft / "config.json").chmod(mode)
    apply_plans(kimi_plan(draft))
    assert stat.S_IMODE((draft / "config.json").stat().st_mode) == mode
    backup = draft / ".specpreflight" / "0001-config.json"
    assert stat.S_IMODE(backup.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a file away")
def test_owner_is_kept(draft: Path) -> None:
    os.chown(draft / "config.json", 1234, 5678)
    apply_plans(kimi_plan(draft))
    status = (draft / "config.json").stat()
    assert (status.st_uid, status.st_gid) == (1234, 5678)


def test_an_owner_that_cannot_be_kept_is_said(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    plans = kimi_plan(draft)
    monkeypatch.setattr(os, "fchown", refuse)
    real = os.stat

    def somebody_elses(path: Any, **options: Any) -> os.stat_result:
        found = real(path, **options)
        return os.stat_result((*found[:4], 1234, 5678, *found[6:10]))

    monkeypatch.setattr(os, "stat", somebody_elses)
    (applied,) = apply_plans(plans)
    monkeypatch.undo()
    assert applied.notes == ("the owner changed from 1234:5678 to this user",)
    assert (draft / "config.json").read_bytes() == FIXED


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes")
def test_extended_attributes_are_kept(draft: Path) -> None:
    try:
        os.setxattr(draft / "config.json", "user.origin", b"lab")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    apply_plans(kimi_plan(draft))
    assert os.getxattr(draft / "config.json", "user.origin") == b"lab"


def test_hard_links_are_said(draft: Path, tmp_path: Path) -> None:
    os.link(draft / "config.json", tmp_path / "other.json")
    (applied,) = apply_plans(kimi_plan(draft))
    assert applied.notes == ("1 other hard links of the file keep the old content",)
    assert (tmp_path / "other.json").read_bytes() == KIMI
    (tmp_path / "other.json").write_bytes(b"{}")
    assert (draft / ".specpreflight" / "0001-config.json").read_bytes() == KIMI


def test_the_backup_is_the_old_file_and_not_the_new_one(draft: Path) -> None:
    old = (draft / "config.json").stat().st_ino
    apply_plans(kimi_plan(draft))
    backup = draft / ".specpreflight" / "0001-config.json"
    assert (backup.stat().st_ino, backup.stat().st_nlink) == (old, 1)
    (draft / "config.json").write_bytes(b"edited in place")
    assert backup.read_bytes() == KIMI


def test_a_file_system_without_hard_links(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    apply_plans(kimi_plan(draft))
    assert (draft / ".specpreflight" / "0001-config.json").read_bytes() == KIMI


def test_a_file_that_changed_since_it_was_read_is_left(draft: Path) -> None:
    plans = kimi_plan(draft)
    (draft / "config.json").write_bytes(KIMI + b"\n")
    with pytest.raises(InputError, match="changed since it was read"):
        apply_plans(plans)
    assert (draft / "config.json").read_bytes() == KIMI + b"\n"
    assert leftovers(draft / ".specpreflight") == []


def test_a_file_that_changes_while_it_is_fixed_is_left(
    draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalStorage.create

    def somebody_writes(self: LocalStorage, path: str, data: bytes, like: str) -> Any:
        if path.endswith(".tmp"):
            (draft / "config.json").write_bytes(b"{}")
        return real(self, path, data, like)

    monkeypatch.setattr(LocalStorage, "create", somebody_writes)
    with pytest.raises(InputError, match="changed since it was read"):
        apply_plans(kimi_plan(draft))
    assert (draft / "config.json").read_bytes() == b"{}"
    assert leftovers(draft) == [".specpreflight", "config.json"]


def test_a_file_that_vanished(draft: Path) -> None:
    plans = kimi_plan(draft)
    (draft / "config.json").unlink()
    with pytest.raises(InputError, match="not written"):
        apply_plans(plans)


def test_another_run_holds_the_lock(draft: Path) -> None:
    journal = draft / ".specpreflight"
    journal.mkdir()
    held = os.open(journal, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    with pytest.raises(InputError, match="another specpreflight is writing"):
        apply_plans(kimi_plan(draft))
    os.close(held)
    assert (draft / "config.json").read_bytes() == KIMI


def test_where_only_files_can_be_locked(draft: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS; one run holds the lock while another one tries."""
    real = fcntl.flock

    def of_files_alone(descriptor: int, how: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", of_files_alone)
    (draft / ".specpreflight").mkdir()
    with (draft / ".specpreflight" / "lock").open("w") as held:
        real(held, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another specpreflight is writing"):
            apply_plans(kimi_plan(draft))
    apply_plans(kimi_plan(draft))
    assert (draft / "config.json").read_bytes() == FIXED


@pytest.mark.parametrize("marker", [".git", "../.git", "../../.git"])
def test_git_leaves_the_journal_alone(marker: str, tmp_path: Path) -> None:
    draft = tmp_path / "models" / "draft"
    draft.mkdir(parents=True)
    (draft / marker).write_text("gitdir: elsewhere\n")  # as in a work tree or a submodule
    (draft / "config.json").write_bytes(KIMI)
    apply_plans(kimi_plan(draft))
    assert (draft / ".specpreflight" / ".gitignore").read_text() == "*\n"


def test_read_only_file(draft: Path) -> None:
    (draft / "config.json").chmod(0o444)
    with pytest.raises(InputError, match=r"read-only \(mode 444\)") as caught:
        apply_plans(kimi_plan(draft))
    assert caught.value.exit_code == 4
    assert leftovers(draft) == ["config.json"]


def test_read_only_directory() -> None:
    """Root writes wherever it likes, so that the fix runs as nobody there."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        draft = Path(place) / "draft"
        draft.mkdir()
        (draft / "config.json").write_bytes(KIMI)
        (draft / "config.json").chmod(0o666)
        draft.chmod(0o555)
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            try:
                apply_plans(kimi_plan(draft))
            except InputError as error:
                os.write(writing, error.message.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            assert pipe.read() == (
                f"{draft}/config.json: not written: no permission to write in its directory"
            )
        os.waitpid(child, 0)
        assert (draft / "config.json").read_bytes() == KIMI
        assert leftovers(draft) == ["config.json"]
        draft.chmod(0o755)


def test_a_full_disk(small_disk: SmallDisk) -> None:
    """A real one; what the fix has begun is gone, and the file is whole."""
    draft = small_disk.path
    (draft / "config.json").write_bytes(KIMI)
    small_disk.fill()
    with pytest.raises(InputError, match="no space left on the device") as caught:
        apply_plans(kimi_plan(draft))
    assert caught.value.exit_code == 4
    assert (draft / "config.json").read_bytes() == KIMI
    assert [path.name for path in draft.glob(".*.tmp")] == []
    small_disk.make_room()
    apply_plans(kimi_plan(draft))
    assert (draft / "config.json").read_bytes() == FIXED


def acl(*users: int) -> bytes:
    """An access control list as Linux stores it: the owner and some users may read and write."""
    entries = [(0x01, 6, -1), *((0x02, 6, user) for user in users), (0x04, 4, -1), (0x10, 6, -1),
               (0x20, 4, -1)]  # fmt: skip
    return struct.pack("<I", 2) + b"".join(
        struct.pack("<HHI", tag, may, user & 0xFFFFFFFF) for tag, may, user in entries
    )


@pytest.mark.parametrize("has_list", [True, False])
def test_the_access_control_list_is_kept(has_list: bool, draft: Path) -> None:
    """The directory's default must not give anybody what the old file did not."""
    name = "system.posix_acl_access"
    try:
        os.setxattr(draft, "system.posix_acl_default", acl(1234))
        if has_list:
            os.setxattr(draft / "config.json", name, acl(4321))
    except (OSError, AttributeError):
        pytest.skip("this file system has no access control lists")
    apply_plans(kimi_plan(draft))
    for path in (draft / "config.json", draft / ".specpreflight" / "0001-config.json"):
        if has_list:
            assert os.getxattr(path, name) == acl(4321)
        else:
            assert name not in os.listxattr(path)
    record = draft / ".specpreflight" / "0001.json"
    assert has_list or name not in os.listxattr(record)


def test_link_inside_the_checkpoint_is_followed(draft: Path) -> None:
    (draft / "real").mkdir()
    (draft / "config.json").rename(draft / "real" / "config.v1.json")
    (draft / "config.json").symlink_to("real/config.v1.json")
    apply_plans(kimi_plan(draft))
    assert (draft / "config.json").is_symlink()
    assert (draft / "real" / "config.v1.json").read_bytes() == FIXED


def test_link_out_of_the_checkpoint_is_refused(draft: Path, tmp_path: Path) -> None:
    (draft / "config.json").rename(tmp_path / "shared.json")
    (draft / "config.json").symlink_to(tmp_path / "shared.json")
    with pytest.raises(InputError, match="outside of the checkpoint") as caught:
        apply_plans(kimi_plan(draft))
    assert "--copy-to" in str(caught.value.hint)
    assert (tmp_path / "shared.json").read_bytes() == KIMI


@pytest.mark.parametrize("as_link", [True, False])
def test_the_hubs_cache_is_never_edited(as_link: bool, tmp_path: Path) -> None:
    repository = tmp_path / "hub" / "models--lab--draft"
    snapshot = repository / "snapshots" / "0123abcd"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    blob = repository / "blobs" / "6f1e" if as_link else snapshot / "config.json"
    blob.write_bytes(KIMI)
    if as_link:
        (snapshot / "config.json").symlink_to("../../blobs/6f1e")
    with pytest.raises(InputError, match="belongs to the Hub's cache") as caught:
        apply_plans(kimi_plan(snapshot))
    assert "--copy-to" in str(caught.value.hint)
    assert blob.read_bytes() == KIMI
    assert leftovers(snapshot) == ["config.json"]


def test_a_directory_that_is_a_link_is_the_checkpoint(draft: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(draft)
    apply_plans(kimi_plan(tmp_path / "link"))
    assert (draft / "config.json").read_bytes() == FIXED
    assert leftovers(draft) == [".specpreflight", "config.json"]


def test_journal_folder_that_is_something_else(draft: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (draft / ".specpreflight").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"\.specpreflight is there and is no directory"):
        apply_plans(kimi_plan(draft))
    assert leftovers(tmp_path / "elsewhere") == []


def test_a_document_without_a_file() -> None:
    document = parse_document(KIMI, "config.json of somewhere")
    with pytest.raises(InputError, match="no local file"):
        apply_plans([FilePlan(document, (), FIXED, ())])


def many(tmp_path: Path, count: int) -> list[FilePlan]:
    plans = []
    for index in range(count):
        directory = tmp_path / f"draft-{index}"
        directory.mkdir()
        (directory / "config.json").write_bytes(KIMI)
        plans += kimi_plan(directory)
    return plans


def test_one_file_that_fails_stops_no_other(tmp_path: Path) -> None:
    plans = many(tmp_path, 3)
    (tmp_path / "draft-1" / "config.json").chmod(0o444)
    with pytest.raises(FixesIncomplete, match="1 of 3 files were not written") as caught:
        apply_plans(plans)
    assert [applied.name for applied in caught.value.applied] == [
        plans[0].document.name,
        plans[2].document.name,
    ]
    assert "read-only" in caught.value.failures[0].message
    assert caught.value.exit_code == 4


def test_progress_is_told_after_each_file(tmp_path: Path) -> None:
    seen: list[Applied] = []
    applied = apply_plans(many(tmp_path, 3), progress=seen.append)
    assert tuple(seen) == applied


@pytest.mark.parametrize("sync", [True, False])
def test_interrupt_between_two_files(sync: bool, tmp_path: Path) -> None:
    plans = many(tmp_path, 3)

    def interrupt(_: Applied) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(FixesInterrupted) as caught:
        apply_plans(plans, progress=interrupt, sync=sync)
    assert [applied.name for applied in caught.value.applied] == [plans[0].document.name]
    assert caught.value.untouched == tuple(plan.document.name for plan in plans[1:])
    assert caught.value.failures == ()
    contents = [Path(plan.document.name).read_bytes() for plan in plans]
    assert contents == [FIXED, KIMI, KIMI]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_what_failed_before_an_interrupt_is_told_too(tmp_path: Path) -> None:
    plans = many(tmp_path, 3)
    (tmp_path / "draft-0" / "config.json").chmod(0o444)
    with pytest.raises(FixesInterrupted) as caught:
        apply_plans(plans, progress=lambda _: signal.raise_signal(signal.SIGINT))
    assert "read-only" in caught.value.failures[0].message
    assert len(caught.value.applied) == len(caught.value.untouched) == 1


def test_interrupt_in_the_middle_of_a_file_finishes_it(
    draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalStorage.create

    def interrupted(self: LocalStorage, path: str, data: bytes, like: str) -> Any:
        if path.endswith(".tmp"):
            signal.raise_signal(signal.SIGINT)
        return real(self, path, data, like)

    monkeypatch.setattr(LocalStorage, "create", interrupted)
    assert len(apply_plans(kimi_plan(draft))) == 1
    assert (draft / "config.json").read_bytes() == FIXED


def test_a_second_interrupt_breaks_off_and_leaves_the_old_file(
    draft: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = LocalStorage.create

    def interrupted(self: LocalStorage, path: str, data: bytes, like: str) -> Any:
        notes = real(self, path, data, like)
        if path.endswith(".tmp"):
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
        return notes

    monkeypatch.setattr(LocalStorage, "create", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apply_plans(kimi_plan(draft))
    assert (draft / "config.json").read_bytes() == KIMI
    assert leftovers(draft) == [".specpreflight", "config.json"]


def test_what_a_fix_does_not_import() -> None:
    code = (
        "import sys; import specpreflight.fixes.apply, specpreflight.fixes.diff\n"
        "heavy = {'pydantic', 'rich', 'huggingface_hub', 'asyncio', 'yaml', 'paramiko'}\n"
        "sys.exit(repr(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
