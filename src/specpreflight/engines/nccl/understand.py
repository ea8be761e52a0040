"""One variable: what a release of NCCL makes of its text."""

from __future__ import annotations

import re
from typing import Final

from specpreflight.engines.nccl.bootstrap import INVALID_COMM_ID, parse_comm_id
from specpreflight.engines.nccl.c_text import atoi, same_word, strtoll
from specpreflight.engines.nccl.channels import resolve_channels
from specpreflight.engines.nccl.choices import understand_choice
from specpreflight.engines.nccl.interfaces import Filter, parse_filter
from specpreflight.engines.nccl.levels import understand_disable, understand_level
from specpreflight.engines.nccl.numbers import understand_number
from specpreflight.engines.nccl.table import Span, find_span
from specpreflight.engines.nccl.typed import understand_typed
from specpreflight.models.nccl import Effect, Release, Understood

_LEVEL_NAMES: Final = Release(2, 6, 4)
_NOT_READ: Final = Understood("unknown", "ignored", "ignored")
_LONGEST_IFNAME_LIST: Final = 16
_LONGEST_HCA_LIST: Final = 32


def understand(name: str, text: str, release: Release) -> Understood:
    """Return what `release` understands when the variable `name` has the value `text`."""
    span = find_span(name, release)
    if span is None:
        return _NOT_READ
    if name in ("NCCL_ALGO", "NCCL_PROTO"):
        return understand_choice("algo" if name == "NCCL_ALGO" else "proto", text, release)
    if name in ("NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL") and release >= _LEVEL_NAMES:
        return understand_level(name, text, release)
    if name == "NCCL_P2P_DISABLE" and release >= _LEVEL_NAMES:
        return understand_disable(text, release)
    typed = understand_typed(name, text, release)
    if typed is not None:
        return typed
    if span.reader == "number":
        return understand_number(name, text, span.default)
    return _understand_text(name, text, release, span)


def _understand_text(name: str, text: str, release: Release, span: Span) -> Understood:
    if name == "NCCL_SOCKET_IFNAME":
        if len(text.encode("utf-8", "surrogateescape")) < 2:
            return Understood("interfaces", "default", "default")
        return Understood("interfaces", _describe(text, _LONGEST_IFNAME_LIST, release), "used")
    if name == "NCCL_IB_HCA":
        described = _describe(text, _LONGEST_HCA_LIST, release)
        return Understood("hcas", described, "used" if text else "default")
    if name in ("NCCL_SOCKET_FAMILY", "NCCL_IB_ADDR_FAMILY"):
        return _word(text if text in ("AF_INET", "AF_INET6") else "")
    if name == "NCCL_CTA_POLICY":
        policy = resolve_channels({name: text}, release).cta_policy
        known = re.fullmatch(r"[012].*|.*(default|efficiency|zero).*", text, re.I | re.S)
        return Understood("text", str(policy), "used" if known else "default", number=policy)
    if name == "NCCL_COLLNET_ENABLE":
        return _word("1" if text == "1" else "")
    if name == "NCCL_LAUNCH_MODE":
        return _word("GROUP" if same_word(text, "GROUP") else "", "PARALLEL")
    if name == "NCCL_CHECK_MODE":
        return _word(_match(text, "DEBUG_GLOBAL", "DEBUG_LOCAL"))
    if name == "NCCL_NET_MERGE_POLICY":
        return _word(_match(text, "RAIL", "ALL"))
    if name == "NCCL_NETDEVS_POLICY":
        limited = same_word(text[:4], "MAX:") and atoi(text[4:]) > 0
        return _word(f"MAX:{atoi(text[4:])}" if limited else _match(text, "AUTO", "ALL"))
    if name == "NCCL_SOCKET_MAGIC":
        number = strtoll(text)
        valid = bool(text) and not number.rest
        return Understood("text", text if valid else "default", "used" if valid else "default")
    if name == "NCCL_COMM_ID" and parse_comm_id(text) is None:
        return Understood("text", f"fatal: {INVALID_COMM_ID}", "fatal", f"WARN: {INVALID_COMM_ID}")
    return Understood("text", text or "default", "used" if text else "default")


def _match(text: str, *words: str) -> str:
    return next((word for word in words if same_word(text, word)), "")


def _word(understood: str, default: str = "default") -> Understood:
    effect: Effect = "used" if understood else "default"
    return Understood("text", understood or default, effect)


def _describe(text: str, most: int, release: Release) -> str:
    """Say in words which names a list takes."""
    wanted = parse_filter(text, most, release)
    return describe_filter(wanted)


def describe_filter(wanted: Filter) -> str:
    """Say in words which names a filter takes: `exactly eth0, eth1`, `all but lo*, docker*`."""
    if not wanted.entries:
        return "none" if wanted.inverted else "all"
    mark = "" if wanted.exact else "*"
    names = ", ".join(
        f"{entry.name}{mark}" + (f" port {entry.port}" if entry.port >= 0 else "")
        for entry in wanted.entries
    )
    if wanted.inverted:
        return f"all but {names}"
    return f"exactly {names}" if wanted.exact else names
