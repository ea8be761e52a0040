"""The engine's `ServerArgs` while it resolves itself: fields, why they changed, what was said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from specpreflight.models.finding import Origin, Outcome, Stage, Value
from specpreflight.models.resolved import Event, ResolvedValue

if TYPE_CHECKING:
    from specpreflight.engines.sglang.knowledge import Knowledge
    from specpreflight.engines.sglang.model_facts import ConfigObject, ModelFacts
    from specpreflight.engines.sglang.server_args.machine import Machine


class Unknowable(Exception):
    """A step cannot be predicted because a fact is missing.

    Attributes:
        fact: what is missing (`target config`).
        why: why it is missing, for the report.
    """

    def __init__(self, fact: str, why: str) -> None:
        super().__init__(f"{fact}: {why}")
        self.fact = fact
        self.why = why


class Checkpoints(Protocol):
    """What the engine reads of the two checkpoints in the middle of its argument handling.

    Each method reads when it is called, with the arguments as they are at that moment. A config
    that stops the launch is answered by the event that says so, one that is not at hand by `None`.
    """

    def target_model(self, args: ServerArgs) -> ModelFacts | Event | None:
        """Do what `ServerArgs.get_model_config` does: build the target's `ModelConfig`."""
        ...

    def target_config(self, args: ServerArgs) -> ConfigObject | Event | None:
        """Do what `get_config` does on the target, without a `ModelConfig` around it."""
        ...

    def draft_config(self, args: ServerArgs, revision: str | None) -> ConfigObject | Event | None:
        """Do what `get_config` does on `speculative_draft_model_path`."""
        ...


