"""Stands in for configuration classes that a checkpoint brings along as code; it is never run."""

from __future__ import annotations

import ast

from specpreflight.engines.source.modules import split_module
from specpreflight.engines.source.values import Class, Opaque

_SOURCE = """
class RemoteConfig(PretrainedConfig, RemoteCode):
    {rope} = None

    def __init__(self, **kwargs):
        for name in ("text_config", "llm_config", "language_config"):
            if isinstance(kwargs.get(name), dict):
                kwargs[name] = RemoteConfig(**kwargs[name])
        super().__init__(**kwargs)
"""


def remote_config_class(base: Class) -> Class:
    """Return a class derived from `PretrainedConfig` that keeps every key of `config.json`.

    The checkpoint's own class may set defaults and build sub-configs; SGLang's behaviour on top of
    it is predicted from the keys that are there, and an attribute that is not is unknown. RoPE
    scaling is the exception: no class is known that scales unless `config.json` says so.
    """
    is_property = any("rope_scaling" in cls.methods for cls in base.order)
    source = _SOURCE.replace("{rope}", "rope_parameters" if is_property else "rope_scaling")
    header, constructor = split_module(source)
    node = header.statements[0]
    assert isinstance(node, ast.ClassDef)
    bases = (base, Opaque("RemoteCode"))
    cls = Class("RemoteConfig", node, base.module, bases, {"__init__": constructor})
    cls.order = (cls, *base.order)
    base.module.values["RemoteConfig"] = cls
    return cls
