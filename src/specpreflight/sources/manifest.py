"""YAML that is no compose file: Kubernetes objects, Helm values, recipes, lists of commands.

Only containers, commands and mappings of flags matter, wherever they stand, so the tree is walked
instead of knowing each kind of object. `$(NAME)` in a container's words and values follows
Kubernetes (`third_party/forked/golang/expansion`): what it does not know stays, `$$` is a `$`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from specpreflight.errors import InputError
from specpreflight.models.command import variable
from specpreflight.models.launch import Variable
from specpreflight.sources.engine_config import (
    flag_words,
    is_flag_mapping,
    model_first,
    read_flag_mapping,
)
from specpreflight.sources.entry_points import Entry, engine_of_flags, find_entry, image_engine
from specpreflight.sources.processes import Process, Tracer
from specpreflight.sources.text_words import split_shell_words
from specpreflight.sources.yaml_text import YamlList, YamlMap, read_yaml

_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][\w.-]*)\)")
_STARTS_ENGINE = re.compile(
    r"sglang\.launch_server|\bsglang serve\b|\bvllm serve\b|vllm\.entrypoints"
    r"|\bdynamo\.(sglang|vllm)|\b(docker|podman) run\b"
)
_EXTRA_ARGUMENTS = re.compile(
    r"(extra|server|engine|runtime|sglang|vllm|common|backend|additional|runtime_?common|custom)_?args",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(r"envs?|env_?vars?|environment|extra_?envs?", re.IGNORECASE)
#: `decode_environment` beside the settings of the role `decode`.
_ROLE_ENVIRONMENT = re.compile(r"(\w+?)_(?:environment|env)")
_IMAGE = re.compile(r"\S*(?:sglang|vllm)\S*:[\w.-]+")
_MODEL_KEYS = ("modelURL", "modelUrl", "modelURI", "model_url", "modelName", "model", "url")
_CONFIG_KEYS = ("vllmConfig", "sglangConfig")


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What the objects around a container give it."""

    path: tuple[str, ...] = ()
    environment: Mapping[str, Variable] = field(default_factory=dict)
    volumes: Mapping[str, YamlMap] = field(default_factory=dict)
    engine: str | None = None
    image: str | None = None
    roles: Mapping[str, Mapping[str, Variable]] = field(default_factory=dict)

    def inside(self, *steps: str) -> _Surroundings:
        return replace(self, path=(*self.path, *steps))


def read_manifest(documents: list[Any], tracer: Tracer, given: Mapping[str, str]) -> None:
    """Follow every container and command of the documents."""
    reader = _Manifest(tracer, given, documents)
    for document in documents:
        kind = document.get("kind") if isinstance(document, dict) else None
        if kind not in ("ConfigMap", "Secret"):
            path = (kind,) if isinstance(kind, str) else ()
            reader.walk(document, _Surroundings(path, image=_named_image(document)))


