"""A process of its own to look at."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping


def running_process(environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process with this environment and return when it is up; it waits to be killed.

    The kernel lays the environment out after it closes the parent's pipe, so that `Popen` alone
    returns too early to read it.
    """
    code = "import sys; sys.stdout.write('up\\n'); sys.stdout.flush(); sys.stdin.read()"
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    return process
