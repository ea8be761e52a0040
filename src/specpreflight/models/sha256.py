"""SHA-256 without OpenSSL, which `hashlib` loads at once: it costs a check 4 ms.

Python's own modules take the same way (`random.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ["sha256"]

if TYPE_CHECKING:
    from hashlib import sha256
else:
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256
