"""Checkpoints that somebody's disk, download or editor broke, one generator each.

Used at the level of documents and through the command line: `make(directory)` builds the thing in
an empty directory and returns the path to give; `message` is a regular expression that the one
line of error must match.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

GOOD = b'{\n  "model_type": "llama",\n  "max_position_embeddings": 131072\n}\n'


@dataclass(frozen=True)
class Malformed:
    name: str
    make: Callable[[Path], Path]
    message: str


def content(name: str, data: bytes, message: str) -> Malformed:
    """A checkpoint directory whose config.json holds `data`."""

    def make(directory: Path) -> Path:
        (directory / "config.json").write_bytes(data)
        return directory

    return Malformed(name, make, message)


def missing(directory: Path) -> Path:
    return directory / "nowhere"


def missing_parent(directory: Path) -> Path:
    return directory / "nowhere" / "draft" / "config.json"


def parent_is_file(directory: Path) -> Path:
    (directory / "draft").write_bytes(GOOD)
    return directory / "draft" / "config.json"


def empty_directory(directory: Path) -> Path:
    return directory


def only_weights(directory: Path) -> Path:
    (directory / "model.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    return directory


def nested(directory: Path) -> Path:
    (directory / "checkpoint-1000").mkdir()
    (directory / "checkpoint-1000" / "config.json").write_bytes(GOOD)
    return directory


def adapter(directory: Path) -> Path:
    (directory / "adapter_config.json").write_bytes(b"{}")
    return directory


def hub_cache_repository(directory: Path) -> Path:
    (directory / "snapshots" / "0123").mkdir(parents=True)
    return directory


def weights_file(directory: Path) -> Path:
    path = directory / "model.safetensors"
    path.write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    return path


def renamed_weights_file(directory: Path) -> Path:
    path = directory / "model.json"
    path.write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    return path


def huge(directory: Path) -> Path:
    with (directory / "config.json").open("wb") as file:
        file.truncate(2 * 1024**3)
    return directory


def dangling_link(directory: Path) -> Path:
    (directory / "config.json").symlink_to("../../blobs/6f1ed002")
    return directory


def link_loop(directory: Path) -> Path:
    (directory / "config.json").symlink_to("config.json")
    return directory


def named_pipe(directory: Path) -> Path:
    os.mkfifo(directory / "config.json")
    return directory


def device(directory: Path) -> Path:
    (directory / "config.json").symlink_to("/dev/zero")
    return directory


def unix_socket(directory: Path) -> Path:
    place = os.open(directory, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"/proc/self/fd/{place}/config.json")
    os.close(place)
    return directory


def directory_named_config(directory: Path) -> Path:
    (directory / "config.json").mkdir()
    return directory


def long_name(directory: Path) -> Path:
    return directory / ("x" * 300)


MALFORMED: tuple[Malformed, ...] = (
    Malformed("missing", missing, r"nowhere/config\.json: .*nowhere does not exist"),
    Malformed("missing-parent", missing_parent, r"config\.json: .*nowhere does not exist"),
    Malformed("parent-is-file", parent_is_file, r"draft is a file, not a directory"),
    Malformed("empty-directory", empty_directory, r"is an empty directory"),
    Malformed("only-weights", only_weights, r"has weights but no config\.json"),
    Malformed("nested-checkpoint", nested, r"has no config\.json"),
    Malformed("lora-adapter", adapter, r"holds a LoRA adapter"),
    Malformed("hub-cache-repository", hub_cache_repository, r"folder of the Hub cache"),
    Malformed("weights-file", weights_file, r"is a weights file"),
    Malformed("renamed-weights-file", renamed_weights_file, r"is a safetensors weights file"),
    Malformed("huge-file", huge, r"has 2,147,483,648 bytes"),
    Malformed("dangling-link", dangling_link, r"is a link to \.\./\.\./blobs/6f1ed002"),
    Malformed("link-loop", link_loop, r"symbolic links form a loop"),
    Malformed("named-pipe", named_pipe, r"is a named pipe"),
    Malformed("device", device, r"is a device"),
    Malformed("unix-socket", unix_socket, r"is a socket or a device"),
    Malformed("directory-named-config", directory_named_config, r"is a directory"),
    Malformed("long-name", long_name, r"the name is too long"),
    content("empty", b"", r"config\.json: is empty"),
    content("whitespace", b" \r\n\t\n", r"holds only whitespace"),
    content("zeros", b"\0" * 100, r"holds zero bytes"),
    content("lost-end", GOOD[:20] + b"\0" * 40, r"holds zero bytes"),
    content("gzip", gzip.compress(GOOD), r"is gzip-compressed"),
    content("zstd", b"\x28\xb5\x2f\xfd\x20\x00", r"is zstd-compressed"),
    content("zip", b"PK\x03\x04\x14\0\0\0", r"is a zip archive"),
    content("pickle", b"\x80\x04\x95\x10\0\0\0", r"is a Python pickle"),
    content("binary", b"\x7fELF\x02\x01\x01\0", r"is binary data"),
    content("gguf", b"GGUF\x03\0\0\0", r"is a GGUF weights file"),
    content("utf-16", GOOD.decode().encode("utf-16"), r"is UTF-16"),
    content("utf-16-le", GOOD.decode().encode("utf-16-le"), r"is UTF-16"),
    content("utf-16-be", GOOD.decode().encode("utf-16-be"), r"is UTF-16"),
    content("utf-32-le", GOOD.decode().encode("utf-32-le"), r"is UTF-16 or UTF-32"),
    content(
        "latin-1", b'{\n  "name": "M\xfcller"\n}', r"config\.json:2:13: byte 0xfc is not UTF-8"
    ),
    content("lone-surrogate", b'{"a": "\xed\xa0\x80"}', r":1:8: byte 0xed is not UTF-8"),
    content(
        "lfs-pointer",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:6f1e\nsize 4242\n",
        r"is a Git LFS pointer",
    ),
    content("annex-pointer", b"/annex/objects/SHA256E-s4242--6f1e.json\n", r"git-annex pointer"),
    content("html", b"<!DOCTYPE html>\n<html><body>401</body></html>", r"is an HTML page"),
    content("html-with-bom", b"\xef\xbb\xbf\n<html></html>", r"is an HTML page"),
    content("xml", b"<?xml version='1.0'?><Error><Code>AccessDenied</Code>", r"is an XML page"),
    content("hub-not-found", b"Entry not found", r"is the Hub's refusal"),
    content("hub-401", b"Invalid username or password.", r"is the Hub's refusal"),
    content("trailing-comma", b'{\n  "a": 1,\n}\n', r":2:9: trailing comma before \}"),
    content("trailing-comma-list", b'{"a": [1, 2,]}', r":1:12: trailing comma before \]"),
    content("double-comma", b'{"a": 1,, "b": 2}', r":1:9: expected a key in double quotes"),
    content("missing-comma", b'{\n  "a": 1\n  "b": 2\n}', r':3:3: expected a comma .*found "'),
    content("missing-colon", b'{"a" 1}', r":1:6: expected a colon after the key, found 1"),
    content("missing-value", b'{"a": }', r":1:7: expected a value, found }"),
    content("unquoted-key", b"{a: 1}", r":1:2: expected a key in double quotes, found a"),
    content("single-quotes", b"{'a': 1}", r":1:2: ' where a double quote"),
    content("curly-quotes", "{“a”: 1}".encode(), r":1:2: “ where a double quote"),
    content("python-true", b'{"a": True}', r":1:7: True is Python, not JSON"),
    content("python-none", b'{"a": None}', r":1:7: None is Python, not JSON"),
    content("comment", b'{\n  // the draft\n  "a": 1\n}', r":2:3: a comment"),
    content("hash-comment", b'{\n  "a": 1 # the draft\n}', r":2:10: a comment"),
    content("cut-off", b'{\n  "a": {\n    "b": 1,\n', r":4:1: the file ends in the middle"),
    content("cut-off-string", b'{"a": "lla', r":1:7: this string is never closed"),
    content("line-break-in-string", b'{"a": "b\nc"}', r":1:9: a line break or control character"),
    content("bad-escape", b'{"a": "C:\\models"}', r":1:10: an escape that JSON does not know"),
    content("merge-conflict", b'{\n<<<<<<< HEAD\n  "a": 1\n', r":2:1: holds the markers"),
    content("two-documents", GOOD + GOOD, r":5:1: text after the end of the document"),
    content("hexadecimal", b'{"a": 0x20000}', r":1:8: expected a comma .*found x20000"),
    content("leading-zero", b'{"a": 0131072}', r":1:8: expected a comma .*found 1"),
    content("leading-plus", b'{"a": +1}', r":1:7: expected a value, found \+"),
    content("yaml", b"model_type: llama\n", r":1:1: expected a value, found model_type"),
    content("top-level-array", b"[1]", r":1:1: the top level is an array"),
    content("top-level-string", b'"{}"', r":1:1: the top level is a string"),
    content("top-level-null", b"null", r":1:1: the top level is null"),
    content("top-level-number", b"131072", r":1:1: the top level is a number"),
    content("deep-nesting", b'{"a":' * 100_000, r"nested too deeply"),
    content(
        "deep-but-parsable",
        json.dumps({"a": 1}).encode().replace(b"1", b"[" * 500 + b"]" * 500),
        r"nested too deeply",
    ),
)
