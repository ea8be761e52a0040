"""Each probe, on the two (or more) shapes that its function has had."""

from __future__ import annotations

import pytest
from engine_trees import write_tree

from specpreflight.engines.sglang.harvest.probes import PROBES, read_probes

_CONFIG = "srt/configs/model_config.py"
_ARGS = "srt/server_args.py"
_HOOK = "srt/arg_groups/speculative_hook.py"
_RUNNER = "srt/model_executor/model_runner.py"
_AUX = "srt/model_executor/model_runner_components/spec_aux_hidden_state.py"
_GRAPHS = "srt/model_executor/cuda_graph_runner.py"
_EAGLE3 = "srt/models/llama_eagle3.py"
_MLA_EAGLE3 = "srt/models/kimi_k25_eagle3.py"

_UTILITIES = """
    def get_bool_env_var(name, default="false"):
        truthy_values = ("true", "1")
        falsy_values = ("false", "0")
    """
#: 0.4.6.post5 to 0.4.10.post2: in the constructor, the variable is true by default.
_CHECK_EARLY = {
    "srt/utils.py": _UTILITIES,
    _CONFIG: """
        class ModelConfig:
            def __init__(self, context_length):
                if context_length is not None:
                    if context_length > derived_context_len:
                        if get_bool_env_var(
                            "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN", default="True"
                        ):
                            logger.warning("longer")
                            self.context_len = context_length
                        else:
                            raise ValueError("longer")
        """,
}
#: 0.5.1 and 0.5.2: still in the constructor, false by default, continuous integration counts.
_CHECK_MIDDLE = {
    "srt/utils.py": _UTILITIES,
    _CONFIG: """
        class ModelConfig:
            def __init__(self, context_length):
                if context_length is not None:
                    if context_length > derived_context_len:
                        if (
                            get_bool_env_var("SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN")
                            or is_in_ci()
                        ):
                            logger.warning(msg)
                        else:
                            raise ValueError(msg)
        """,
}
#: From 0.5.3: a method of its own, the registry's variable, the draft's config is rewritten.
_CHECK_LATE = {
    "srt/environ.py": """
        class Envs:
            SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN = EnvBool(False)
        """,
    _CONFIG: """
        class ModelConfig:
            def _derive_context_length(self, context_length):
                derived_context_len = get_context_length(self.hf_text_config)
                if context_length is not None:
                    if context_length > derived_context_len:
                        if (
                            envs.SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN.get()
                            or is_in_ci()
                        ):
                            logger.warning(msg)
                            if is_draft_model:
                                self.hf_text_config.max_position_embeddings = context_length
                        else:
                            raise ValueError(msg)
        """,
}
#: A user's patch of the last shape: the refusal became a warning.
_CHECK_PATCHED = {
    **_CHECK_LATE,
    _CONFIG: _CHECK_LATE[_CONFIG].replace("raise ValueError(msg)", "logger.error(msg)"),
}
#: Another patch: no variable is asked any more.
_CHECK_REMOVED = {
    _CONFIG: """
        class ModelConfig:
            def _derive_context_length(self, context_length):
                if context_length > derived_context_len:
                    logger.warning(msg)
        """,
}


@pytest.mark.parametrize(
    ("tree", "refuses", "ci", "rewrites", "variable"),
    [
        (_CHECK_EARLY, "warns", False, False, True),
        (_CHECK_MIDDLE, "refuses", True, False, True),
        (_CHECK_LATE, "refuses", True, True, True),
        (_CHECK_PATCHED, "warns", True, True, True),
        (_CHECK_REMOVED, "warns", False, False, False),
    ],
)
def test_context_check(tmp_path, tree, refuses, ci, rewrites, variable):
    found = read_probes(write_tree(tmp_path, tree))
    assert found["context.over-length"]["value"] == refuses
    assert found["context.ci-overrides"]["value"] is ci
    assert found["context.override-rewrites-draft"]["value"] is rewrites
    name = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
    assert found["context.override-variable"]["value"] == (name if variable else None)


def test_a_check_of_another_shape_is_unknown(tmp_path):
    text = "class ModelConfig:\n    def __init__(self, length):\n        check(length)\n"
    assert "context.over-length" not in read_probes(write_tree(tmp_path, {_CONFIG: text}))


_ORDER_EARLY = """
    CONTEXT_LENGTH_KEYS = ["model_max_length", "max_position_embeddings"]

    def get_hf_text_config(config):
        if config.architectures is not None:
            if config.architectures[0].startswith("Llava"):
                return config
        if hasattr(config, "text_config"):
            return config.text_config
        if hasattr(config, "language_config"):
            return config.language_config
        if hasattr(config, "thinker_config"):
            if hasattr(thinker_config, "text_config"):
                return thinker_config.text_config
        else:
            return config
    """
