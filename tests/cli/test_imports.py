"""A local check stays light: what it must not import, and what it never opens."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "kimi-k2.5-eagle3"

#: DESIGN's budget table, and what else a check has no use for.
FORBIDDEN = (
    "asyncio", "huggingface_hub", "httpx", "requests", "urllib3", "importlib.metadata", "yaml",
    "ruamel", "torch", "transformers", "sglang", "pydantic", "rich", "fsspec",
)  # fmt: skip

#: Readers of what this launch has none of: env files, weights, NCCL's variables and files, a
#: command, an engine's tree, sizes with a suffix.
UNUSED = (
    "decimal", "specpreflight.engines.sglang.loaders", "specpreflight.models.command",
    "specpreflight.models.loader_report", "specpreflight.models.nccl",
    "specpreflight.sources.env_file", "specpreflight.sources.launch_command",
    "specpreflight.sources.nccl_conf", "specpreflight.sources.safetensors_headers",
)  # fmt: skip


def imported(*words: str) -> set[str]:
    code = (
        "import json, sys\n"
        "from specpreflight.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return set(json.loads(ran.stderr.splitlines()[-1]))


@pytest.mark.parametrize(
    "options",
    [("--format", "json"), ("--format", "text"), ("--fix", "--select-fix", "rope-theta-differs")],
)
def test_local_check(options: tuple[str, ...]) -> None:
    modules = imported("check", str(EXAMPLE / "target"), str(EXAMPLE / "draft"), *options)
    assert not modules & {*FORBIDDEN, *UNUSED}


@pytest.mark.parametrize("engine", ["sglang@0.5.11", "vllm@0.11.0"])
@pytest.mark.parametrize("form", ["json", "text"])
def test_a_check_that_only_tells_loads_no_openssl(form: str, engine: str) -> None:
    paths = (str(EXAMPLE / "target"), str(EXAMPLE / "draft"))
    modules = imported("check", *paths, "--engine", engine, "--format", form)
    assert not modules & {"difflib", "hashlib", "random", "tempfile"}


def test_vllm_compares_no_versions_with_a_library() -> None:
    paths = (str(EXAMPLE / "target"), str(EXAMPLE / "draft"))
    assert "packaging" not in imported("check", *paths, "--engine", "vllm@0.11.0")


def test_without_a_configuration_none_of_it_is_loaded() -> None:
    modules = imported("check", str(EXAMPLE / "target"), str(EXAMPLE / "draft"))
    assert not modules & {
        "tomllib",
        "specpreflight.models.policy",
        "specpreflight.sources.configuration",
    }


def test_engine_that_is_not_asked_for_is_not_loaded() -> None:
    modules = imported("check", str(EXAMPLE / "target"), str(EXAMPLE / "draft"))
    assert not any(name.startswith("specpreflight.engines.vllm") for name in modules)


def test_colour_imports_rich_and_nothing_else_of_these() -> None:
    modules = imported(
        "check", str(EXAMPLE / "target"), str(EXAMPLE / "draft"), "--color", "always"
    )
    assert modules & set(FORBIDDEN) == {"rich"}


def test_version_imports_neither_rules_nor_engines() -> None:
    modules = {name for name in imported("--version") if name.startswith("specpreflight")}
    assert modules == {"specpreflight", "specpreflight.cli", "specpreflight.errors"}
