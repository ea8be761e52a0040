"""Harvest the environment variables that every NCCL release reads, from a clone with its tags.

    python tools/harvest_nccl.py PATH/TO/nccl > src/specpreflight/engines/nccl/data/variables.json

Reads the C++ sources of each `v2.*` tag with `git`, never builds or runs them. For each name: who
reads it (`number` by NCCL_PARAM, `typed` by DEFINE_NCCL_PARAM, `text` by getenv), the default, and
the releases between which that holds. What a variable means is written by hand, in
`data/meanings.json`.
"""

from __future__ import annotations

import ast
import json
import operator
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Reader = tuple[str, str, str]

_CONSTANTS = {"NCCL_CONFIG_UNDEF_INT": str(-(2**31)), "INT64_MAX": str(2**63 - 1)}
_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Mult: operator.mul,
    ast.LShift: operator.lshift,
    ast.Add: operator.add,
    ast.Sub: operator.sub,
}
_READ = re.compile(
    r"(?:\w*[gG]et[eE]nv\w*|getEnvFunc)\s*\([^;]{0,60}?\"NCCL_[A-Z0-9_]+\"|ncclGetLevel\([^;]*\)"
)
_CTA_POLICY = re.compile(r"getEnvCtaPolicyOnce\(\)\s*\{")
_TYPED = re.compile(r"DEFINE_NCCL_PARAM\(\s*\w+\s*,\s*[\w: *]+?\s*,\s*(NCCL_\w+)\s*,\s*([^,]+),")
_NUMBER = re.compile(r"\bNCCL_PARAM\(\s*\w+\s*,\s*\"([A-Z0-9_]+)\"\s*,")


def git(clone: Path, *arguments: str) -> str:
    """Run git in the clone and return what it printed."""
    done = subprocess.run(["git", "-C", str(clone), *arguments], capture_output=True, check=False)
    return done.stdout.decode("utf-8", "replace")


def release_tags(clone: Path) -> list[tuple[tuple[int, ...], str]]:
    """Return `(release, tag)` of the 2.x releases, oldest first; a rebuild replaces its first."""
    tags = {}
    for tag in git(clone, "tag").split():
        if match := re.fullmatch(r"v(2)\.(\d+)\.(\d+)-(\d+)", tag):
            *release, build = (int(part) for part in match.groups())
            known = tags.get(tuple(release), (0, ""))
            tags[tuple(release)] = max(known, (build, tag))
    return [(release, tag) for release, (_, tag) in sorted(tags.items())]


def balanced(text: str, start: int) -> str:
    """Return the text from `start` to the bracket that closes the one before it."""
    depth = 1
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return " ".join(text[start:index].split())
    return ""


def evaluate(text: str) -> str:
    """Return the number that a default's C expression is, or the expression itself."""
    text = re.sub(r"/\*.*?\*/", "", text).strip()
    text = re.sub(r"\b(\d+)(?:LL|ULL|L|U)\b", r"\1", text)

    def value(node: ast.expr) -> int:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -value(node.operand)
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        raise ValueError(text)

    try:
        return str(value(ast.parse(_CONSTANTS.get(text, text), mode="eval").body))
    except (ValueError, SyntaxError):
        return text


def readers(clone: Path, tag: str) -> Iterator[tuple[str, Reader]]:
    """Yield `(name, (reader, default, file))` of one tag."""
    limit = re.search(
        r"#define MAXCHANNELS (\d+)",
        git(clone, "grep", "-h", "define MAXCHANNELS", tag, "--", "src"),
    )
    for line in git(clone, "grep", "-l", "NCCL_", tag, "--", "src").split():
        path = line.partition(":")[2]
        if not re.search(r"\.(cc|cu|h|cpp|cuh)$", path):
            continue
        text = re.sub(r"//[^\n]*", "", git(clone, "show", line))
        for match in _NUMBER.finditer(text):
            default = balanced(text, match.end())
            if default == "MAXCHANNELS" and limit:
                default = limit[1]
            yield f"NCCL_{match[1]}", ("number", evaluate(default), path)
        for match in _TYPED.finditer(text):
            yield match[1], ("typed", match[2].strip(), path)
        for match in _READ.finditer(text):
            for name in re.findall(r'"(NCCL_[A-Z0-9_]+)"', match.group()):
                yield name, ("text", "", path)
        if _CTA_POLICY.search(text):
            yield "NCCL_CTA_POLICY", ("text", "", path)


def harvest(clone: Path) -> dict[str, object]:
    """Return the table: name → spans `[since, reader, default, file]`, reader `""` = not read."""
    strength = {"text": 0, "typed": 1, "number": 2}
    spans: dict[str, list[list[str]]] = {}
    tags = release_tags(clone)
    for release, tag in tags:
        found: dict[str, Reader] = {}
        for name, reader in readers(clone, tag):
            if name not in found or strength[reader[0]] > strength[found[name][0]]:
                found[name] = reader
        since = ".".join(str(part) for part in release)
        for name in sorted({*found, *spans}):
            reader = found.get(name, ("", "", ""))
            history = spans.setdefault(name, [])
            if not history or tuple(history[-1][1:3]) != reader[:2]:
                history.append([since, *reader])
            history[-1][3] = reader[2]
    return {
        "source": "NVIDIA/nccl",
        "releases": [".".join(str(part) for part in release) for release, _ in tags],
        "variables": dict(sorted(spans.items())),
    }


def write(table: dict[str, object]) -> str:
    """Return the table as JSON with one variable a line, so that a diff reads well."""
    variables = table["variables"]
    assert isinstance(variables, dict)
    lines = [f"{json.dumps(name)}: {json.dumps(spans)}" for name, spans in variables.items()]
    head = ", ".join(
        f"{json.dumps(key)}: {json.dumps(table[key])}" for key in ("source", "releases")
    )
    return "{" + head + ',\n"variables": {\n' + ",\n".join(lines) + "\n}}"


if __name__ == "__main__":
    print(write(harvest(Path(sys.argv[1]))))