class ServerArgs:
    """One release's `ServerArgs`, from the parsed command line to the published settings.

    A field is read as an attribute, as in the engine (`args.page_size`); a field that this release
    does not have is `None`. Fields change only through `set`, which wants the reason.

    Attributes:
        release: what is known of this SGLang release.
        since: whether this release is a version or newer.
        machine: the machine that this prediction is for.
        environment: the variables as the engine sees them; the engine writes some itself.
        source: file and function of the step that is running.
        events: what the engine does, in its order; a stop does not end the prediction.
        reasons: field → why the engine gave it its value.
        unknown: what could not be predicted, as `(setting, why)`.
    """

    def __init__(
        self,
        fields: Mapping[str, Any],
        given: Mapping[str, Origin],
        *,
        release: Knowledge,
        machine: Machine,
        environment: Mapping[str, str],
        checkpoints: Checkpoints,
    ) -> None:
        vars(self).update(fields)
        for name in _OWN.intersection(fields):
            del vars(self)[name]  # a tree's; its steps do not know it
        self._given = given
        self._checkpoints = checkpoints
        self._read: dict[str, Any] = {}
        self.release = release
        self.since: Callable[[str], bool] = release.since
        self.machine = machine
        self.environment = dict(environment)
        self.source = ""
        self.events: list[Event] = []
        self.reasons: dict[str, str] = {}
        self.unknown: list[tuple[str, str]] = []
        self._forgotten: dict[str, Unknowable] = {}

    def __getattr__(self, field: str) -> Any:
        """Answer for a field that is forgotten, or that this release does not have."""
        if field.startswith("_"):
            raise AttributeError(field)
        if field in self._forgotten:
            raise self._forgotten[field]
        return None

    def has(self, field: str) -> bool:
        """Return whether this release has the field at all."""
        return field in vars(self) or field in self._forgotten

    def was_given(self, field: str) -> bool:
        """Return whether the user gave the flag that fills this field."""
        return field in self._given

    def set(self, field: str, value: Any, reason: str) -> None:
        """Change a field as the engine does, and keep why."""
        setattr(self, field, value)
        self.reasons[field] = reason
        self._forgotten.pop(field, None)

    def attempt(self, *steps: Callable[[ServerArgs], object], fills: tuple[str, ...] = ()) -> None:
        """Run steps, each as far as it can be predicted.

        What an aborted step would have filled (`fills`) is unknown from then on: who reads it is
        aborted as well.
        """
        for step in steps:
            self._attempt(step, fills)

    def _leave_unknown(self, missing: Unknowable, fills: tuple[str, ...]) -> None:
        """Note what an aborted step leaves unknown."""
        if (missing.fact, missing.why) not in self.unknown:
            self.unknown.append((missing.fact, missing.why))
        for field in fills:
            if vars(self).get(field) is None:
                self._forgotten[field] = missing
                vars(self).pop(field, None)

    def _attempt(self, step: Callable[[ServerArgs], object], fills: tuple[str, ...]) -> None:
        try:
            step(self)
        except Unknowable as missing:
            self._leave_unknown(missing, fills)
        except TypeError as error:
            # A tree may lack a field that the nearest release's step computes with.
            if not self.release.changed:
                raise
            why = f"this tree has other code than {self.release.nearest} there ({error})"
            self._leave_unknown(Unknowable(self.source or "arguments", why), fills)
        except ZeroDivisionError as error:
            self.stop(
                "arguments.zero-size",
                "a size of 0 is divided by",
                str(error),
                exception="ZeroDivisionError",
            )

    # What the engine reads besides its own fields

    @property
    def target(self) -> ModelFacts:
        """The target's `ModelConfig`; the engine builds it at the first use and keeps it."""
        facts: ModelFacts = self._once("target", lambda: self._checkpoints.target_model(self))
        return facts

    @property
    def target_config(self) -> ConfigObject:
        """The target's `hf_config` where the engine reads it without a `ModelConfig`."""
        if not isinstance(self._read.get("target"), (Event, type(None))):
            return self.target.config
        config: ConfigObject = self._once(
            "target_config", lambda: self._checkpoints.target_config(self)
        )
        return config

    def draft_config(self, revision: str | None = None) -> ConfigObject | Event | None:
        """Read the draft's config now; the caller decides whether a failure stops the launch."""
        return self._checkpoints.draft_config(self, revision)

    def _once(self, what: str, read: Any) -> Any:
        if what not in self._read:
            self._read[what] = answer = read()
            if isinstance(answer, Event):
                self.events.append(answer)
        answer = self._read[what]
        if answer is None:
            raise Unknowable("target config", "it is not at hand")
        if isinstance(answer, Event):
            raise Unknowable("target config", "the engine stops when it reads it")
        return answer

    @property
    def architecture(self) -> str:
        """`architectures[0]` of the target, on which the engine keys most model decisions.

        Raises:
            Unknowable: the target names no architecture; the engine raises `IndexError` or
                `TypeError` there, which is recorded.
        """
        if self._read.get("architecture") is not None:
            return str(self._read["architecture"])
        if self.since("0.5.7") or "target" in self._read:
            names: Any = self.target.config.get("architectures")
        else:
            names = self.target_config.get("architectures")
        if isinstance(names, (list, tuple, str)) and names:
            self._read["architecture"] = str(names[0])
            return str(names[0])
        if "architecture" not in self._read:
            self._read["architecture"] = None
            missing = names is None
            self.stop(
                "target.no-architecture",
                "the target's config names no architecture",
                "'NoneType' object is not subscriptable" if missing else "list index out of range",
                exception="TypeError" if missing else "IndexError",
                stage=Stage.TARGET_CONFIG,
            )
        raise Unknowable("target architecture", "the target's config names none")

    def variable_is_true(self, name: str) -> bool:
        """Return what this release makes of a boolean variable, its default included."""
        known = self.release.environment.get(name)
        if known is None:
            return False
        text = self.environment.get(name)
        if text is None:
            return bool(known.default)
        word = text.lower()
        if word in known.truthy:
            return True
        if word in known.falsy:
            return False
        return bool(known.default) if known.on_other == "default" else False

    def variable_is_set(self, name: str) -> bool:
        """Return whether a variable is in the environment, whatever its value."""
        return name in self.environment

    # What the engine says

    def value(self, field: str) -> Value:
        """Return a field's present value with where it came from, for an event."""
        if field in self._given and field not in self.reasons:
            origin = self._given[field]
        elif field in self.reasons:
            origin = Origin("engine", name=self.reasons[field])
        else:
            origin = Origin("default", name="--" + field.replace("_", "-"))
        return Value(field, vars(self).get(field), origin)

    def stop(
        self,
        topic: str,
        message: str,
        engine_message: str,
        *fields: str,
        exception: str = "ValueError",
        stage: Stage = Stage.ARGUMENTS,
    ) -> None:
        """Record that the engine raises here. The prediction goes on: see `events`."""
        self._record(Outcome.REFUSES, topic, message, engine_message, exception, stage, fields)

    def require(
        self,
        holds: bool,
        topic: str,
        message: str,
        engine_message: str,
        *fields: str,
    ) -> bool:
        """Record the engine's `assert` if it fails; return whether it holds."""
        if not holds:
            self.stop(topic, message, engine_message, *fields, exception="AssertionError")
        return holds

    def tell(self, topic: str, message: str, engine_message: str | None, *fields: str) -> None:
        """Record that the engine changes a setting or warns, and starts all the same."""
        self._record(Outcome.ADJUSTS, topic, message, engine_message, None, Stage.ARGUMENTS, fields)

    def _record(
        self,
        outcome: Outcome,
        topic: str,
        message: str,
        engine_message: str | None,
        exception: str | None,
        stage: Stage,
        fields: tuple[str, ...],
    ) -> None:
        self.events.append(
            Event(
                topic,
                outcome,
                stage,
                message,
                engine_message=engine_message,
                exception=exception,
                source=self.source,
                values=tuple(self.value(field) for field in fields),
            )
        )

    def resolved(self, field: str) -> ResolvedValue:
        """Return a field with its reason, for the report's `resolved` block.

        Raises:
            Unknowable: what fills the field could not be predicted.
        """
        value = getattr(self, field)
        if field in self.reasons:
            return ResolvedValue(value, self.reasons[field])
        if field in self._given:
            return ResolvedValue(value, f"{self._given[field].name} given")
        return ResolvedValue(value, "engine default")


#: Names that no field has, in any release.
_OWN = frozenset(dir(ServerArgs))
