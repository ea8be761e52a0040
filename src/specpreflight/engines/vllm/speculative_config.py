"""Restates vLLM's `SpeculativeConfig(...)`: method, draft, tokens, lengths, parallel sizes.

vLLM `config/speculative.py:SpeculativeConfig.__post_init__` (`config/__init__.py` up to 0.10.2),
in the order in which it runs. A refusal is recorded and the rest is restated with the values that
are known, so that one run finds everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from specpreflight.engines.vllm import draft_length, method_detection, method_rules
from specpreflight.engines.vllm.draft_wrapping import wrap
from specpreflight.engines.vllm.hf_reading import ConfigReading
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.engines.vllm.model_config import Model, Wanted, build_model
from specpreflight.engines.vllm.options import Options
from specpreflight.engines.vllm.record import Record, engine_value, speculative_value
from specpreflight.engines.vllm.speculation import WITHOUT_DRAFT, Speculation
from specpreflight.engines.vllm.speculative_keys import Keys, validate
from specpreflight.models.checkpoint import Checkpoint
from specpreflight.models.finding import Outcome, Stage

_POST_INIT = "config/speculative.py:SpeculativeConfig.__post_init__"


def build_speculation(
    record: Record,
    knowledge: Knowledge,
    reading: ConfigReading,
    given: Mapping[str, Any],
    options: Options,
    target: Model,
    checkpoint: Checkpoint | None,
) -> Speculation:
    """Return the speculative config of a launch; refusals and adjustments go into `record`.

    Args:
        record: what the engine does so far.
        knowledge: of the release.
        reading: reads the configs of this launch.
        given: the JSON object of `--speculative-config`.
        options: the other engine arguments.
        target: the target's model.
        checkpoint: the draft that the JSON names, `None` where it names none.
    """
    keys = validate(given, knowledge)
    _report_keys(record, keys)
    found = Speculation(keys, path=keys.get("model"), num_tokens=keys.get("num_speculative_tokens"))
    found.parallel = bool(keys.get("parallel_drafting"))
    chosen = method_detection.before_draft(keys.get("method"), found.path, knowledge)
    found.method = chosen.name
    record.resolve("method", chosen.name, chosen.reason)
    quantization = keys.get("quantization")
    if found.path is None and found.num_tokens is not None:
        quantization = _default_model(record, knowledge, found, target, quantization)
    since = WITHOUT_DRAFT.get(found.method or "")
    if since is not None and knowledge.since(since):
        method_rules.check_without_draft(record, knowledge, found, target)
    elif found.path is not None:
        source = _draft_checkpoint(found.path, checkpoint, target)
        if source is None:
            record.unknown.append(("draft", f"`{found.path}` was not read"))
        else:
            _with_draft(record, knowledge, reading, found, options, target, source, quantization)
    method_rules.check_after(record, knowledge, found)
    method_rules.verify_arguments(record, knowledge, found, options, target)
    record.resolve(
        "num_speculative_tokens", found.num_tokens, _token_reason(keys, found.num_tokens)
    )
    return found


def _report_keys(record: Record, keys: Keys) -> None:
    for problem in keys.problems:
        unknown = problem.text == "Unexpected keyword argument"
        record.refuse(
            "arguments.speculative-key-unknown"
            if unknown
            else "arguments.speculative-value-invalid",
            Stage.ARGUMENTS,
            problem.message[:100],
            text=problem.text,
            source="config/speculative.py:SpeculativeConfig",
            values=(speculative_value(problem.key, keys.given.get(problem.key)),),
            facts={"key": problem.key, "suggestion": problem.suggestion},
        )
    for ignored in keys.ignored:
        record.add(
            "arguments.speculative-key-ignored",
            Outcome.DEGRADES,
            Stage.ARGUMENTS,
            f"vLLM drops the unknown key `{ignored.key}` of the speculative config without a word",
            source="config/speculative.py:SpeculativeConfig",
            values=(speculative_value(ignored.key, keys.given.get(ignored.key)),),
            facts={"key": ignored.key, "suggestion": ignored.suggestion},
        )


def _default_model(
    record: Record,
    knowledge: Knowledge,
    found: Speculation,
    target: Model,
    quantization: str | None,
) -> str | None:
    """Fill `model` where only tokens are given; return the quantisation that goes with it."""
    method = found.method
    if _uses_target_weights(method, target, knowledge):
        found.path = target.path
        inherits = knowledge.since("0.10.2")
        return quantization or (target.quantization if inherits else None)
    since = WITHOUT_DRAFT.get(method or "")
    if since is not None and knowledge.since(since) and method != "custom_class":
        found.path = method
        return quantization
    if method == "custom_class" and knowledge.since("0.22.0"):
        text = (
            "method='custom_class' requires 'model' to contain the custom proposer module path "
            "(e.g., 'my_module.MyProposer')."
        )
    elif knowledge.since("0.11.0"):
        text = "num_speculative_tokens was provided but without speculative model."
    else:
        text = "num_speculative_tokens was provided without speculative model."
    record.refuse(
        "arguments.draft-missing",
        Stage.ARGUMENTS,
        f"method `{method}` needs a draft, but the speculative config names no `model`",
        text=text,
        source=_POST_INIT,
        values=(
            speculative_value("method", found.keys.given.get("method")),
            speculative_value("model", None),
        ),
    )
    return quantization


def _uses_target_weights(method: str | None, target: Model, knowledge: Knowledge) -> bool:
    """Tell whether the draft's layers are taken from the target's checkpoint."""
    if knowledge.since("0.11.0"):
        return method == "mtp" or (method == "dspark" and knowledge.since("0.25.0"))
    types = ["deepseek_v3", "mimo"]
    if knowledge.since("0.10.2"):
        types += ["ernie4_5_moe", "qwen3_next"]
    return target.text.get("model_type") in types


def _draft_checkpoint(path: str, checkpoint: Checkpoint | None, target: Model) -> Checkpoint | None:
    """Return the files of the draft; a draft inside the target's are the target's files."""
    if path == target.path and target.checkpoint is not None:
        return replace(target.checkpoint, role="draft")
    return checkpoint


def _with_draft(
    record: Record,
    knowledge: Knowledge,
    reading: ConfigReading,
    found: Speculation,
    options: Options,
    target: Model,
    checkpoint: Checkpoint,
    quantization: str | None,
) -> None:
    keys = found.keys
    medusa = (
        found.method == "medusa" and knowledge.since("0.25.0") and not knowledge.since("0.33.0")
    )
    wanted = Wanted(
        max_model_len=keys.get("max_model_len") if knowledge.since("0.22.0") else None,
        quantization=None if quantization is None else str(quantization).lower(),
        allow_longer=options.allow_longer,
        allow_deprecated=options.allow_deprecated_quantization,
        trust_remote_code=options.trust_remote_code,
        as_written=medusa,
        hf_overrides={"model_type": "medusa"} if medusa else None,
    )
    draft = build_model(
        record,
        knowledge,
        reading,
        checkpoint,
        str(found.path),
        wanted,
        target_length=target.max_model_len,
    )
    if draft is None:
        return
    found.draft = draft
    _detect(record, knowledge, found, draft, target)
    draft_length.raise_positions(record, knowledge, found.method, draft, target)
    if found.method is not None:
        wrap(record, knowledge, draft, found.method, target)
    if (found.method == "dflash" and knowledge.since("0.20.0")) or (
        found.method == "dspark" and knowledge.since("0.25.0")
    ):
        found.parallel = True
    method_rules.settle_tokens(record, knowledge, found, draft)
    method_rules.check_draft(record, knowledge, found, draft, target)
    _parallel_sizes(record, knowledge, found, options, draft)
    draft_length.limit(record, knowledge, keys.get("max_model_len"), draft, target)
    architectures = draft.architectures
    if architectures:
        record.resolve("draft_architecture", architectures[0], _architecture_reason(draft))
    record.resolve("draft_context_length", draft.max_model_len, _length_reason(draft, keys))


def _detect(
    record: Record, knowledge: Knowledge, found: Speculation, draft: Model, target: Model
) -> None:
    chosen = method_detection.with_draft(found.method, draft, knowledge)
    given = found.keys.given.get("method")
    if chosen.name is None:
        _refuse_method(record, knowledge, found, draft)
        return
    if given not in (None, chosen.name) and found.method != chosen.name:
        record.add(
            "arguments.method-overridden",
            Outcome.ADJUSTS,
            Stage.DRAFT_CONFIG,
            f"vLLM takes method `{chosen.name}`, not the given `{given}`",
            source=_POST_INIT,
            values=(speculative_value("method", given), speculative_value("model", draft.path)),
            facts={"reason": chosen.reason},
        )
    found.method = chosen.name
    record.resolve("method", chosen.name, chosen.reason)
    if chosen.name in ("mtp", "deepseek_mtp", "longcat_flash_mtp", "ernie_mtp", "qwen3_next_mtp"):
        method_rules.check_mtp(record, knowledge, found, draft, target)


def _refuse_method(record: Record, knowledge: Knowledge, found: Speculation, draft: Model) -> None:
    """Record what a release says of a draft that fits no method."""
    if knowledge.since("0.15.0"):
        text = f"Unsupported speculative method: '{found.method}'"
        message = f"method `{found.method}` does not fit the draft, whose type is `{{}}`"
    else:
        last = "mtp" if knowledge.since("0.11.0") else "deepseek_mtp"
        text = (
            "Speculative decoding with draft model is not supported yet. Please consider using "
            f"other speculative decoding methods such as ngram, medusa, eagle, or {last}."
        )
        message = "the draft, of type `{}`, is taken for an independent model, which is unsupported"
    given = found.keys.given.get("method")
    record.refuse(
        "architecture.method-unsupported",
        Stage.DRAFT_CONFIG,
        message.format(draft.config.get("model_type")),
        text=text,
        exception="NotImplementedError",
        source=_POST_INIT,
        values=(
            speculative_value("method", given),
            speculative_value("model", draft.path),
            draft.value("model_type"),
        ),
        facts={"method": found.method},
    )
    found.method = found.method if knowledge.since("0.15.0") else "draft_model"
    record.resolve("method", found.method, "no method fits the draft")


def _parallel_sizes(
    record: Record, knowledge: Knowledge, found: Speculation, options: Options, draft: Model
) -> None:
    """Restate `_verify_and_get_draft_tp` and `create_draft_parallel_config`."""
    target_tp = options.tensor_parallel_size
    wanted = found.keys.get("draft_tensor_parallel_size")
    found.draft_tp = target_tp if wanted is None else wanted
    single = draft.config.get("model_type") == "mlp_speculator" and not knowledge.since("0.33.0")
    if wanted is None and single:
        found.draft_tp = 1
    if wanted is not None and wanted not in (1, target_tp):
        record.refuse(
            "parallelism.draft-tp",
            Stage.DRAFT_CONFIG,
            f"`draft_tensor_parallel_size` is {wanted}; it can be 1 or the target's {target_tp}",
            text=(
                f"speculative_draft_tensor_parallel_size={wanted!r} cannot be other value than 1 "
                "or target model tensor_parallel_size"
            ),
            source="config/speculative.py:_verify_and_get_draft_tp",
            values=(
                speculative_value("draft_tensor_parallel_size", wanted),
                engine_value("tensor_parallel_size", target_tp, "--tensor-parallel-size"),
            ),
        )
    found.draft_pp = 1 if knowledge.since("0.30.0") else options.pipeline_parallel_size


def _token_reason(keys: Keys, value: int | None) -> str:
    if keys.given.get("num_speculative_tokens") is not None:
        return "given"
    return "not given" if value is None else "the draft's own count"


def _architecture_reason(draft: Model) -> str:
    written = () if draft.checkpoint is None else draft.checkpoint.config.get("/architectures")
    if written == draft.architectures:
        return "as written in the draft's config"
    return f"made of {written} for the method"


def _length_reason(draft: Model, keys: Keys) -> str:
    if keys.given.get("max_model_len") is not None:
        return "`max_model_len` of the speculative config"
    return draft.length.reason if draft.length is not None else "unknown"
