"""A recorded launch as text: `launch.lock.json`."""

from __future__ import annotations

import json

from specpreflight.models.lock import Lock
from specpreflight.reports.json import plain_data


def render_lock(lock: Lock) -> str:
    """Return the file's content: always the same for the same launch, a line a value."""
    return json.dumps(plain_data(lock), indent=2, ensure_ascii=False) + "\n"
