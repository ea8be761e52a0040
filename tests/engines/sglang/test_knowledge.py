"""What is known of the releases: against recordings of the real ones, and at the flips."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from engine_trees import ARGPARSE_STYLE, write_tree

from specpreflight.engines.sglang.facts import UNKNOWN
from specpreflight.engines.sglang.harvest import checkout
from specpreflight.engines.sglang.knowledge import (
    Knowledge,
    knowledge_of,
    load,
    load_tree,
    release,
    releases,
)
from specpreflight.engines.sglang.releases import identify
from specpreflight.engines.sglang.tables import DATA

_GOLDEN = Path(__file__).parents[2] / "golden/sglang"
_ACTIONS = {
    "_StoreAction": "store",
    "_StoreTrueAction": "store_true",
    "BooleanOptionalAction": "boolean_optional",
}
_TYPES = {None: "str", "loads": "json"}


def _golden(name: str) -> dict[str, Any]:
    return json.loads((_GOLDEN / f"{name}.json").read_text())


@pytest.mark.parametrize("version", _golden("parsers"))
def test_options_are_those_of_the_real_parser(version):
    """`parsers.json` was recorded from the releases' own `ServerArgs.add_cli_args`."""
    flags = load(version).flags
    real = _golden("parsers")[version]
    assert [next((one for one in names.split() if one[:2] == "--"), names) for names in real] == [
        *flags
    ]
    for spellings, (class_, dest, nargs, default, choices, required, type_) in real.items():
        names = [name for name in spellings.split() if not name.startswith("--no-")] or [spellings]
        flag = load(version).options[names[0]]
        action = _ACTIONS.get(class_, class_)
        assert flag.action == action
        if action != "boolean_optional":
            assert sorted(flag.spellings) == sorted(spellings.split())
        assert (flag.dest, flag.required) == (dest, required)
        assert (list(flag.default) if isinstance(flag.default, tuple) else flag.default) == default
        assert type(flag.default) is type(default) or isinstance(default, list)
        known = None if flag.choices is None else sorted(map(str, flag.choices))
        assert known == (None if choices is None else sorted(map(str, choices)))
        if flag.type != "bool":
            assert flag.type == _TYPES.get(type_, type_)
            assert flag.nargs == nargs


@pytest.mark.parametrize("version", _golden("registries"))
def test_classes_are_those_of_the_real_registry(version):
    """`registries.json` was recorded from the releases' own `ModelRegistry`, with `hasattr`.

    Two classes need a process group at import and were not importable in the recording.
    """
    real = _golden("registries")[version]
    known = {name: found for name, found in load(version).classes.items() if not found.missing}
    unrecorded = {"TorchNativeLlamaForCausalLM", "TorchNativePhi3ForCausalLM"}
    assert known.keys() | unrecorded == real.keys() | unrecorded
    recorded = {
        "dflash_capture",
        "dspark_capture",
        "eagle3_capture",
        "get_embed_and_head",
        "set_embed",
        "set_embed_and_head",
    }
    for name, offers in real.items():
        assert sorted(known[name].offers & recorded) == offers, name


def test_every_release_is_complete():
    assert len(releases()) == len(set(releases())) >= 57
    assert releases()[0] == "0.4.6.post5"
    for version in releases():
        about = release(version)
        assert all((about.date, about.torch, about.transformers, about.nccl, about.kernel)), version
        knowledge = load(version)
        assert len(knowledge.flags) > 140
        assert knowledge.options["--tp-size"].dest in ("tensor_parallel_size", "tp_size")
        assert {"--speculative-algorithm", "--context-length"} <= knowledge.flags.keys()
        assert knowledge.classes["LlamaForCausalLMEagle3"].form == "eagle3"
        assert knowledge.automatic_parameters["*"] in ((5, 4, 8), (3, 1, 4))
        assert knowledge.draft_rewrites["DeepseekV3ForCausalLM"] == "DeepseekV3ForCausalLMNextN"
        assert "DeepseekV3ForCausalLM" in knowledge.draft_path_targets
        assert len([*knowledge.probes]) >= 24
        assert knowledge.config_classes.exact
        assert knowledge.config_classes.auto("llama").fields["max_position_embeddings"].has_default
        assert knowledge.assumed == frozenset()