_ORDER_LATE = """
    def get_hf_text_config(config):
        for _attr in ("text_config", "llm_config"):
            if isinstance(_sub, dict):
                pass
        if hasattr(config, "thinker_config"):
            text_config = 1
        elif hasattr(config, "llm_config"):
            text_config = 2
        elif hasattr(config, "text_config"):
            text_config = 3
    """


def _eagle(condition: str) -> str:
    return f"""
        class ServerArgs:
            def _handle_speculative_decoding(self):
                if self.speculative_algorithm == "EAGLE":
                    if {condition}:
                        raise ValueError("speculative_eagle_topk > 1 with page_size > 1")
                if self.speculative_algorithm == "NGRAM":
                    if (
                        self.speculative_eagle_topk > 1
                        and self.page_size > 1
                        and self.attention_backend != "flashinfer"
                    ):
                        raise ValueError(f"speculative_eagle_topk({{self.x}}) > 1 is unstable")
        """


_PAGED = "self.speculative_eagle_topk > 1 and self.page_size > 1 and self.attention_backend"
_PAGES_ADJUSTED = """
    class ServerArgs:
        def __post_init__(self):
            if self.page_size > 1 and self.speculative_eagle_topk > 1:
                self.speculative_eagle_topk = 1
    """
_PAGES_HOOK = """
    def _handle_eagle_family(server_args):
        _BACKENDS = ("flashinfer", "fa3", "triton")
        if (
            cfg.speculative_eagle_topk > 1
            and view.page_size > 1
            and view.attention_backend not in _BACKENDS
        ):
            raise ValueError("only supported on")
    """
_OPTION = """
    class ServerArgs:
        def add_cli_args(parser):
            parser.add_argument("--speculative-algorithm", type=str{})
    """
_ALGORITHMS = """
    class SpeculativeAlgorithm(Enum):
        DFLASH = auto()
        EAGLE = auto()
        NONE = auto()

        def supports_mixed_chunk(self):
            return self in (SpeculativeAlgorithm.EAGLE, SpeculativeAlgorithm.DFLASH)
    """
_HOOK_LATE = """
    def _resolve_speculative_algorithm_alias(algorithm, path):
        cfg = get_config(path)

    def handle_speculative_decoding(server_args):
        if cfg.speculative_draft_model_path is not None and (
            cfg.speculative_draft_model_revision is None
        ):
            declare_resolution(server_args, speculative_draft_model_revision="main")
        declare_resolution(server_args, speculative_algorithm=cfg.speculative_algorithm.upper())
    """
_HOOK_MIDDLE = """
    class ServerArgs:
        def _handle_speculative_decoding(self):
            if self.speculative_draft_model_revision is None:
                self.speculative_draft_model_revision = "main"
            if self.enable_mixed_chunk:
                self.enable_mixed_chunk = False
                logger.warning("Mixed chunked prefill is disabled because of using eagle")
    """
_HOOK_EARLY = "class ServerArgs:\n    def __post_init__(self):\n        pass\n"
_PIPELINE_NONE = """
    class ServerArgs:
        def check_server_args(self):
            if self.pp_size > 1:
                assert (
                    self.disable_overlap_schedule and self.speculative_algorithm is None
                ), "Pipeline parallelism is not compatible with speculative decoding"
    """
_PIPELINE_SOME = """
    def check_pipeline_parallel_compat(cfg):
        assert cfg.disable_overlap_schedule, "Pipeline parallelism is not compatible"
        if cfg.speculative_algorithm == "DSPARK":
            assert cfg.disaggregation_mode == "prefill"
        elif cfg.speculative_algorithm is not None:
            assert cfg.speculative_algorithm.upper() == "EAGLE"
    """


def _runner(init: str, initialize: str) -> str:
    return f"""
        class ModelRunner:
            def __init__(self):
                self.start()
                {init}
            def initialize(self):
                self.load_model()
                self.init_device_graphs()
                {initialize}
        """


_READ = (
    "if self.spec_algorithm.is_eagle3() and not self.is_draft_worker: "
    "c = ModelConfig.from_server_args(s, is_draft_model=True)['eagle_aux_hidden_state_layer_ids']"
)
_AUX_WITH_PATH = """
    def resolve(server_args):
        if (spec.is_eagle() or spec.is_standalone()) and server_args.speculative_draft_model_path:
            config = ModelConfig.from_server_args(server_args, is_draft_model=True)
            ids = config["eagle_aux_hidden_state_layer_ids"], config.get("use_aux_hidden_state")
    """
