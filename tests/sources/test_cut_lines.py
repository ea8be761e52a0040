"""Lines that Docker, containerd or the journal cut, read whole again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from engine_logs import DOCKER, LINE_MAX, Sglang, journal, pieces
from hypothesis import given
from hypothesis import strategies as st

from specpreflight.cli.diagnose import follow_diagnosis
from specpreflight.engines.logs.diagnose import diagnose
from specpreflight.models.diagnosis import Diagnosis
from specpreflight.sources.cut_lines import rejoin_of
from specpreflight.sources.log_reader import read_blocks, unwrap

TIME = "2026-03-02T00:10:24.123456789Z"
#: An arguments line of more than two of journald's pieces, with text of several bytes a letter.
LONG = Sglang("0.5.9", chat_template="für " * 30_000).start("RUN").serve([2.0] * 4).text


def docker_json(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for piece, last in pieces(line, DOCKER):
            entry = {"log": piece + "\n" * last, "stream": "stderr", "time": TIME}
            yield json.dumps(entry, separators=(",", ":"))
            if not last:
                said = {"log": "NCCL version 2.27.5\n", "stream": "stdout", "time": TIME}
                yield json.dumps(said, separators=(",", ":"))


def docker_timed(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield "".join(f"{TIME} {piece}" for piece, _ in pieces(line, DOCKER))


def containerd(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for piece, last in pieces(line, DOCKER):
            yield f"{TIME} stderr {'F' if last else 'P'} {piece}"
            yield f"{TIME} stdout F NCCL version 2.27.5"


def journal_json(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for piece, last in pieces(line, LINE_MAX):
            cut = {} if last else {"_LINE_BREAK": "line-max"}
            yield json.dumps({"_STREAM_ID": "a", **cut, "MESSAGE": piece.rstrip()})
            yield json.dumps({"_STREAM_ID": "b", "MESSAGE": "NCCL version 2.27.5"})


def docker_in_journal(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for piece, last in pieces(line, DOCKER):
            cut = {} if last else {"CONTAINER_PARTIAL_MESSAGE": "true"}
            yield json.dumps({"CONTAINER_ID_FULL": "c", "PRIORITY": "3", **cut, "MESSAGE": piece})


FORMS: dict[str, Callable[[str], Iterator[str]]] = {
    "docker json": docker_json,
    "docker logs -t": docker_timed,
    "containerd": containerd,
    "journal": journal,
    "docker in the journal": lambda text: journal(text, DOCKER),
    "journal json": journal_json,
    "docker in the journal, json": docker_in_journal,
}


def read(path: Path) -> Diagnosis:
    return diagnose(read_blocks(str(path)), unwrap)


@pytest.mark.parametrize("form", FORMS)
def test_the_arguments_are_read_whole(form: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("\n".join(FORMS[form](LONG)))
    found = read(log)
    (tmp_path / "plain.log").write_text(LONG)
    plain = read(tmp_path / "plain.log")
    assert plain.launch.complete
    assert found.launch.complete
    assert found.launch.arguments.keys() == plain.launch.arguments.keys()
    assert found.launch.arguments["speculative_num_steps"] == 3
    assert (found.version, found.healthy) == (plain.version, True)
    assert found.acceptance_length == plain.acceptance_length


def test_a_followed_log_is_joined_too(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("\n".join(journal(LONG)) + "\n")
    found = follow_diagnosis(str(log))
    assert (found.healthy, found.launch.complete) == (True, True)


def test_coloured_records_are_read() -> None:
    coloured = list(b"\x1b[32m[2026-01-01 10:00:00] Load weight begin\x1b[0m")
    assert unwrap(json.dumps({"MESSAGE": coloured}).encode()) == (
        None,
        "[2026-01-01 10:00:00] Load weight begin",
    )


@given(
    lines=st.lists(
        st.tuples(st.sampled_from(["stdout", "stderr"]), st.integers(0, 40_000)), max_size=6
    ),
    size=st.integers(1, 5000),
)
def test_any_entries_of_docker(lines: list[tuple[str, int]], size: int) -> None:
    entries = b"".join(
        json.dumps({"log": piece + "\n" * last, "stream": stream}, separators=(",", ":")).encode()
        + b"\n"
        for stream, length in lines
        for piece, last in pieces("ab\"<\t'" * (length // 6), DOCKER)
    )
    rejoin = rejoin_of(b'{"log":')
    blocks = [entries[start : start + size] for start in range(0, len(entries), size)]
    joined, rest = b"", b""
    for block in blocks:
        head, newline, rest = (rest + block).rpartition(b"\n")
        joined += rejoin(head + newline) if newline else b""
    joined += rejoin.finish()
    texts = [unwrap(line)[1] for line in joined.splitlines()]
    assert texts == ["ab\"<\t'" * (length // 6) for _, length in lines]
