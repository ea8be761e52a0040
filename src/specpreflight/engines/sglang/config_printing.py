"""Printing a configuration object, which transformers does for every one it reads, and may fail.

Restates `PreTrainedConfig.__repr__` down to `to_dict` and `dict_dtype_to_str`
(transformers 4.51.1 to 5.19.0): `from_dict` formats the object for an informational log line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from specpreflight.engines.sglang.release_order import release_key
from specpreflight.engines.source.values import Dtype, External, Instance, raised

if TYPE_CHECKING:
    from specpreflight.engines.source.evaluator import Evaluator


class ConfigPrinter(External):
    """`PreTrainedConfig.__repr__` of one transformers release; only its failures are restated."""

    def __init__(self, transformers: str) -> None:
        release = release_key(transformers)
        self._takes_null = release >= release_key("5.0.0rc0")
        self._dtype_key = "dtype" if release >= release_key("4.56") else "torch_dtype"
        self._as_it_is = (str, int) if release >= release_key("4.57") else (str,)

    def evaluate(self, evaluator: Evaluator, args: list[Any], kwargs: dict[str, Any]) -> str:
        """Return a short form of the object, or raise what printing it would."""
        config = args[0]
        assert isinstance(config, Instance)
        self._print(evaluator, config)
        return repr(config)

    def _print(self, evaluator: Evaluator, config: Instance) -> None:
        for value in config.attributes.values():
            if isinstance(value, Instance):
                self._print(evaluator, value)
        if evaluator.has_attribute(config, "quantization_config") is True:
            self._check_quantization(evaluator.get_attribute(config, "quantization_config"))
        self._check_dtypes(config.attributes)

    def _check_quantization(self, value: Any) -> None:
        if isinstance(value, (dict, Instance)) or (value is None and self._takes_null):
            return
        raise raised(
            "AttributeError", f"'{type(value).__name__}' object has no attribute 'to_dict'"
        )

    def _check_dtypes(self, values: dict[str, Any]) -> None:
        stated = values.get(self._dtype_key)
        if (
            stated is not None
            and not isinstance(stated, (dict, Dtype, *self._as_it_is))
            and "." not in str(stated)
        ):
            raise raised("IndexError", "list index out of range")
        for value in values.values():
            if isinstance(value, dict):
                self._check_dtypes(value)
