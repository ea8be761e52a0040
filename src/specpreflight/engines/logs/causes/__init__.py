"""The failure shapes: which final message of a traceback means what.

Restated from every raise and assert of the wheels that a launch with a draft can meet, and from
public reports. A shape is recognised by its message, and where the message says too little, by the
frames above it. The order counts: the first shape that fits is the cause.
"""

from __future__ import annotations

import re
from typing import Final

from specpreflight.engines.logs.causes.arguments import ARGUMENTS
from specpreflight.engines.logs.causes.configs import CONFIGS
from specpreflight.engines.logs.causes.distributed import DISTRIBUTED
from specpreflight.engines.logs.causes.resources import RESOURCES
from specpreflight.engines.logs.causes.shape import Cause
from specpreflight.engines.logs.causes.surroundings import SURROUNDINGS
from specpreflight.engines.logs.causes.unnamed import UNNAMED
from specpreflight.engines.logs.causes.weights import WEIGHTS

__all__ = ["CAUSES", "UNNAMED", "Cause", "is_noise"]

CAUSES: Final[tuple[Cause, ...]] = (
    *CONFIGS,
    *WEIGHTS,
    *ARGUMENTS,
    *RESOURCES,
    *DISTRIBUTED,
    *SURROUNDINGS,
)

_NOISE: Final = re.compile(
    r"Connection reset by peer|Connection closed by peer|Broken ?pipe|recvValue failed|"
    r"sendBytes failed|EOFError|ncclRemoteError|could finish the model loading, but there are "
    r"other ranks|Initialization failed\.|scheduler died during initialization|"
    r"Engine core initialization failed|WorkerProc initialization failed|died unexpectedly|"
    r"EngineDeadError|CancelledError|KeyboardInterrupt|SystemExit|See stack trace"
)


def is_noise(final: str) -> bool:
    """Whether a message is what survivors print, or what wraps a cause: never the cause itself."""
    return bool(_NOISE.search("\n".join(final.split("\n", 2)[:2])))
