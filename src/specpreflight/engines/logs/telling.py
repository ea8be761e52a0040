"""Words that make a line worth reading, so that all the others cost next to nothing."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final

from specpreflight.engines.logs.request_tracebacks import HEADER

#: What a serving engine's block must hold to be read line by line. Long words are found fastest,
#: and each costs about a tenth of a loop over the lines.
_TELLING: Final = {
    "sglang": (
        HEADER,
        b"server_args=",
        b"Max running requests is reset to",
        b"Watchdog caught collective operation timeout",
        b"atchdog timeout (self.watchdog_timeout=",
        b"xit code",
    ),
    "vllm": (
        HEADER,
        b"non-default args: ",
        b"Watchdog caught collective operation timeout",
        b"ssertion `",
        b"xit code",
    ),
}
#: What the engine's own lines have while it serves, and what the API server writes of an answer.
_WORKS: Final = (b"accept len: ", b"SpecDecoding metrics", b"Speculative metrics: ")
_ANSWER: Final = b"200 OK"
#: What is read beside them once a block is read line by line.
_TELLING_BESIDE: Final = (
    b"fatal error",
    b"WorkerProc",
    b"igquit",
    b"SIGQUIT",
    b"died unexpectedly",
    b"Exception ignored",
    b"ssertion `",
    b"NCCL WARN",
    b" version ",
    b"launch_server",
    b"sglang serve",
    b"vllm serve",
    b"Killed",
    b"Shutting down",
    b"SIGTERM",
    b"bind on address",
    b"status=9/KILL",
    b"with code 137",
)
#: One of these is in every line that an engine, NCCL, torch, a shell or the system writes and that
#: is read here; what has none is counted as somebody else's.
SIGNS: Final = re.compile(
    rb"\[20\d\d|\(\w+ (?:pid|rank)=|(?:INFO|WARNING|ERROR|DEBUG|CRITICAL)[\x1b ]|"
    rb"\"message\"|\"msg\"|NCCL|nccl|Traceback|  File \"|rror|ssertion|xit|illed|KILL|died|dead|"
    rb"SIG|igquit|shards|\+ |"
    rb"sglang|vllm|LLM|orch|transformers|atchdog|xception|custom code|bind on|startup|Shutting|"
    rb"context_length|weight|args|distributed|Memory|Capture|batch|server|nexpectedly|raphs?\b"
)
#: Lines that show what a client wrote or got, within so many bytes: anything may be quoted there.
#: SGLang `managers/tokenizer_manager.py`, `utils/request_logger.py`; vLLM `entrypoints/logger.py`.
_REQUEST: Final = re.compile(
    rb"\b(?:Receive|Finish): obj=|\bReceived request \S+: |\bRequest \S+ details: |"
    rb"\bGenerated response "
)
_REQUEST_WITHIN: Final = 200
_ANSWERED: Final = re.compile(rb'"POST [^"\n]*" 200 OK')
PERIODIC: Final = (
    b"accept len: ",
    b"SpecDecoding metrics:",
    b"gen throughput (token/s): ",
    b"Avg generation throughput: ",
    b"Speculative metrics: ",
)


def says_nothing_new(block: bytes, engine: str | None) -> bool:
    """Whether a serving engine's block holds periodic lines only."""
    return not any(word in block for word in _TELLING[engine or "sglang"])


def served_lines(block: bytes) -> int:
    """Return how surely a block shows that requests are served: 10 for a line of the engine's own.

    Else how many clients got an answer, up to 3; the API server writes that, and may outlive the
    engine for a moment. What it answers to a look at its health says nothing.
    """
    if any(word in block for word in _WORKS):
        return 10
    if _ANSWER not in block:
        return 0
    return sum(1 for _ in islice(_ANSWERED.finditer(block), 3))


def is_of_request(raw: bytes) -> bool:
    """Whether a line only shows a request or its answer, whose words tell nothing of the server."""
    return bool(_REQUEST.search(raw, 0, _REQUEST_WITHIN))


def survived_until(block: bytes, start: int, engine: str | None) -> int:
    """Return the end of the last line from `start` on that shows a server at work.

    Only tracebacks stand before it: at any other telling word it ends, and it is `start` where
    there is no such line.
    """
    words = {*_TELLING[engine or "sglang"], b"ssertion `", b"NCCL WARN"} - {HEADER}
    places = (block.find(word, start) for word in words)
    end = min((place for place in places if place >= 0), default=len(block))
    last = max(block.rfind(word, start, end) for word in (*_WORKS, _ANSWER))
    return max(block.find(b"\n", last, end) + 1, start) if last >= 0 else start


class TellingLines:
    """Finds the lines of a serving engine's block that hold a telling word.

    Args:
        block: whole lines.
        start: where the first line begins that is asked for.
        engine: whose they are.
    """

    def __init__(self, block: bytes, start: int, engine: str | None) -> None:
        words = (*_TELLING[engine or "sglang"], *_TELLING_BESIDE)
        self._block = block
        self._places = {word: block.find(word, start) for word in words}

    def first_from(self, start: int) -> int:
        """Return where the first telling line at or after `start` begins, else the block's end."""
        for word, place in self._places.items():
            if 0 <= place < start:
                self._places[word] = self._block.find(word, start)
        place = min((place for place in self._places.values() if place >= 0), default=-1)
        return (
            len(self._block) if place < 0 else self._block.rfind(b"\n", start, place) + 1 or start
        )
