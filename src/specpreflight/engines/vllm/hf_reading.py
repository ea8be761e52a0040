"""A checkpoint's config as the release reads it, or what the release says of a broken one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specpreflight.engines.sglang.config_events import source_of, topic_of
from specpreflight.engines.sglang.evaluated_config import EvaluatedConfig
from specpreflight.engines.source.values import Function, Instance, Raised
from specpreflight.engines.vllm.config_parts import UNKNOWN, ConfigObject
from specpreflight.engines.vllm.hf_source import CONFIG, SPECULATORS, VllmSource
from specpreflight.engines.vllm.knowledge import Knowledge
from specpreflight.models.checkpoint import Checkpoint

#: The key that a kind of failure is about.
_KEYS = {
    "config.unknown-model-type": "/model_type",
    "config.missing-model-type": "/model_type",
    "config.missing-architectures": "/architectures",
}


class ReadingError(Exception):
    """A config that the release refuses: topic, a line, its own text, the place it is about."""

    def __init__(
        self,
        topic: str,
        message: str,
        text: str,
        exception: str,
        source: str,
        pointer: str | None = None,
    ) -> None:
        super().__init__(text)
        self.topic = topic
        self.message = message
        self.text = text
        self.exception = exception
        self.source = source
        self.pointer = pointer


class Unread(Exception):
    """A checkpoint that is not at hand; the engine would look for it on the Hub."""


class ReadConfig(EvaluatedConfig):
    """A config whose unknown attributes answer as absent ones: vLLM's own defaults apply."""

    def get(self, name: str, default: Any = None) -> Any:
        """Return `getattr(config, name, default)`, the default where the value is unknown."""
        found = super().get(name, default)
        return default if found is UNKNOWN else found

    def override(self, overrides: Mapping[str, Any]) -> None:
        """Restate `ModelConfig._apply_dict_overrides`: a part's dictionaries change in place."""
        for name, value in overrides.items():
            part = self._attribute(self.instance, name)
            if isinstance(part, Instance):
                self._update(part, value)
            else:
                self.set(name, value)

    def _update(self, target: Instance | dict[str, Any], updates: Mapping[str, Any]) -> None:
        for name, value in updates.items():
            nested = self._attribute(target, name)
            if isinstance(value, Mapping) and isinstance(nested, Instance | dict):
                self._update(nested, value)
            elif isinstance(target, dict):
                target[name] = value
            else:
                self._evaluator.set_attribute(target, name, value)

    def _attribute(self, owner: Instance | dict[str, Any], name: str) -> Any:
        if isinstance(owner, dict):
            return owner.get(name)
        try:
            return self._evaluator.get_attribute(owner, name)
        except Raised:
            return None

    def plain(self, value: Any, place: str = "", written: Any = None) -> Any:
        """Return an evaluated value as plain data."""
        if isinstance(value, Instance):
            return ReadConfig(self._evaluator, value, place, written)
        return super().plain(value, place, written)


_ABSENT = object()


def lacks(config: ConfigObject, name: str) -> bool:
    """Return whether reading an attribute raises `AttributeError`; an unknown value does not."""
    if isinstance(config, ReadConfig):
        return EvaluatedConfig.get(config, name, _ABSENT) is _ABSENT
    return config.get(name, _ABSENT) is _ABSENT


class ConfigReading:
    """Reads the configs of a launch with one release's code.

    Args:
        knowledge: of the release.
        variables: the environment of the launch.
        checkpoints: model path, as vLLM is given it → what was read there.
        offline: whether the launch forbids looking on the Hub.
    """

    def __init__(
        self,
        knowledge: Knowledge,
        variables: Mapping[str, str],
        checkpoints: Mapping[str, Checkpoint],
        *,
        offline: bool,
    ) -> None:
        self.checkpoints = checkpoints
        self._knowledge = knowledge
        self._offline = offline
        self._source = VllmSource(knowledge, variables, checkpoints)

    def read(
        self,
        path: str,
        checkpoint: Checkpoint,
        overrides: Mapping[str, Any],
        *,
        as_draft: bool,
        trust_remote_code: bool,
    ) -> ReadConfig:
        """Return the config that `get_config` gives; a draft's is rewritten as its release does.

        Raises:
            ReadingError: the release stops here.
            Unread: the checkpoint is not at hand, and the launch may look on the Hub.
        """
        self._check_present(path, checkpoint)
        given: dict[str, Any] = {"trust_remote_code": trust_remote_code}
        given["config_format"] = "hf"
        if overrides:
            given["hf_overrides_kw"] = dict(overrides)
        if as_draft:
            given["hf_overrides_fn"] = self._override()
        try:
            config = self._source.call(self._source.find(f"{CONFIG}.get_config"), [path], given)
        except Raised as error:
            raise reading_error(error, checkpoint) from error
        if not isinstance(config, Instance):
            raise Unread(f"`{path}` is read by code that is not at hand")
        return ReadConfig(self._source, config, "", checkpoint.config.root)

    def speculators(self, checkpoint: Checkpoint) -> Mapping[str, Any]:
        """Return the speculative config that a checkpoint of the speculators format stands for.

        Raises:
            ReadingError: the release finds its `speculators_config` incomplete.
        """
        root = dict(checkpoint.config.root)
        name = "extract_vllm_speculative_config"
        owner = self._source.find(f"{SPECULATORS}.SpeculatorsConfig")
        try:
            found = self._source.call(
                self._source.get_attribute(owner, name), [], {"config_dict": root}
            )
        except Raised as error:
            raise reading_error(error, checkpoint) from error
        return found if isinstance(found, Mapping) else {}

    def _override(self) -> Any:
        """Return the release's `hf_config_override`."""
        module = "config.speculative" if self._knowledge.since("0.11.0") else "config"
        owner = self._source.find(f"vllm.{module}.SpeculativeConfig")
        found = self._source.get_attribute(owner, "hf_config_override")
        assert isinstance(found, Function)
        return found

    def _check_present(self, path: str, checkpoint: Checkpoint) -> None:
        problem = checkpoint.problem
        if problem is None or problem.kind == "invalid":
            return
        if problem.kind == "not-cached" and not self._offline:
            raise Unread(problem.message)
        raise ReadingError(
            "config.missing",
            f"vLLM finds no config for the {checkpoint.role} `{path}`"[:100],
            f"Invalid repository ID or local directory specified: '{path}'.",
            "ValidationError",
            "transformers_utils/config.py:get_config",
        )


def reading_error(error: Raised, checkpoint: Checkpoint) -> ReadingError:
    """Return what the evaluated code raised, as a refusal of a checkpoint's config."""
    topic, message = topic_of(error)
    field = error.message.partition("Validation error for field '")[2].partition("'")[0]
    pointer = f"/{field}" if field else _KEYS.get(topic)
    last = error.frames[-1] if error.frames else "vllm.transformers_utils.config:get_config"
    where = source_of(error) or last.replace(".", "/").replace(":", ".py:")
    name = "ValidationError" if error.name in ("ValueError", "AssertionError") else error.name
    return ReadingError(
        topic,
        f"{checkpoint.role}: {message}"[:100],
        error.message,
        name,
        where.removeprefix("vllm/"),
        pointer,
    )