_AUX_ALWAYS = """
    def resolve(server_args):
        if not ((spec.is_eagle() or spec.is_standalone()) and not is_draft_worker):
            return
        config = ModelConfig.from_server_args(server_args, is_draft_model=True)

    def resolve_dflash(server_args):
        if spec.is_dflash_family() and not is_draft_worker:
            config = ModelConfig.from_server_args(server_args, is_draft_model=True)
    """
_SCHEDULER_EARLY = """
    class Scheduler:
        def __init__(self):
            self.tp_worker = TpWorkerClass()
            self.draft_worker = EAGLEWorker()
    """
_SCHEDULER_LATE = """
    class Scheduler:
        def init_model_worker(self):
            self.init_tp_model_worker()
            self.maybe_init_draft_worker()
            self.init_memory_pools()
            self.init_all_cuda_graphs()
    """
_SCHEDULER_MIDDLE = """
    class Scheduler:
        def init_model_worker(self):
            self.init_tp_model_worker()
            self.maybe_init_draft_worker()
    """
_ONE_LAYER = """
    class LlamaForCausalLMEagle3:
        def __init__(self, config):
            if config.num_hidden_layers != 1:
                raise ValueError("EAGLE3 currently only supports 1 layer")
        def load_weights(self, weights):
            name = f"model.{name}"
    """
_LAYERS = """
    class LlamaForCausalLMEagle3:
        def __init__(self, config):
            pass
        def load_weights(self, weights):
            names = {"midlayer": "layers.0"}
    """


def _capture(file: str, class_: str, body: str) -> dict[str, str]:
    return {
        f"srt/models/{file}.py": f"""
            class {class_}:
                def set_eagle3_layers_to_capture(self, layer_ids=None):
                    {body}
            """
    }


def _deepseek(body: str) -> dict[str, str]:
    return _capture("deepseek_v2", "DeepseekV2ForCausalLM", body)


def _gpt_oss(body: str) -> dict[str, str]:
    return _capture("gpt_oss", "GptOssForCausalLM", body)


_BACKENDS_COMPARED = """
    class EAGLEWorker:
        def init_attention_backend(self):
            if self.server_args.attention_backend == "flashinfer":
                pass
            elif self.server_args.attention_backend == "fa3":
                pass
            else:
                raise ValueError(f"EAGLE is not supported in attention backend {self.x}")
    """
_BACKENDS_TABLES = """
    class DraftBackendFactory:
        def create_decode_backend(self):
            if self.speculative_num_steps <= 1:
                return None
            backend_map = {"triton": self._a, "fa3": self._b}
            return self._create(
                backend_map, "EAGLE is not supported in decode attention backend {backend_type}"
            )

        def create_draft_extend_backend(self):
            backend_map = {"triton": self._a}
            return self._create(
                backend_map, "EAGLE is not supported in attention backend {backend_type}"
            )
    """
_COMPARED = {"srt/speculative/eagle_worker.py": _BACKENDS_COMPARED}
_TABLES = {
    "srt/speculative/eagle_worker.py": "class EAGLEWorker: ...\n",
    "srt/speculative/draft_utils.py": _BACKENDS_TABLES,
}
_PLUS_ONE = "self.model.layers_to_capture = [val + 1 for val in layer_ids]"
_IDS = _runner("pass", _READ)
_BARE_CALL = "def capture(m):\n    m.set_eagle3_layers_to_capture()\n"
_CALL = "def capture(m):\n    m.set_eagle3_layers_to_capture(ids)\n"

