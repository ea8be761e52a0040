"""What a failed write tells the user."""

from __future__ import annotations

import errno

from specpreflight.errors import InputError

_WRITE_REASONS = {
    errno.ENOSPC: ("no space left on the device", "free some space and run it again"),
    errno.EDQUOT: ("the disk quota is used up", "free some space and run it again"),
    errno.EROFS: ("the file system is read-only", "fix a copy: --copy-to DIR"),
    errno.EACCES: (
        "no permission to write in its directory",
        "run it as the owner, or fix a copy: --copy-to DIR",
    ),
    errno.EPERM: ("the system does not permit to write it", "check its attributes (lsattr)"),
    errno.EIO: ("the disk or network file system failed", "check the mount"),
    errno.EAGAIN: ("another specpreflight is writing in this directory", "wait until it is done"),
    errno.ECONNRESET: (
        "the connection broke, the file is as it was or fixed",
        "run it again: what is done is not done twice",
    ),
    errno.ESTALE: ("the file changed since it was read", "run it again"),
    errno.ENOTDIR: (".specpreflight is there and is no directory", "rename it"),
}


def write_problem(name: str, error: OSError) -> InputError:
    """Return the user's line for a failed write; the file itself is still as it was."""
    known = _WRITE_REASONS.get(error.errno or 0)
    reason, hint = known or ((error.strerror or str(error)).lower(), "check the directory")
    return InputError(f"{name}: not written: {reason}", hint=hint)
