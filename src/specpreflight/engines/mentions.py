"""Which keys of a config.json can be read at all: those that are mentioned somewhere.

All that is known of engines is in this package: the definitions that are evaluated, the harvested
tables, and what is restated by hand, as are the rules. A key that occurs in none of these texts is
stored by the engines' configuration objects, and no more. It holds for no engine's tree and no
rule from elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parents[1]

#: The fields of transformers' configuration classes.
_CLASSES: Final = _PACKAGE / "engines" / "sglang" / "data" / "transformers.json"

#: Keys that transformers and SGLang read by a part of their name, whatever the rest is:
#: `configuration_utils.py:PreTrainedConfig.get_text_config` and `validate_token_ids` (4.51.1 to
#: 5.19.0), `configs/minimax_vl.py:configure_minimax_m3_dspark`.
_READ_BY_PART: Final = re.compile(r"encoder|decoder|dspark_|.*_token_id$")

#: Keys that are mentioned and never looked at. transformers keeps `transformers_version`
#: (`configuration_utils.py:PreTrainedConfig.__init__`, from 5.6 on a field whose type is checked),
#: Dbrx's parts drop it. `_name_or_path` is overwritten by transformers and by SGLang
#: (`utils/hf_transformers_utils.py:get_config`), or dropped (`configs/iquest_q1.py`). Those of all
#: releases that are shipped; `tests/engines/test_mentions.py` holds them to it.
STORED: Final = frozenset({"_name_or_path", "transformers_version"})


def find_unread(keys: Collection[str]) -> frozenset[str]:
    """Return those of `keys` whose value no engine here and no rule looks at.

    Their presence and the type of their value may still count. It reads the whole package: some
    tens of milliseconds.
    """
    stored = STORED.intersection(keys)
    left = {key: key.encode() for key in keys if key not in stored and not _READ_BY_PART.match(key)}
    for text in _texts():
        left = {key: word for key, word in left.items() if word not in text}
        if not left:
            break
    return stored.union(left)


def _texts() -> Iterator[bytes]:
    """Yield all texts of the package, first the one that mentions most of what configs say."""
    yield _CLASSES.read_bytes()
    for folder, _, names in os.walk(_PACKAGE):
        for name in names:
            if not name.endswith(".pyc"):
                yield Path(folder, name).read_bytes()
