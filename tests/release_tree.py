"""A tree of a release as its source tells it: every option, and the code that reads configs.

Written from what is shipped of the release, so that a test can change a line of it as a commit of
the engine would.
"""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import indent

from specpreflight.engines.sglang.facts import UNKNOWN, Flag
from specpreflight.engines.sglang.knowledge import load
from specpreflight.engines.sglang.launch_source import BUNDLE
from specpreflight.engines.sglang.release_facts import releases

ARGUMENTS = "srt/server_args.py"
MODEL_CONFIG = "srt/configs/model_config.py"


def release_files(release: str) -> dict[str, str]:
    """Return path below the package → text."""
    files = {ARGUMENTS: _arguments(release)}
    for path in BUNDLE.glob("sglang.*.json"):
        definitions = _texts(path, release)
        if definitions:
            name = path.stem.removeprefix("sglang.").replace(".", "/")
            is_package = definitions.pop("", None) is not None
            files[f"{name}/__init__.py" if is_package else f"{name}.py"] = _module(definitions)
    return files


def _texts(path: Path, release: str) -> dict[str, str]:
    position = {version: at for at, version in enumerate(releases())}
    at = position[release]
    return {
        key: text
        for key, runs in json.loads(path.read_bytes()).items()
        for since, before, text in runs
        if position[since] <= at and (before is None or at < position[before])
    }


def _module(definitions: dict[str, str]) -> str:
    strings = "from __future__ import annotations"
    parts = [strings] if definitions.pop(strings, None) is not None else []
    methods: dict[str, list[str]] = {}
    for key in [key for key in definitions if "." in key.partition("#")[0]]:
        methods.setdefault(key.partition(".")[0], []).append(definitions.pop(key))
    for key in sorted(
        definitions, key=lambda key: (_rank(definitions[key]), key.partition("#")[2])
    ):
        body = "".join(f"\n{indent(text, '    ')}" for text in methods.get(key, ()))
        parts.append(definitions[key] + body)
    return "\n".join(parts) + "\n"


def _rank(text: str) -> int:
    return 0 if text.startswith(("from ", "import ")) else 1


def _arguments(release: str) -> str:
    options = "\n        ".join(_option(flag) for flag in load(release).flags.values())
    head = "class ServerArgs:\n    @staticmethod\n    def add_cli_args(parser):\n        "
    return f"{head}{options}\n"


def _option(flag: Flag) -> str:
    words = [repr(name) for name in flag.spellings] + [f"dest={flag.dest!r}"]
    if flag.action in ("store_true", "store_false"):
        return f"parser.add_argument({', '.join([*words, f'action={flag.action!r}'])})"
    if flag.type in ("int", "float", "str"):
        words.append(f"type={flag.type}")
    if flag.nargs is not None:
        words.append(f"nargs={flag.nargs!r}")
    if flag.choices not in (None, UNKNOWN):
        words.append(f"choices={list(flag.choices)!r}")
    if flag.default is not UNKNOWN:
        words.append(f"default={flag.default!r}")
    return f"parser.add_argument({', '.join(words)})"
