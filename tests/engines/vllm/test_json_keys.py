"""What a tree says of the keys in its flags' JSON."""

from __future__ import annotations

from pathlib import Path

from specpreflight.engines.sglang.harvest.source_tree import SourceTree
from specpreflight.engines.vllm.harvest.json_keys import read_json_keys
from specpreflight.engines.vllm.knowledge import load

FILES = {
    "engine/arg_utils.py": """
from vllm.config.all import VllmConfig
class EngineArgs:
    @staticmethod
    def add_cli_args(parser):
        vllm_kwargs = get_kwargs(VllmConfig)
        group = parser.add_argument_group()
        group.add_argument("--open-config", "-oc", **vllm_kwargs["open_config"])
        group.add_argument("--shut-config", **vllm_kwargs["shut_config"])
        group.add_argument("--own-config", **vllm_kwargs["own_config"])
        group.add_argument("--free", **vllm_kwargs["free"])
""",
    "config/all.py": """
from pydantic import ConfigDict, model_validator
from pydantic.dataclasses import dataclass
@dataclass
class Inner:
    depth: int = 1
@dataclass
class Open:
    inner: Inner | None = None
@dataclass(config=ConfigDict(extra="forbid"))
class Shut:
    width: int = 1
    found: str = field(default="", init=False)
@dataclass(config=ConfigDict(extra="forbid"))
class Own:
    width: int = 1
    @model_validator(mode="before")
    def rename(cls, data): return data
@dataclass
class VllmConfig:
    open_config: Open | None = None
    shut_config: Shut = None
    own_config: Own = None
    free: dict[str, int] | None = None
""",
}


def test_a_tiny_tree(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / "vllm" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert read_json_keys(SourceTree(tmp_path / "vllm")) == {
        "--open-config": {
            "class": "Open",
            "extra": "ignore",
            "keys": ["inner"],
            "nested": {"inner": {"class": "Inner", "extra": "ignore", "keys": ["depth"]}},
        },
        "--shut-config": {"class": "Shut", "extra": "forbid", "keys": ["width"]},
    }


def test_all_classes_refuse_from_0_16() -> None:
    def refusing(release: str) -> set[str]:
        keys = load(release).json_keys
        return {flag for flag, about in keys.items() if about["extra"] == "forbid"}

    assert refusing("0.12.0") == set()
    assert refusing("0.15.1") == {"--compilation-config"}
    assert refusing("0.16.0") == load("0.16.0").json_keys.keys()
