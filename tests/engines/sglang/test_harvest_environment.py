"""The variables of a tree: declared in the registry, or read by name."""

from __future__ import annotations

import pytest
from engine_trees import write_tree

from specpreflight.engines.sglang.facts import UNKNOWN, EnvironmentVariable
from specpreflight.engines.sglang.harvest.environment import read_environment

_DIRECT = {
    "srt/utils.py": """
        def get_bool_env_var(name, default="false"):
            value = os.getenv(name, default).lower()
            truthy_values = ("true", "1")
            falsy_values = ("false", "0")
            return value in truthy_values
        """,
    "srt/configs/model_config.py": """
        def f():
            if get_bool_env_var("SGLANG_LONG", default="True"):
                pass
            get_bool_env_var("SGLANG_SHORT")
            x = int(os.environ.get("SGLANG_WORKERS", "4"))
            y = float(os.getenv("SGL_RATIO", 0.5))
            z = os.getenv("SGLANG_PATH")
            w = os.environ.get("SGLANG_ON", "0") == "1"
            v = os.environ.get("SGLANG_ANY", "no").lower() in ("1", "yes")
            u = get_int_env_var("SGLANG_COUNT")
            t = int(os.environ.get("SGLANG_CPUS", os.cpu_count()))
            os.getenv("HOME")
        """,
}
_REGISTRY = {
    "srt/environ.py": """
        class EnvField:
            def __init__(self, default): ...
        class EnvStr(EnvField): ...
        class EnvInt(EnvField): ...
        class EnvBool(EnvField):
            def parse(self, value):
                value = value.lower()
                if value in ["true", "1", "yes", "y"]:
                    return True
                if value in ["false", "0", "no", "n"]:
                    return False
                raise ValueError(value)
        class EnvBoolWithAlias(_Mixin, EnvBool): ...
        class Level:
            OFF = 0
        class Envs:
            SGLANG_LONG = EnvBool(False)
            SGLANG_NEW = EnvBoolWithAlias(True, deprecated_name="SGLANG_OLD")
            SGLANG_LEVEL = EnvInt(Level.OFF)
            SGLANG_HOME = EnvStr(expand("~"))
            SGLANG_ODD = Other(1)
        """,
}


def test_direct_reads(tmp_path):
    found = read_environment(write_tree(tmp_path, _DIRECT))
    source = "srt/configs/model_config.py"
    truth = {"truthy": ("true", "1"), "falsy": ("false", "0"), "on_other": "false"}
    expected = [
        EnvironmentVariable(
            "SGLANG_ANY", "bool", False, ("1", "yes"), on_other="false", source=source
        ),
        EnvironmentVariable("SGLANG_COUNT", "int", 0, source=source),
        EnvironmentVariable("SGLANG_CPUS", "int", UNKNOWN, on_other="raises", source=source),
        EnvironmentVariable("SGLANG_LONG", "bool", True, **truth, source=source),
        EnvironmentVariable("SGLANG_ON", "bool", False, ("1",), on_other="false", source=source),
        EnvironmentVariable("SGLANG_PATH", "str", None, source=source),
        EnvironmentVariable("SGLANG_SHORT", "bool", False, **truth, source=source),
        EnvironmentVariable("SGLANG_WORKERS", "int", 4, on_other="raises", source=source),
        EnvironmentVariable("SGL_RATIO", "float", 0.5, on_other="raises", source=source),
    ]
    assert [*found.values()] == expected


def test_the_registry_wins_over_direct_reads(tmp_path):
    found = read_environment(write_tree(tmp_path, {**_DIRECT, **_REGISTRY}))
    truth = {"truthy": ("true", "1", "yes", "y"), "falsy": ("false", "0", "no", "n")}
    assert found["SGLANG_LONG"] == EnvironmentVariable(
        "SGLANG_LONG", "bool", False, **truth, source="srt/environ.py"
    )
    assert found["SGLANG_NEW"].deprecated_name == "SGLANG_OLD"
    assert (found["SGLANG_LEVEL"].kind, found["SGLANG_LEVEL"].default) == ("int", 0)
    assert found["SGLANG_HOME"].default is UNKNOWN
    assert found["SGLANG_ODD"].kind == "other"


@pytest.mark.parametrize(
    ("text", "registry", "direct"),
    [
        (None, False, True),
        ("1", True, True),
        ("TRUE", True, True),
        ("yes", True, False),
        ("0", False, False),
        ("no", False, False),
        ("", False, False),
        (" 1", False, False),
        ("on", False, False),
    ],
)
def test_text_is_understood_as_the_reader_does(tmp_path, text, registry, direct):
    early = read_environment(write_tree(tmp_path / "early", _DIRECT))["SGLANG_LONG"]
    late = read_environment(write_tree(tmp_path / "late", _REGISTRY))["SGLANG_LONG"]
    assert (late.parse(text), early.parse(text)) == (registry, direct)


def test_numbers():
    lenient = EnvironmentVariable("A", "int", 3)
    strict = EnvironmentVariable("A", "int", 3, on_other="raises")
    assert (lenient.parse("7"), lenient.parse("x"), lenient.parse(None)) == (7, 3, 3)
    assert (strict.parse("7"), strict.parse("x"), strict.parse(None)) == (7, UNKNOWN, 3)
    assert EnvironmentVariable("A", "float", 0.5).parse("1e-1") == 0.1
    assert EnvironmentVariable("A", "tuple", ()).parse("a, b,,") == ("a", "b")
    assert EnvironmentVariable("A", "str").parse("x") == "x"
    assert EnvironmentVariable("A", "json").parse("{}") is UNKNOWN
