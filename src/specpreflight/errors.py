"""What a user caused: one exception base, with the exit code of the contract and a remedy.

Everything else that escapes a command is an internal error (exit 3), reported without a traceback.
"""

from __future__ import annotations


class SpecpreflightError(Exception):
    """A failure that the user can mend.

    Attributes:
        message: one line that names the file (and place) or option, lower case, no full stop.
        hint: what to do about it, or `None`.
        exit_code: 2 usage or configuration, 4 an input is missing or unreadable.
    """

    exit_code = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(SpecpreflightError):
    """The command line or configuration cannot be understood (exit 2)."""

    exit_code = 2


class InputError(SpecpreflightError):
    """An input is missing, unreadable or not what it claims to be (exit 4)."""

    exit_code = 4