def _flips(read: Any) -> list[tuple[str, Any]]:
    """Return the releases in which an answer changes, with the answer from there on."""
    found: list[tuple[str, Any]] = []
    for version in releases():
        answer = read(load(version))
        if not found or found[-1][1] != answer:
            found.append((version, answer))
    return found


_FIRST = "0.4.6.post5"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("context.over-length", [(_FIRST, "warns"), ("0.5.1", "refuses")]),
        ("context.ci-overrides", [(_FIRST, False), ("0.5.1", True)]),
        ("context.override-rewrites-draft", [(_FIRST, False), ("0.5.3", True)]),
        ("context.reserves-rope-cache", [(_FIRST, False), ("0.5.6", True)]),
        (
            "context.text-config-order",
            [
                (_FIRST, ("text_config", "language_config", "thinker_config")),
                ("0.5.4", ("text_config", "llm_config", "language_config", "thinker_config")),
                ("0.5.10", ("thinker_config", "llm_config", "language_config", "text_config")),
            ],
        ),
        (
            "arguments.topk-with-pages",
            [
                (_FIRST, "adjusts"),
                ("0.4.9", "unchecked"),
                ("0.5.2", ("flashinfer",)),
                ("0.5.6", ("flashinfer", "fa3")),
                ("0.5.13", ("flashinfer", "fa3", "triton")),
            ],
        ),
        ("arguments.hook-reads-draft", [(_FIRST, False), ("0.5.12", True)]),
        ("arguments.draft-revision-default", [(_FIRST, None), ("0.5.6", "main")]),
        (
            "arguments.spec-v2",
            [(_FIRST, None), ("0.5.4.post1", False), ("0.5.11", True), ("0.5.14", None)],
        ),
        (
            "arguments.pipeline-parallel",
            [(_FIRST, ()), ("0.5.20", ("EAGLE",)), ("0.5.21", ("DSPARK", "EAGLE"))],
        ),
        (
            "workers.target-reads-draft",
            [(_FIRST, "never"), ("0.4.9", "after-graphs"), ("0.5.8", "constructor")],
        ),
        ("workers.draft-weights", [(_FIRST, "after-graphs"), ("0.5.14", "before-graphs")]),
        ("eagle3.many-layers", [(_FIRST, False), ("0.5.12", True)]),
        ("eagle3.ids-read", [(_FIRST, False), ("0.4.9", True)]),
        (
            "eagle3.graphs-with-default-layers",
            [(_FIRST, False), ("0.4.9", True), ("0.5.11", False)],
        ),
        ("backends.one-step-needs-no-decode", [(_FIRST, False), ("0.5.3.post2", True)]),
        (
            "eagle3.gpt-oss-ids",
            [
                (_FIRST, "no-capture"),
                ("0.5.1", "plus-one"),
                ("0.5.17", "plus-one-unless-largest-is-layers"),
            ],
        ),
        (
            "eagle3.deepseek-ids",
            [
                (_FIRST, "no-capture"),
                ("0.5.4.post2", "plus-one"),
                ("0.5.13", "plus-one-if-first-is-1"),
            ],
        ),
    ],
)
def test_probes_flip_in_exactly_these_releases(name, expected):
    assert _flips(lambda knowledge: knowledge.probe(name)) == expected


def test_facts_flip_in_exactly_these_releases():
    variable = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
    assert _flips(lambda known: known.environment[variable].default) == [
        (_FIRST, True),
        ("0.5.1", False),
    ]
    assert _flips(lambda known: known.environment[variable].parse("yes")) == [
        (_FIRST, False),
        ("0.5.3", True),
    ]
    assert _flips(lambda known: known.automatic_parameters["*"]) == [
        (_FIRST, (5, 4, 8)),
        ("0.5.8", (3, 1, 4)),
    ]
    assert _flips(lambda known: "--speculative-draft-attention-backend" in known.flags) == [
        (_FIRST, False),
        ("0.5.7", True),
    ]
    kimi = "KimiK25ForConditionalGeneration"
    assert _flips(
        lambda known: kimi in known.classes and "eagle3_capture" in known.classes[kimi].offers
    ) == [(_FIRST, False), ("0.5.10", True)]
    assert _flips(lambda known: known.transformers.split(".")[0]) == [
        (_FIRST, "4"),
        ("0.5.6.post1", "5"),
        ("0.5.6.post2", "4"),
        ("0.5.10", "5"),
    ]


