"""The two dialects of env files, with what people put into them."""

from __future__ import annotations

from pathlib import Path

import pytest

from specpreflight.errors import InputError
from specpreflight.sources.env_file import parse_env_file_option, read_env_file

FILE = """\
# a comment
export NCCL_DEBUG=INFO
NCCL_ALGO="Ring"
NCCL_PROTO=LL # trailing
NCCL_SOCKET_IFNAME='^docker0,lo'
NCCL_IB_HCA = mlx5_0
NCCL_PROTO=Simple
  NCCL_NTHREADS=512
EMPTY=
HOME_COPY=${BASE}/x
"""


def read(path: Path, dialect: str, **process: str) -> dict[str, str | None]:
    file = parse_env_file_option(f"{dialect}:{path}")
    return {line.name: line.value for line in read_env_file(file, process)}


def write(tmp_path: Path, data: bytes | str) -> Path:
    path = tmp_path / "nccl.env"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_dotenv_drops_quotes_comments_and_export(tmp_path: Path) -> None:
    assert read(write(tmp_path, FILE), "dotenv", BASE="/b") == {
        "NCCL_DEBUG": "INFO",
        "NCCL_ALGO": "Ring",
        "NCCL_PROTO": "Simple",
        "NCCL_SOCKET_IFNAME": "^docker0,lo",
        "NCCL_IB_HCA": "mlx5_0",
        "NCCL_NTHREADS": "512",
        "EMPTY": "",
        "HOME_COPY": "/b/x",
    }


def test_docker_takes_everything_literally(tmp_path: Path) -> None:
    text = FILE.replace("export ", "").replace("NCCL_IB_HCA = mlx5_0\n", "")
    assert read(write(tmp_path, text), "docker", BASE="/b") == {
        "NCCL_DEBUG": "INFO",
        "NCCL_ALGO": '"Ring"',
        "NCCL_PROTO": "Simple",
        "NCCL_SOCKET_IFNAME": "'^docker0,lo'",
        "NCCL_NTHREADS": "512",
        "EMPTY": "",
        "HOME_COPY": "${BASE}/x",
    }


@pytest.mark.parametrize("line", ["export A=1", "A =1", "=1"])
def test_docker_refuses_a_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"nccl\.env:2: .*docker refuses"):
        read(write(tmp_path, f"B=2\n{line}\n"), "docker")


def test_docker_copies_a_bare_name_from_the_process(tmp_path: Path) -> None:
    assert read(write(tmp_path, "A\nB\n"), "docker", A="1") == {"A": "1"}


@pytest.mark.parametrize("dialect", ["docker", "dotenv"])
def test_line_ends_and_byte_order_mark(tmp_path: Path, dialect: str) -> None:
    path = write(tmp_path, b"\xef\xbb\xbfNCCL_PROTO=LL\r\nNCCL_ALGO=Ring\r\n")
    assert read(path, dialect) == {"NCCL_PROTO": "LL", "NCCL_ALGO": "Ring"}


def test_what_the_other_dialect_would_do_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, "A=\"1\"\nB=2 # two\nC='3'\nD=${A}\n")
    for dialect in ("docker", "dotenv"):
        lines = read_env_file(parse_env_file_option(f"{dialect}:{path}"))
        assert [bool(line.note) for line in lines] == [True] * 4


def test_a_value_over_several_lines(tmp_path: Path) -> None:
    path = write(tmp_path, 'A="1\n2"\nB=3\n')
    lines = read_env_file(parse_env_file_option(str(path)))
    assert [(line.name, line.value, line.line) for line in lines] == [
        ("A", "1\n2", 1),
        ("B", "3", 3),
    ]


def test_dialect_is_dotenv_unless_said() -> None:
    assert parse_env_file_option("x.env").dialect == "dotenv"
    assert parse_env_file_option("docker:x.env").dialect == "docker"


def test_a_file_may_be_called_like_a_dialect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docker:x").write_text("A=1\n")
    assert parse_env_file_option("docker:x").given == "docker:x"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"A=1\n\x00\x01", "binary data"),
        (b"A=\xff\n", "not UTF-8"),
        (b"A='1\n", "never closed"),
        (b"this is no assignment\n", "not a NAME=VALUE line"),
        (b"A=1\n" * (2 << 20), "larger than 4 MiB"),
    ],
)
def test_what_is_no_env_file(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(write(tmp_path, data), "dotenv")


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none", "dotenv")
    with pytest.raises(InputError, match="is a directory"):
        read(tmp_path, "dotenv")