_SHAPES = [
    (
        "context.text-config-order",
        {"srt/hf_transformers_utils.py": _ORDER_EARLY},
        ["text_config", "language_config", "thinker_config"],
    ),
    (
        "context.text-config-order",
        {"srt/utils/hf_transformers/common.py": _ORDER_LATE},
        ["thinker_config", "llm_config", "text_config"],
    ),
    (
        "context.length-keys",
        {"srt/hf_transformers_utils.py": _ORDER_EARLY},
        ["model_max_length", "max_position_embeddings"],
    ),
    ("context.length-keys", {"srt/utils/hf_transformers/common.py": _ORDER_LATE}, None),
    ("context.reserves-rope-cache", {_RUNNER: _runner("pass", "pass")}, False),
    (
        "context.reserves-rope-cache",
        {_RUNNER: _runner("pass", "reserve_rope_cache_for_long_sequences(m)")},
        True,
    ),
    ("arguments.topk-with-pages", {_ARGS: _PAGES_ADJUSTED}, "adjusts"),
    ("arguments.topk-with-pages", {_ARGS: _HOOK_EARLY}, "unchecked"),
    ("arguments.topk-with-pages", {_ARGS: _eagle(f"{_PAGED} != 'flashinfer'")}, ["flashinfer"]),
    (
        "arguments.topk-with-pages",
        {_ARGS: _eagle(f"{_PAGED} not in ['flashinfer', 'fa3']")},
        ["flashinfer", "fa3"],
    ),
    (
        "arguments.topk-with-pages",
        {_ARGS: "class ServerArgs: ...\n", _HOOK: _PAGES_HOOK},
        ["flashinfer", "fa3", "triton"],
    ),
    ("arguments.ngram-topk-with-pages", {_ARGS: _HOOK_EARLY}, "unchecked"),
    ("arguments.ngram-topk-with-pages", {_ARGS: _eagle("False")}, ["flashinfer"]),
    (
        "arguments.algorithms",
        {_ARGS: _OPTION.format(", choices=['EAGLE', 'NEXTN']")},
        ["EAGLE", "NEXTN"],
    ),
    (
        "arguments.algorithms",
        {_ARGS: _OPTION.format(""), "srt/speculative/spec_info.py": _ALGORITHMS},
        ["DFLASH", "EAGLE", "NEXTN"],
    ),
    ("arguments.algorithms-any-case", {_ARGS: _HOOK_EARLY}, False),
    ("arguments.algorithms-any-case", {_ARGS: _HOOK_EARLY, _HOOK: _HOOK_LATE}, True),
    ("arguments.hook-reads-draft", {_ARGS: _HOOK_EARLY}, False),
    ("arguments.hook-reads-draft", {_ARGS: _HOOK_EARLY, _HOOK: _HOOK_LATE}, True),
    ("arguments.draft-revision-default", {_ARGS: _HOOK_EARLY}, None),
    ("arguments.draft-revision-default", {_ARGS: _HOOK_MIDDLE}, "main"),
    ("arguments.draft-revision-default", {_HOOK: _HOOK_LATE}, "main"),
    ("arguments.mixed-chunk", {_ARGS: _HOOK_EARLY}, "untouched"),
    ("arguments.mixed-chunk", {_ARGS: _HOOK_MIDDLE}, []),
    ("arguments.mixed-chunk", {"srt/speculative/spec_info.py": _ALGORITHMS}, ["EAGLE", "DFLASH"]),
    ("arguments.spec-v2", {_ARGS: ""}, None),
    (
        "arguments.spec-v2",
        {_ARGS: "", "srt/environ.py": "class Envs:\n    SGLANG_ENABLE_SPEC_V2 = EnvBool(True)\n"},
        True,
    ),
    ("arguments.pipeline-parallel", {_ARGS: _PIPELINE_NONE}, []),
    (
        "arguments.pipeline-parallel",
        {"srt/arg_groups/validation_hook.py": _PIPELINE_SOME},
        ["DSPARK", "EAGLE"],
    ),
    ("workers.target-reads-draft", {_RUNNER: _runner("pass", "pass")}, "never"),
    ("workers.target-reads-draft", {_RUNNER: _IDS}, "after-graphs"),
    ("workers.target-reads-draft", {_RUNNER: _runner(_READ, "pass")}, "constructor"),
    (
        "workers.target-reads-draft",
        {_RUNNER: _runner("pass", "pass"), _AUX: _AUX_ALWAYS},
        "constructor",
    ),
    ("workers.target-reads-draft-for", {_RUNNER: _runner("pass", "pass")}, []),
    ("workers.target-reads-draft-for", {_RUNNER: _IDS}, ["EAGLE3"]),
    (
        "workers.target-reads-draft-for",
        {_RUNNER: _runner("pass", "pass"), _AUX: _AUX_WITH_PATH},
        ["EAGLE+path", "EAGLE3+path", "FROZEN_KV_MTP+path", "STANDALONE+path"],
    ),
    (
        "workers.target-reads-draft-for",
        {_RUNNER: _runner("pass", "pass"), _AUX: _AUX_ALWAYS},
        ["DFLASH", "DSPARK", "EAGLE", "EAGLE3", "FROZEN_KV_MTP", "STANDALONE"],
    ),
    ("workers.draft-weights", {"srt/managers/scheduler.py": _SCHEDULER_EARLY}, "after-graphs"),
    ("workers.draft-weights", {"srt/managers/scheduler.py": _SCHEDULER_MIDDLE}, "after-graphs"),
    ("workers.draft-weights", {"srt/managers/scheduler.py": _SCHEDULER_LATE}, "before-graphs"),
    ("backends.draft-decode", _COMPARED, ["fa3", "flashinfer"]),
    ("backends.draft-decode", _TABLES, ["fa3", "triton"]),
    ("backends.draft-extend", _COMPARED, ["fa3", "flashinfer"]),
    ("backends.draft-extend", _TABLES, ["triton"]),
    ("backends.one-step-needs-no-decode", _COMPARED, False),
    ("backends.one-step-needs-no-decode", _TABLES, True),
    ("eagle3.many-layers", {_EAGLE3: _ONE_LAYER}, False),
    ("eagle3.many-layers", {_EAGLE3: _LAYERS}, True),
    ("eagle3.norm-keys", {_EAGLE3: "x = config.hidden_size\n"}, []),
    (
        "eagle3.norm-keys",
        {_EAGLE3: "a = getattr(config, 'fc_norm', None)\nb = eagle_config.get('norm_before_fc')\n"},
        ["norm_before_fc", "fc_norm"],
    ),
    ("eagle3.mla-norm-keys", {_MLA_EAGLE3: "x = config.hidden_size\n"}, []),
    ("eagle3.mla-norm-keys", {_MLA_EAGLE3: "x = self.config.norm_output\n"}, ["norm_output"]),
    ("eagle3.layer-names", {_EAGLE3: _ONE_LAYER}, ["midlayer"]),
    ("eagle3.layer-names", {_EAGLE3: _LAYERS}, ["midlayer", "layers.N"]),
    ("eagle3.ids-read", {_RUNNER: _runner("pass", "pass")}, False),
    ("eagle3.ids-read", {_RUNNER: _IDS}, True),
    ("eagle3.ids-read", {_RUNNER: _runner("pass", "pass"), _AUX: _AUX_WITH_PATH}, True),
    ("eagle3.use-aux-hidden-state-read", {_RUNNER: _IDS}, False),
    (
        "eagle3.use-aux-hidden-state-read",
        {_RUNNER: _runner("pass", "pass"), _AUX: _AUX_WITH_PATH},
        True,
    ),
    (
        "eagle3.graphs-with-default-layers",
        {_RUNNER: _runner("pass", "pass"), _GRAPHS: _BARE_CALL},
        False,
    ),
    ("eagle3.graphs-with-default-layers", {_RUNNER: _IDS, _GRAPHS: _BARE_CALL}, True),
    ("eagle3.graphs-with-default-layers", {_RUNNER: _IDS, _GRAPHS: _CALL}, False),
    (
        "eagle3.deepseek-ids",
        {"srt/models/deepseek_v2.py": "class DeepseekV2ForCausalLM: ...\n"},
        "no-capture",
    ),
    ("eagle3.deepseek-ids", _deepseek(_PLUS_ONE), "plus-one"),
    (
        "eagle3.deepseek-ids",
        _deepseek(f"if layer_ids[0] == 1: {_PLUS_ONE}"),
        "plus-one-if-first-is-1",
    ),
    ("eagle3.deepseek-ids", _deepseek("self.ids = layer_ids"), None),
    ("eagle3.deepseek-ids", _deepseek(f"if layer_ids[0] == 3: {_PLUS_ONE}"), None),
    ("eagle3.gpt-oss-ids", {"srt/models/llama.py": ""}, "no-capture"),
    ("eagle3.gpt-oss-ids", _gpt_oss(_PLUS_ONE), "plus-one"),
    (
        "eagle3.gpt-oss-ids",
        _gpt_oss(f"x = 1 if max(layer_ids) == num_layers else 0; {_PLUS_ONE}"),
        "plus-one-unless-largest-is-layers",
    ),
]


@pytest.mark.parametrize(
    ("name", "files", "expected"),
    _SHAPES,
    ids=[f"{index}-{name}" for index, (name, _, _) in enumerate(_SHAPES)],
)
def test_probe(tmp_path, name, files, expected):
    answer = read_probes(write_tree(tmp_path, files)).get(name)
    if answer is None:
        assert expected is None
    else:
        assert answer["value"] == expected
        assert answer["source"].startswith("srt/")


def test_every_probe_is_tried_on_two_shapes():
    tried = [name for name, _, _ in _SHAPES]
    checked_above = {
        "context.over-length",
        "context.ci-overrides",
        "context.override-rewrites-draft",
        "context.override-variable",
    }
    assert {name for name in PROBES if tried.count(name) < 2} == checked_above


def test_probes_of_an_empty_tree_are_unknown(tmp_path):
    assert read_probes(write_tree(tmp_path, {"__init__.py": ""})) == {}