class _Manifest:
    def __init__(self, tracer: Tracer, given: Mapping[str, str], documents: list[Any]) -> None:
        self._tracer = tracer
        self._given = given
        self._maps = dict(_maps(documents))

    def walk(self, node: Any, around: _Surroundings) -> None:
        """Follow what stands in a node, and then what stands below it."""
        if isinstance(node, YamlMap):
            self._mapping(node, around)
        elif isinstance(node, YamlList):
            if self._command_list(node, around):
                return
            for at, item in enumerate(node):
                self.walk(item, around.inside(str(at)))
        elif isinstance(node, str) and _STARTS_ENGINE.search(node):
            process = Process((), around.environment, self._given, service=_label(around))
            self._tracer.run_script(node, process)

    def _mapping(self, node: YamlMap, around: _Surroundings) -> None:
        around = self._enriched(node, around)
        if _is_container(node) and self._container(node, around):
            return
        if "engine_kwargs" in node:
            self._ray(node, around)
            return
        if is_flag_mapping(node) and not any(map(_EXTRA_ARGUMENTS.fullmatch, node)):
            process = Process((), around.environment, image=around.image, service=_label(around))
            read_flag_mapping(node, self._tracer, process, "{engine} flags", around.engine)
            return
        for key, value in node.items():
            if key == "serveConfigV2" and isinstance(value, str):
                for document in read_yaml(value, self._tracer.path or "serveConfigV2"):
                    self.walk(document, around.inside(key))
            # An init container ends before the server starts; a preflight names its very command.
            elif key != "initContainers" and not _ENVIRONMENT.fullmatch(key):
                line = node.lines.get(key, 0)
                self._child(key, value, node, around, line)

    def _child(self, key: str, value: Any, node: YamlMap, around: _Surroundings, line: int) -> None:
        inner = around.inside(key)
        own = around.roles.get(key)
        if own is not None:
            inner = replace(inner, environment={**inner.environment, **own})
        if isinstance(value, str) and _STARTS_ENGINE.search(value):
            text = node.texts.get(key, value)
            process = Process((), inner.environment, self._given, service=_label(around))
            block = "\n" in text.rstrip("\n")
            self._tracer.run_script(value, process, line=line + 1 if block else line)
        else:
            self.walk(value, inner)

    def _enriched(self, node: YamlMap, around: _Surroundings) -> _Surroundings:
        environment = dict(around.environment)
        roles = dict(around.roles)
        for key, value in node.items():
            if _ENVIRONMENT.fullmatch(key):
                environment.update(self._variables(value))
            elif key == "runtime_env" and isinstance(value, YamlMap):
                environment.update(self._variables(value.get("env_vars")))
            elif role := _ROLE_ENVIRONMENT.fullmatch(key):
                roles[role.group(1)] = self._variables(value)
        references = node.get("envFrom")
        for reference in references if isinstance(references, list) else ():
            environment.update(self._from_map(reference))
        volumes = dict(around.volumes)
        listed = node.get("volumes")
        for volume in listed if isinstance(listed, list) else ():
            if isinstance(volume, YamlMap) and isinstance(volume.get("name"), str):
                volumes[volume["name"]] = volume
        hints = [node.get(key) for key in ("engine", "runtime", "backend", "backendName", "type")]
        hints += [key for key in node if key.startswith(("sglang", "vllm"))]
        engines = {image_engine(hint) for hint in hints if isinstance(hint, str)} - {None}
        return replace(
            around,
            environment=environment,
            volumes=volumes,
            roles=roles,
            image=_image(node) or around.image,
            engine=engines.pop() if len(engines) == 1 else around.engine,
        )

    # Environment

    def _variables(self, value: Any) -> dict[str, Variable]:
        """Return `env:` in each of its shapes: objects, a mapping, or `NAME=VALUE` texts."""
        found: dict[str, Variable] = {}
        if isinstance(value, YamlMap):
            for key in value:
                text = value.text(key)
                if isinstance(value[key], (dict, list)):
                    continue
                shown = self._given.get(key, f"${{{key}}}") if text is None else text
                found[key] = self._variable(key, shown, value.lines[key], found)
        elif isinstance(value, YamlList):
            for item, line in zip(value, value.lines, strict=True):
                if isinstance(item, YamlMap) and isinstance(item.get("name"), str):
                    name = item["name"]
                    text = item.text("value")
                    if text is None:
                        text = self._referred(name, item.get("valueFrom"))
                    found[name] = self._variable(name, text, line, found)
                elif isinstance(item, str) and "=" in item:
                    name, _, text = item.partition("=")
                    found[name] = self._variable(name, text, line, found)
        return found

    def _variable(self, name: str, text: str, line: int, known: Mapping[str, Variable]) -> Variable:
        return variable(name, _expanded(text, known), self._tracer.path, line)

    def _referred(self, name: str, source: Any) -> str:
        if source is None:
            return ""
        for kind in ("configMapKeyRef", "secretKeyRef"):
            reference = source.get(kind) if isinstance(source, dict) else None
            if isinstance(reference, dict):
                values = self._named(reference)
                key = str(reference.get("key"))
                if key in values:
                    return str(values[key])
        return self._given.get(name, f"${{{name}}}")

    def _from_map(self, reference: Any) -> Iterator[tuple[str, Variable]]:
        for kind in ("configMapRef", "secretRef"):
            named = reference.get(kind) if isinstance(reference, dict) else None
            if isinstance(named, dict):
                prefix = str(reference.get("prefix") or "")
                for key, value in self._named(named).items():
                    yield prefix + key, variable(prefix + key, str(value), self._tracer.path)

    def _named(self, reference: dict[str, Any]) -> Mapping[str, Any]:
        """Return what the config map or secret holds that a reference names."""
        return self._maps.get(str(reference.get("name")), {})

    # Containers and commands

    def _container(self, node: YamlMap, around: _Surroundings) -> bool:
        words: list[str] = []
        for key, value in node.items():
            if key == "args" or _EXTRA_ARGUMENTS.fullmatch(key):
                words.extend(self._words(value, around.environment))
        configured = next(
            (node[key] for key in _CONFIG_KEYS if isinstance(node.get(key), YamlMap)), None
        )
        if configured is not None:
            words = [*self._configured(configured, around), *words]
        image = _image(node)
        process = Process(
            (),
            around.environment,
            self._given,
            image=image,
            path_map=tuple(self._mounted(node, around)),
            directory=node.get("workingDir"),
            service=_label(around),
            line=node.lines.get("args") or node.lines.get("command"),
        )
        command = self._words(node.get("command"), around.environment)
        engine = image_engine(image) or around.engine or engine_of_flags(words)
        if engine is not None and not command and _lacks_model(words):
            model = next((node[key] for key in _MODEL_KEYS if isinstance(node.get(key), str)), None)
            if model is not None:
                model = model.removeprefix("hf://")
                words = [model, *words] if engine == "vllm" else ["--model-path", model, *words]
        if self._tracer.container(process, command or None, words):
            return True
        if engine is None or command or not any(word.startswith("--") for word in words):
            return False
        self._tracer.found(Entry(engine, "image entrypoint", tuple(words)), process)
        return True

    def _configured(self, configured: YamlMap, around: _Surroundings) -> Iterator[str]:
        """Yield the words of a chart's own settings (`vllmConfig` of the vLLM production stack)."""
        extra = [key for key in configured if _EXTRA_ARGUMENTS.fullmatch(key)]
        plain = {key: value for key, value in configured.items() if key not in extra}
        yield from flag_words(plain)
        for key in extra:
            yield from self._words(configured[key], around.environment)

    def _words(self, value: Any, known: Mapping[str, Variable]) -> list[str]:
        if isinstance(value, YamlList):
            return [_expanded(text, known) for text in value.texts]
        if isinstance(value, YamlMap):
            return list(flag_words(value))
        if isinstance(value, str):
            try:
                return split_shell_words(_expanded(value, known))
            except InputError:
                return []
        return []

    def _mounted(self, node: YamlMap, around: _Surroundings) -> Iterator[tuple[str, str]]:
        """Yield (inside, outside) of host directories; files of config maps become known."""
        mounts = node.get("volumeMounts")
        for mount in mounts if isinstance(mounts, list) else ():
            if not isinstance(mount, dict):
                continue
            volume, inside = around.volumes.get(str(mount.get("name"))), mount.get("mountPath")
            if volume is None or not isinstance(inside, str):
                continue
            host = volume.get("hostPath")
            if isinstance(host, dict) and isinstance(host.get("path"), str):
                yield inside, host["path"]
            config = volume.get("configMap")
            if isinstance(config, dict):
                for key, text in self._named(config).items():
                    file = inside if mount.get("subPath") else f"{inside.rstrip('/')}/{key}"
                    self._tracer.written[file] = str(text)

    def _command_list(self, node: YamlList, around: _Surroundings) -> bool:
        """Follow a list that is a command, or an engine's flags."""
        words = [text for item, text in zip(node, node.texts, strict=True) if _is_scalar(item)]
        if len(words) != len(node) or not words:
            return False
        process = Process(tuple(words), around.environment, self._given, service=_label(around))
        if find_entry(words) is not None:
            return self._tracer.follow(process)
        flags = sum(word.startswith("--") for word in words)
        if flags >= 2 and words[0].startswith("--") and around.engine and engine_of_flags(words):
            self._tracer.found(Entry(around.engine, "(none)", tuple(words)), process)
            return True
        return False

    def _ray(self, node: YamlMap, around: _Surroundings) -> None:
        """Note an LLM of Ray Serve (`ray.serve.llm`): its engine's arguments by keyword."""
        kwargs = node["engine_kwargs"]
        loading = node.get("model_loading_config")
        named = loading if isinstance(loading, dict) else {}
        model = named.get("model_source") or named.get("model_id")
        engine = "sglang" if "sglang" in str(node.get("llm_engine", "")).lower() else "vllm"
        words = list(flag_words(kwargs)) if isinstance(kwargs, YamlMap) else []
        if isinstance(model, str) and "--model" not in words:
            words = [model, *words] if engine == "vllm" else ["--model-path", model, *words]
        words = model_first(words) if engine == "vllm" else words
        self._tracer.found(
            Entry(engine, "ray serve engine_kwargs", tuple(words)),
            Process((), around.environment, line=node.lines.get("engine_kwargs")),
        )


