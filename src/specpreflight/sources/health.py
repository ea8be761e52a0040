"""A server's health endpoint, asked again and again until it answers."""

from __future__ import annotations

import threading
from http.client import HTTPException
from typing import Final
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, build_opener

from specpreflight.errors import UsageError

_SECONDS_BETWEEN: Final = 0.5
#: A server that hangs on one question is asked again.
_SECONDS_TO_ANSWER: Final = 5.0


class Health:
    """Asks a URL in the background until it answers with a status below 400.

    Args:
        url: `http://127.0.0.1:30000/health`; proxies of the environment are not asked.

    Raises:
        UsageError: it is no URL of HTTP.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(
                f"`{url}` is no URL of a health endpoint",
                hint="such as http://127.0.0.1:30000/health",
            )
        self.url = url
        self._up = threading.Event()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._ask_on, daemon=True)

    def __enter__(self) -> Health:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()

    @property
    def is_up(self) -> bool:
        """Whether it has answered."""
        return self._up.is_set()

    def answers(self) -> bool:
        """Ask once."""
        try:
            with build_opener(ProxyHandler({})).open(self.url, timeout=_SECONDS_TO_ANSWER):
                return True
        except (OSError, HTTPException):
            return False

    def _ask_on(self) -> None:
        while not self._stopped.is_set():
            if self.answers():
                self._up.set()
                return
            self._stopped.wait(_SECONDS_BETWEEN)
