"""The header of one safetensors file: every tensor's name, dtype, shape and place, no data.

The format is eight bytes of little-endian length, that many bytes of JSON, then the data. What is
checked is what the format's own library checks before it hands out a tensor (`Metadata::validate`
and `read_metadata` in its `tensor.rs`): a file refused there is refused by every engine.
"""

from __future__ import annotations

import json
import stat
import struct
from dataclasses import dataclass, field
from itertools import chain
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NoReturn

from specpreflight.models.weights import DTYPE_BITS, Tensor, WeightProblem

#: Bytes; the format's library refuses a longer header.
FORMAT_LIMIT: Final = 100_000_000
#: Bytes; longer headers (300,000 tensors and more) are not parsed here, so that memory is bounded.
HEADER_LIMIT: Final = 32_000_000
#: Dimensions; no tensor library has more, and a product over hostile lists would take forever.
RANK_LIMIT: Final = 64
_MAX_SIZE: Final = 2**64


@dataclass(frozen=True, slots=True)
class Header:
    """What one file says. `problems` that concern the whole file leave `tensors` empty."""

    size: int
    tensors: dict[str, Tensor] = field(default_factory=dict)
    metadata: dict[str, str] = field(default_factory=dict)
    problems: tuple[WeightProblem, ...] = ()


def read_header(path: Path, name: str) -> Header:
    """Read and check the header of `path`; `name` is how problems and tensors call the file.

    Reads at most `HEADER_LIMIT` + 8 bytes, never past the end, and raises nothing: a file that
    can't be opened is a problem like the others.
    """
    try:
        status = path.stat()
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for its other end
            pipe = WeightProblem("unreadable", name, "can't be read: no regular file")
            return Header(0, problems=(pipe,))
        with path.open("rb") as file:
            start = file.read(8)
            problem = _problem_of_start(start, size, file.read(56), name)
            if problem is not None:
                return Header(size, problems=(problem,))
            (length,) = struct.unpack("<Q", start)
            file.seek(8)
            text = file.read(length)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        return Header(0, problems=(WeightProblem("unreadable", name, f"can't be read: {reason}"),))
    if len(text) < length:
        message = f"the file ends inside its header of {length} bytes"
        return Header(size, problems=(WeightProblem("truncated", name, message),))
    return parse_header(text, size, name)


def parse_header(text: bytes, size: int, name: str) -> Header:
    """Parse the JSON of a header; `size` is the whole file's, in bytes."""
    try:
        root = json.loads(text.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = (
            str(error).splitlines()[0] if isinstance(error, ValueError) else "too deeply nested"
        )
        problem = WeightProblem("header-json", name, f"the header is not JSON: {reason}"[:200])
        return Header(size, problems=(problem,))
    if not isinstance(root, dict):
        problem = WeightProblem("header-json", name, "the header is not a JSON object")
        return Header(size, problems=(problem,))
    metadata, problems = _read_metadata(root.pop("__metadata__", None), name)
    tensors, bad = _read_entries(root, len(text) + 8, name)
    problems += bad
    if not bad:
        problems += _check_spans(tensors, len(text) + 8, size, name)
    return Header(size, tensors, metadata, tuple(problems))


def _problem_of_start(start: bytes, size: int, more: bytes, name: str) -> WeightProblem | None:
    """Say why a file that starts with `start` + `more` can't hold a header, `None` if it can."""
    if size == 0:
        return WeightProblem("empty", name, "the file is empty")
    text = (start + more).lstrip().lower()
    if text.startswith(b"version https://git-lfs"):
        return WeightProblem(
            "lfs-pointer", name, f"a git-lfs pointer of {size} bytes, not the weights"
        )
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return WeightProblem("html", name, f"a web page of {size} bytes, not the weights")
    if len(start) < 8:
        return WeightProblem("truncated", name, f"{size} bytes are too few for a header")
    (length,) = struct.unpack("<Q", start)
    if more[:1] not in (b"{", b""):
        return WeightProblem(
            "not-safetensors", name, "not a safetensors file: no `{` after the header's length"
        )
    if length > FORMAT_LIMIT:
        message = f"a header of {length} bytes, the format allows {FORMAT_LIMIT}"
        return WeightProblem("header-size", name, message)
    if length + 8 > size:
        message = f"{size} bytes, its header alone needs {length + 8}"
        return WeightProblem("truncated", name, message)
    if length > HEADER_LIMIT:
        message = f"a header of {length} bytes is not read (limit {HEADER_LIMIT})"
        return WeightProblem("header-size", name, message)
    return None


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON value")


def _read_metadata(found: Any, name: str) -> tuple[dict[str, str], list[WeightProblem]]:
    if found is None:
        return {}, []
    if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()):
        return found, []
    problem = WeightProblem("entry", name, "`__metadata__` is not an object of strings")
    return {}, [problem]