def _maps(documents: list[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the content of each config map and secret."""
    for document in documents:
        if isinstance(document, YamlMap) and document.get("kind") in ("ConfigMap", "Secret"):
            metadata = document.get("metadata")
            name = metadata.text("name") if isinstance(metadata, YamlMap) else None
            parts = (document.get("data"), document.get("stringData"))
            if name is not None:
                held = [part for part in parts if isinstance(part, YamlMap)]
                yield name, {key: value for part in held for key, value in part.items()}


def _is_container(node: YamlMap) -> bool:
    if any(isinstance(node.get(key), YamlMap) for key in _CONFIG_KEYS):
        return True
    return any(
        isinstance(node[key], (list, str))
        and (key in ("args", "command") or "image" in node or _is_flags(node[key]))
        for key in node
        if key in ("args", "command") or _EXTRA_ARGUMENTS.fullmatch(key)
    )


def _lacks_model(words: list[str]) -> bool:
    """Say whether words are flags without the model that they are for."""
    named = {word.partition("=")[0] for word in words} & {"--model", "--model-path"}
    return bool(words) and words[0].startswith("-") and not named


def _is_flags(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and str(value[0]).startswith("--")


def _image(node: YamlMap) -> str | None:
    image = node.get("image")
    named = image if isinstance(image, dict) else node
    if isinstance(image, str) and image:
        return image
    repository = named.get("repository") if isinstance(named, dict) else None
    if not isinstance(repository, str):
        return None
    registry = named.get("registry")
    tag = named.text("tag") if isinstance(named, YamlMap) else None
    name = f"{registry}/{repository}" if isinstance(registry, str) else repository
    return f"{name}:{tag}" if tag else name


def _named_image(document: Any) -> str | None:
    """Return the image that a recipe names once for all it starts (`model.container`)."""
    if isinstance(document, YamlMap):
        for key, value in document.items():
            named = key in ("container", "image", "container_image") and isinstance(value, str)
            found = value if named and _IMAGE.fullmatch(value) else _named_image(value)
            if found is not None:
                return str(found)
    return None


def _label(around: _Surroundings) -> str | None:
    return "/".join(around.path) or None


def _is_scalar(item: Any) -> bool:
    return not isinstance(item, (dict, list))


def _expanded(text: str, known: Mapping[str, Variable]) -> str:
    def value(found: re.Match[str]) -> str:
        name = found.group(1)
        if name is None:
            return "$"
        return (known[name].value or "") if name in known else found.group()

    return _REFERENCE.sub(value, text)
