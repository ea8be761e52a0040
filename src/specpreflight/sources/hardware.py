"""`--hardware`: a profile's name, a file of facts or of saved tool output, or `key=value,…`."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from specpreflight.errors import InputError, UsageError
from specpreflight.models.launch import Hardware
from specpreflight.sources.gpu_models import PROFILES, describe_gpu
from specpreflight.sources.text_file import read_text_file
from specpreflight.sources.topology import read_listing


def read_hardware(text: str) -> Hardware:
    """Return the machine that a `--hardware` value names.

    `text` is a profile (`h100`), a path (JSON facts, or what a GPU tool printed), or facts
    (`h100,gpus=4` or `capability=9.0,memory_mib=81559,nvlink=yes,interfaces=eth0/ib0`); `local`
    asks the tools of this machine.

    Raises:
        UsageError: neither a profile nor a file nor facts; an unknown fact or a wrong value.
        InputError: the file is unreadable, or nothing in it is known.
    """
    profile = PROFILES.get(text.lower())
    if profile is not None:
        return profile
    path = Path(text)
    if text == "local" and not path.exists():
        from specpreflight.sources.local_hardware import read_local_hardware

        return read_local_hardware()
    if "=" in text and not path.exists():
        return _read_facts_text(text)
    if path.exists() or "/" in text or path.suffix:
        return _read_file(path, text)
    raise UsageError(
        f"--hardware {text}: neither a known machine nor a file", hint=_suggest_profile(text)
    )


def _suggest_profile(text: str) -> str:
    near = difflib.get_close_matches(text.lower(), PROFILES, n=1)
    known = ", ".join(sorted(PROFILES))
    return f"did you mean {near[0]}?" if near else f"known machines: {known}"


def _read_facts_text(text: str) -> Hardware:
    first, *rest = text.split(",")
    base = Hardware()
    if "=" not in first:
        known = PROFILES.get(first.lower())
        if known is None:
            raise UsageError(f"--hardware {first}: no known machine", hint=_suggest_profile(first))
        base = known
    else:
        rest = [first, *rest]
    facts: dict[str, Any] = {}
    for item in rest:
        key, equals, value = item.partition("=")
        if not equals:
            raise UsageError(
                f"--hardware: '{item}' is not key=value",
                hint="lists are written with a slash: interfaces=eth0/ib0",
            )
        facts[key.strip()] = value.strip()
    try:
        return _with_facts(base, facts)
    except ValueError as error:
        raise UsageError(f"--hardware: {error}", hint=f"known facts: {_known_facts()}") from None


def _read_file(path: Path, given: str) -> Hardware:
    text = read_text_file(path, given)
    if not text.lstrip().startswith("{"):
        return read_listing(text, given)
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError) as error:
        where = f":{error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise InputError(f"{given}{where}: not valid JSON facts of a machine") from None
    base = PROFILES.get(str(facts.pop("profile", "") or "").lower(), Hardware())
    try:
        return _with_facts(base, facts)
    except ValueError as error:
        raise InputError(f"{given}: {error}", hint=f"known facts: {_known_facts()}") from None


def _with_facts(base: Hardware, facts: Mapping[str, Any]) -> Hardware:
    """Return `base` with facts changed.

    Raises:
        ValueError: an unknown fact or a wrong value, with a message for the user.
    """
    changes: dict[str, Any] = {}
    for name, value in facts.items():
        convert = _FACTS.get(name)
        if convert is None:
            raise ValueError(f"unknown fact '{name}'")
        if value is None:
            continue
        try:
            changes[name] = convert(value)
        except (ValueError, TypeError):
            raise ValueError(f"{name} cannot be {value!r}") from None
    gpu = changes.get("gpu")
    if isinstance(gpu, str) and "capability" not in changes and base.capability is None:
        changes["capability"] = describe_gpu(gpu).capability
    return replace(base, **changes)


def _capability(value: Any) -> tuple[int, int]:
    if isinstance(value, list):
        major, minor = value
        return _count(major), _index(minor)
    match = re.fullmatch(r"(?:sm_?)?(\d{1,2}?)\.?(\d)[a-f]?", str(value))
    if match is None:
        raise ValueError
    return int(match[1]), int(match[2])


def _count(value: Any) -> int:
    number = _index(value)
    if number < 1:
        raise ValueError
    return number


def _index(value: Any) -> int:
    if isinstance(value, (bool, float)):
        raise ValueError  # noqa: TRY004
    return int(value)


def _flag(value: Any) -> bool:
    word = str(value).lower()
    if word in ("yes", "true", "1"):
        return True
    if word in ("no", "false", "0"):
        return False
    raise ValueError


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _names(value: Any) -> tuple[str, ...]:
    items = value.split("/") if isinstance(value, str) else value
    return tuple(_text(item) for item in items)


def _platform(value: Any) -> str:
    if value not in ("cuda", "rocm", "xpu", "npu", "cpu"):
        raise ValueError
    return str(value)


_FACTS: Final[dict[str, Callable[[Any], Any]]] = {
    "gpu": _text,
    "capability": _capability,
    "memory_mib": _count,
    "gpus": _count,
    "nodes": _count,
    "nvlink": _flag,
    "platform": _platform,
    "interfaces": _names,
    "hcas": _names,
}


def _known_facts() -> str:
    return ", ".join(sorted(_FACTS))