def _read_entries(
    root: dict[str, Any], data: int, name: str
) -> tuple[dict[str, Tensor], list[WeightProblem]]:
    """Read the tensor entries; `data` is the offset at which the data begins."""
    tensors: dict[str, Tensor] = {}
    problems: list[WeightProblem] = []
    known = DTYPE_BITS
    # One pass over all shapes is five times faster than one for each of 100,000 tensors.
    sound = _are_sizes(
        [each.get("shape") if type(each) is dict else None for each in root.values()]
    )
    for tensor, entry in root.items():
        try:
            dtype, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
            bits = known.get(dtype)
            valid = (
                type(start) is int
                and type(end) is int
                and 0 <= start <= end < _MAX_SIZE
                and (sound or _are_sizes([shape]))
            )
        except (TypeError, KeyError, ValueError):
            valid, bits = False, None
        if not valid:
            problems.append(
                WeightProblem(
                    "entry", name, f"the entry of `{tensor[:80]}` is malformed", (tensor,)
                )
            )
        elif bits is None:
            problems.append(
                WeightProblem(
                    "dtype", name, f"`{tensor[:80]}` has an unknown dtype {dtype!r:.40}", (tensor,)
                )
            )
        elif prod(shape) * bits != (end - start) * 8:
            needed = -(-prod(shape) * bits // 8)
            message = f"`{tensor[:80]}` spans {end - start} bytes, its shape needs {needed}"
            problems.append(WeightProblem("offsets", name, message[:240], (tensor,)))
        else:
            tensors[tensor] = Tensor(tensor, dtype, tuple(shape), name, data + start, data + end)
    return tensors, problems


def _are_sizes(shapes: list[Any]) -> bool:
    """Return whether all are lists of sizes that a tensor can have; empty for a scalar."""
    if not set(map(type, shapes)) <= {list}:
        return False
    sizes = list(chain.from_iterable(shapes))
    plain = set(map(type, sizes)) <= {int} and max(map(len, shapes), default=0) <= RANK_LIMIT
    return plain and min(sizes, default=0) >= 0 and max(sizes, default=0) < _MAX_SIZE


def _check_spans(
    tensors: dict[str, Tensor], data: int, size: int, name: str
) -> list[WeightProblem]:
    """Check that the tensors cover the data without overlap or hole, and that it is all there."""
    expected, ordered = data, list(tensors.values())
    if not _follow_each_other(ordered, data):
        ordered.sort(key=_PLACE)
    for tensor in ordered:
        if tensor.start != expected:
            overlaps = tensor.start < expected
            what = "overlaps the tensor before it" if overlaps else "leaves a hole before it"
            message = f"`{tensor.name[:80]}` starts at byte {tensor.start}, {what}"
            return [
                WeightProblem("offsets", name, f"{message} (expected {expected})", (tensor.name,))
            ]
        expected = tensor.end
    if expected > size:
        message = f"{size} bytes, its tensors need {expected}"
        return [WeightProblem("truncated", name, message)]
    if expected < size:
        message = f"{size} bytes, its tensors end at {expected}"
        return [WeightProblem("trailing-bytes", name, message)]
    return []


_PLACE = attrgetter("start", "end", "name")


def _follow_each_other(tensors: list[Tensor], data: int) -> bool:
    """Return whether the header lists the tensors in the order of their data, as writers do."""
    starts = list(map(attrgetter("start"), tensors))
    return starts == [data, *map(attrgetter("end"), tensors)][: len(starts)]
