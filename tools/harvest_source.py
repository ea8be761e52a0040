"""Harvest the engine's configuration code: what a check evaluates, as text, per release.

    tools/harvest_source.py --sglang FOLDER --transformers FOLDER [--only PREFIX]

Each folder holds one unpacked wheel a release, named by it. Writes
`src/specpreflight/engines/sglang/data/source/`: one file a module, each function once with the
releases it holds in. Run it again with one more folder to add a release.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from specpreflight.engines.source.bundle import MODEL_CLASSES, RELEASES, write_module
from specpreflight.engines.source.closure import Closure
from specpreflight.engines.source.modules import STRINGS, Module, TreeSources

DATA = Path(__file__).parents[1] / "src/specpreflight/engines/sglang/data/source"

#: Where a check starts to evaluate SGLang.
SGLANG_ROOTS = (
    "sglang.srt.configs.model_config.ModelConfig",
    "sglang.srt.configs.model_config.AttentionArch",
    "sglang.srt.configs.model_config.get_config",
    "sglang.srt.models.registry._ModelRegistry",
    "sglang.srt.speculative.dflash_utils.parse_dflash_draft_config",
    "sglang.srt.model_loader.utils.get_model_architecture",
    "sglang.srt.utils.hf_transformers.config.HfModelConfigParser",
    "sglang.srt.utils.hf_transformers.config.MistralModelConfigParser",
    "sglang.srt.utils.hf_transformers_patches._patch_rope_parameters_validation",
    "sglang.srt.utils.hf_transformers_patches._patch_layer_types_validation",
    "sglang.srt.utils.hf_transformers_patches._patch_nemotron_h_pattern",
    "sglang.srt.utils.transformers_v54_compat._patch_rope_parameters_validation",
)

#: Where it goes on in transformers, beside the configuration modules.
TRANSFORMERS_ROOTS = (
    "transformers.configuration_utils.PretrainedConfig",
    "transformers.configuration_utils.PreTrainedConfig",
    "transformers.configuration_utils.layer_type_validation",
    "transformers.modeling_rope_utils.rope_config_validation",
    "transformers.models.auto.configuration_auto.AutoConfig",
    "transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES",
    "transformers.models.auto.configuration_auto.model_type_to_module_name",
    "transformers.dynamic_module_utils.resolve_trust_remote_code",
)

#: Modules that are worth following, as prefixes of dotted names.
FOLLOWED = (
    "sglang.srt.configs.",
    "sglang.srt.hf_transformers_utils.",
    "sglang.srt.utils.hf_transformers",
    "sglang.srt.utils.transformers_v54_compat.",
    "sglang.srt.layers.quantization.",
    "sglang.srt.model_loader.utils.",
    "sglang.srt.models.registry.",
    "sglang.utils.is_in_ci",
    "sglang.test.test_utils.is_in_ci",
    "sglang.srt.speculative.dflash_utils.",
    "sglang.srt.speculative.dspark_components.dspark_config.",
    "transformers.configuration_utils.",
    "transformers.modeling_rope_utils.",
    "transformers.models.auto.configuration_auto.",
    "transformers.models.auto.auto_mappings.",
    "transformers.dynamic_module_utils.resolve_trust_remote_code",
    "transformers.dynamic_module_utils.TIME_OUT_REMOTE_CODE",
    "transformers.dynamic_module_utils._raise_timeout_error",
    "transformers.integrations.heterogeneity",
    "transformers.utils.type_validators.",
    "transformers.generation.configuration_utils.GenerationConfig",
)
_CONFIG_MODULE = re.compile(r"transformers\.models\.\w+\.configuration_\w+\.")
_SMALL_HELPERS = re.compile(
    r"sglang\.srt\.utils(\.common)?\.(get_bool_env_var|get_int_env_var|lru_cache_frozenset|\*)$"
)

#: Methods that no reading of a config calls.
UNUSED_METHODS = frozenset(
    {
        "to_dict", "to_diff_dict", "to_json_string", "to_json_file", "save_pretrained",
        "push_to_hub", "from_json_file", "_dict_from_json_file", "update_from_string",
        "dict_torch_dtype_to_str", "dict_dtype_to_str", "register_for_auto_class", "__repr__",
        "__eq__", "__hash__", "__len__", "_get_config_dict", "_remove_keys_not_serialized",
        "_get_generation_parameters", "_get_non_default_generation_parameters",
        "_encode_special_floats", "_decode_special_floats",
        "get_default_sampling_params", "_maybe_pull_model_tokenizer_from_remote_",
        "__init_subclass__", "mamba2_cache_params",
        "mamba_chunk_size", "from_text_vision_configs", "from_sub_models_config", "generate",
        "inputs", "outputs", "import_model_classes", "outputs_to_dict", "__reduce__",
        "get_mtp_config", "from_text_audio_configs", "get_total_num_kv_heads", "get_num_kv_heads",
        "get_swa_num_kv_heads", "get_quantization_config_log_str", "get_max_num_attention_heads",
        "get_num_attention_heads", "get_total_num_attention_heads", "is_remote_code",
    }
)  # fmt: skip
_QUANTIZATION_METHOD = re.compile(
    r".*override_quantization_method|get_name|get_min_capability|.*compatible.*|_?is_.*"
)
_PLANS = re.compile(r"^(base_model_\w+_plan|keys_to_ignore_at_inference|_tp_plan)$")


def is_followed(dotted: str) -> bool:
    """Return whether a name belongs to the code that a check evaluates."""
    if _CONFIG_MODULE.match(dotted) or _SMALL_HELPERS.match(dotted):
        return True
    return dotted.startswith(FOLLOWED) and not dotted.startswith("sglang.srt.configs.load_config")


def is_method_wanted(module: str, owner: str, method: str) -> bool:
    """Return whether a method may be called while a config is read."""
    if module == "transformers.generation.configuration_utils":
        return "default_generation" in method
    if method in ("__getattribute__", "__setattr__"):
        return module != "transformers.configuration_utils"  # the evaluator's own, with aliases
    if ".layers.quantization" in module:
        return bool(_QUANTIZATION_METHOD.fullmatch(method))
    return method not in UNUSED_METHODS


def config_modules(sources: TreeSources, tree: Path) -> Iterator[str]:
    """Yield the configuration classes of language models: all that transformers can generate with,
    and all that some SGLang release takes its config from."""
    text = (tree / "transformers/models/auto/modeling_auto.py").read_text(encoding="utf-8")
    wanted = set()
    for mapping in re.findall(
        r"MODEL_FOR_(?:CAUSAL_LM|IMAGE_TEXT_TO_TEXT|VISION_2_SEQ|SPEECH_SEQ_2_SEQ)_MAPPING_NAMES"
        r"\s*=\s*OrderedDict\((.*?)\n\)",
        text,
        re.S,
    ):
        wanted.update(re.findall(r'\(\s*"([\w.-]+)"', mapping))
    for module in sorted((tree / "transformers/models").glob("*/configuration_*.py")):
        name = module.parent.name
        if name in wanted or name.replace("_", "-") in wanted or name in _ALSO:
            parsed = sources.module(f"transformers.models.{name}.{module.stem}")
            if parsed is not None:
                yield from (
                    f"{parsed.name}.{bound}"
                    for bound in parsed.definitions
                    if bound.endswith("Config")
                )


#: Models that SGLang serves but transformers does not list as generating.
_ALSO = frozenset(
    {
        "bert", "clip", "dbrx", "deepseek_v2", "deepseek_v3", "gemma3", "gemma3n", "llama4",
        "mllama", "mpt", "pixtral", "qwen2_5_omni", "qwen2_audio", "qwen3_omni_moe", "qwen3_vl",
        "qwen3_vl_moe", "siglip", "xlm_roberta", "siglip2", "whisper",
    }
)  # fmt: skip


def definitions_of(tree: Path, package: str) -> dict[str, dict[str, str]]:
    """Return module → definition → text for everything a check may evaluate of one release."""
    sources = TreeSources(**{package: tree})
    closure = Closure(sources, is_followed, is_method_wanted)
    if package == "sglang":
        for root in SGLANG_ROOTS:
            closure.add(root)
    else:
        for root in (*TRANSFORMERS_ROOTS, *config_modules(sources, tree)):
            closure.add(root)
    found: dict[str, dict[str, str]] = {}
    for (module, key), definition in closure.found.items():
        for statement in definition.statements:
            if isinstance(statement, ast.ClassDef):
                _trim(statement)
        found.setdefault(module, {})[key] = definition.source
    for name, module in closure.modules.items():
        found[name].update(_markers(module))
    return found


def _markers(module: Module) -> Iterator[tuple[str, str]]:
    if module.strings:
        yield STRINGS, ""
    if module.package == module.name:
        yield "", ""


def _trim(statement: ast.ClassDef) -> None:
    statement.body = [
        inner
        for inner in statement.body
        if not (
            isinstance(inner, (ast.Assign, ast.AnnAssign))
            and isinstance(inner.value, ast.Dict)
            and _PLANS.match(ast.unparse(inner).split("=")[0].split(":")[0].strip())
        )
    ] or [ast.Pass()]


_CLASS = re.compile(r"^class (\w+)\(([^)]*)\):\n((?:[ \t].*\n|\n)*)", re.M)
_EXPORTS = re.compile(r"^__all__ = (?:\[|\()(.*?)(?:\]|\))", re.M | re.S)
_SUPPORTS = re.compile(r"^    _supports_attention_backend = (True|False)", re.M)


def model_classes(tree: Path) -> dict[str, str]:
    """Return the model classes that transformers exports: name → whether other engines may use it.

    That is `is_backend_compatible()`, the class attribute `_supports_attention_backend`.
    """
    stated: dict[str, str] = {}
    bases: dict[str, list[str]] = {}
    exported: set[str] = set()
    for path in sorted((tree / "transformers/models").glob("*/modeling_*.py")):
        text = path.read_text(encoding="utf-8")
        for names in _EXPORTS.findall(text):
            exported.update(re.findall(r"\w+", names))
        for name, inherited, body in _CLASS.findall(text):
            bases[name] = re.findall(r"\w+", inherited)
            if found := _SUPPORTS.search(body):
                stated[name] = found.group(1)

    def supports(name: str, depth: int = 0) -> str:
        if name in stated or depth > 20:
            return stated.get(name, "False")
        answers = [supports(base, depth + 1) for base in bases.get(name, []) if base in bases]
        return "True" if "True" in answers else "False"

    return {name: supports(name) for name in sorted(exported & bases.keys())}


def main() -> None:
    """Write the bundle."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sglang", type=Path, action="append", default=[])
    parser.add_argument("--transformers", type=Path, action="append", default=[])
    options = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    listed = DATA / RELEASES
    releases = json.loads(listed.read_text()) if listed.exists() else {}
    for package in ("sglang", "transformers"):
        trees = {
            folder.name: folder
            for parent in getattr(options, package)
            for folder in parent.iterdir()
            if (folder / package).is_dir()
        }
        if not trees:
            continue
        order = sorted(trees, key=Version)
        harvested = {release: definitions_of(trees[release], package) for release in order}
        for stale in DATA.glob(f"{package}.*.json"):
            stale.unlink()
        for module in sorted({name for found in harvested.values() for name in found}):
            write_module(
                DATA, module, {release: harvested[release].get(module, {}) for release in order}
            )
        if package == "transformers":
            classes = {release: model_classes(trees[release]) for release in order}
            write_module(DATA, MODEL_CLASSES, classes)
        releases[package] = order
        print(package, len(order), "releases")
    listed.write_text(json.dumps(releases, indent=1) + "\n")


if __name__ == "__main__":
    main()