def test_since():
    knowledge = load("0.5.9")
    wanted = ["0.5.8.post1", "0.5.9rc1", "0.5.9", "0.5.9.post1", "0.5.10rc0", "0.5.10"]
    assert [knowledge.since(version) for version in wanted] == [True] * 3 + [False] * 3


def test_an_unknown_release_or_probe():
    with pytest.raises(KeyError):
        load("0.5.99")
    assert load("0.5.9").probe("no.such-probe") is UNKNOWN
    assert "NO_SUCH_VARIABLE" not in load("0.5.9").environment
    assert "@bool" not in load("0.5.9").environment


def test_config_classes_of_both_worlds():
    early, late = load("0.5.9").config_classes, load("0.5.23").config_classes
    for known, length, checked in ((early, 2048, None), (late, 2048, "int")):
        llama = known.get("LlamaConfig")
        assert llama.model_type == "llama"
        assert llama.fields["max_position_embeddings"] == (True, length, checked)
        assert llama.fields["architectures"].has_default
        assert known.get("Qwen3Config").fields["max_position_embeddings"].default == 32768
    assert not early.get("LlamaConfig").strict
    assert "validate_layer_type" in late.get("LlamaConfig").validators
    assert late.constant("ALLOWED_LAYER_TYPES")[0] == "full_attention"
    assert early.constant("_LEGACY_LAYER_TYPE_REMAP") is UNKNOWN
    assert early.auto("no-such-type") is None
    assert early.get("NoSuchConfig") is None
    assert early.get("LlamaConfig", "sglang") is None


def test_the_engines_own_config_classes():
    known = load("0.5.13").config_classes
    assert known.registry["kimi_k2"] == "_KimiK2ConfigAlias"
    alias = known.auto("kimi_k2")
    assert alias.origin == "sglang"
    assert alias.bases[0] == "DeepseekV3Config"
    assert alias.model_type == "kimi_k2"
    assert alias.fields["max_position_embeddings"].default == 4096
    assert known.registered["kimi_k25"] == "KimiK25Config"
    assert "qwen3_next" in known.model_types
    assert known.registry["qwen3_next"] == "Qwen3NextConfig"
    assert known.auto("qwen3_next").origin == "transformers"
    assert known.get("Qwen3NextConfig", "sglang").origin == "sglang"
    assert load("0.5.16").config_classes.registry["mellum"] == "transformers.MellumConfig"


def test_the_tables_stay_small_and_sorted():
    sizes = 0
    for path in DATA.glob("*.json"):
        entries = json.loads(path.read_bytes())
        assert [*entries] == sorted(entries), path.name
        sizes += path.stat().st_size
    assert sizes <= 1_500_000


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    reads = []
    original = checkout._read

    def counted(root):
        reads.append(root)
        return original(root)

    monkeypatch.setattr(checkout, "_read", counted)
    return reads


_CONTEXT = """
    class ModelConfig:
        def _derive_context_length(self, context_length):
            if context_length > derived_context_len:
                if envs.SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN.get():
                    logger.warning(msg)
                else:
                    raise ValueError(msg)
    """
_TREE = {
    **ARGPARSE_STYLE,
    "version.py": '__version__ = "0.5.9"',
    "srt/environ.py": """
        class EnvBool:
            def parse(self, value):
                if value in ["true", "1"]: return True
                raise ValueError()
        class Envs:
            SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN = EnvBool(False)
            SGLANG_MINE = EnvBool(True)
        """,
    "srt/configs/model_config.py": _CONTEXT,
}


def _known(folder: Path) -> Knowledge:
    return knowledge_of(identify(str(folder)))


def test_a_tree_answers_for_itself(tmp_path, cache):
    write_tree(tmp_path / "tree", _TREE)
    known = _known(tmp_path / "tree")
    assert (known.version, known.nearest, known.transformers) == ("0.5.9", "0.5.9", "4.57.1")
    assert known.probe("context.over-length") == "refuses"
    assert "--when" in known.flags
    assert "--lora-paths" not in known.flags
    assert known.environment["SGLANG_MINE"].default is True


def test_what_a_tree_does_not_answer_is_the_nearest_releases(tmp_path, cache):
    write_tree(tmp_path / "tree", _TREE)
    known = _known(tmp_path / "tree")
    assert {"classes", "probes.workers.draft-weights"} <= known.assumed
    assert not {"flags", "probes.context.over-length", "environment"} & known.assumed
    assert known.probe("workers.draft-weights") == "after-graphs"
    assert "KimiK25ForConditionalGeneration" in known.classes
    assert known.since("0.5.9")
    assert not known.since("0.5.10")


def test_a_local_patch_of_the_context_check_changes_the_answer(tmp_path, cache):
    write_tree(tmp_path / "tree", _TREE)
    assert _known(tmp_path / "tree").probe("context.over-length") == "refuses"
    path = tmp_path / "tree/sglang/srt/configs/model_config.py"
    path.write_text(path.read_text().replace("raise ValueError(msg)", "logger.warning(msg)"))
    assert _known(tmp_path / "tree").probe("context.over-length") == "warns"


def test_a_process_gets_the_same_knowledge_until_the_tree_changes(tmp_path, cache):
    tree = write_tree(tmp_path / "tree", _TREE)
    assert _known(tmp_path / "tree") is _known(tmp_path / "tree")
    before = _known(tmp_path / "tree")
    os.utime(tree.root / "srt/environ.py", ns=(1, 1))
    assert _known(tmp_path / "tree") is not before


def test_a_tree_is_read_once_until_it_changes(tmp_path, cache):
    tree = write_tree(tmp_path / "tree", _TREE)
    for _ in range(2):
        assert "--when" in _known(tmp_path / "tree").flags
    assert len(cache) == 1
    os.utime(tree.root / "srt/environ.py", ns=(1, 1))
    _known(tmp_path / "tree")
    assert len(cache) == 2
    (tree.root / "srt/configs/extra.py").write_text("")
    _known(tmp_path / "tree")
    assert len(cache) == 3
    (tree.root / "srt/configs/extra.py").unlink()
    _known(tmp_path / "tree")
    _known(tmp_path / "tree")
    assert len(cache) == 4


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"stamps": 1}', b'{"stamps": {}}'])
def test_a_broken_cache_is_read_over(tmp_path, cache, content, monkeypatch):
    write_tree(tmp_path / "tree", _TREE)
    _known(tmp_path / "tree")
    monkeypatch.setattr("specpreflight.engines.sglang.harvest.cache._READ", {})
    for path in (tmp_path / "cache/specpreflight/sglang").iterdir():
        path.write_bytes(content)
    assert _known(tmp_path / "tree").probe("context.over-length") == "refuses"
    assert len(cache) == 2


def test_another_process_reads_the_cache(tmp_path, cache, monkeypatch):
    write_tree(tmp_path / "tree", _TREE)
    first = _known(tmp_path / "tree")
    monkeypatch.setattr("specpreflight.engines.sglang.harvest.cache._READ", {})
    second = _known(tmp_path / "tree")
    assert len(cache) == 1
    assert second is not first
    assert (second.flags, second.assumed) == (first.flags, first.assumed)


def test_a_cache_that_cannot_be_written_does_not_matter(tmp_path, cache, monkeypatch):
    write_tree(tmp_path / "tree", _TREE)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert _known(tmp_path / "tree").probe("context.over-length") == "refuses"


def test_the_transformers_that_is_installed_beside_a_tree_counts(tmp_path, cache):
    tree = write_tree(tmp_path / "tree", _TREE)
    (tmp_path / "tree/transformers-5.3.5.dist-info").mkdir()
    known = load_tree(tree.root, "0.5.9")
    assert known.transformers == "5.3.5"
    assert (known.config_classes.transformers, known.config_classes.exact) == ("5.3.0", False)


@pytest.mark.parametrize("version", ["0.4.9.post6", "0.5.9", "0.5.16", "0.5.23"])
def test_real_trees_give_what_the_tables_say(version, tmp_path, cache):
    """`SPECPREFLIGHT_TREES` names a folder with unpacked wheels, `VERSION/sglang`."""
    trees = os.environ.get("SPECPREFLIGHT_TREES")
    if not trees:
        pytest.skip("SPECPREFLIGHT_TREES is not set")
    known, released = _known(Path(trees) / version), load(version)
    assert known.flags == released.flags
    assert known.draft_rewrites == released.draft_rewrites
    assert {name: known.probe(name) for name in released.probes} == {
        name: released.probe(name) for name in released.probes
    }
    assert {name: found._replace(missing=None) for name, found in released.classes.items()} == dict(
        known.classes
    )
