"""One check on several hosts: which paths are meant."""

from __future__ import annotations

import pytest

from specpreflight.cli.hosts import paths_on_hosts
from specpreflight.errors import UsageError


@pytest.mark.parametrize(
    ("paths", "hosts", "expected"),
    [
        (("/t", "d"), (), [("/t", "d")]),
        (("/t", "d"), ("a",), [("ssh://a/t", "ssh://a/~/d")]),
        (("/t",), ("a", "u@b:22"), [("ssh://a/t",), ("ssh://u@b:22/t",)]),
        (("/t", "ssh://x/d"), ("a",), [("ssh://a/t", "ssh://x/d")]),
        (("/t", "ssh://{a,b}/d"), (), [("/t", "ssh://a/d"), ("/t", "ssh://b/d")]),
        (
            ("ssh://u@gpu-{1,2}:22/t", "sftp://{a,b}/d"),
            (),
            [("ssh://u@gpu-1:22/t", "sftp://a/d"), ("ssh://u@gpu-2:22/t", "sftp://b/d")],
        ),
        (("s3://{a,b}/t",), (), [("s3://{a,b}/t",)]),
        (("/models/{a,b}",), (), [("/models/{a,b}",)]),
        ((), (), [()]),
    ],
)
def test_paths(
    paths: tuple[str, ...], hosts: tuple[str, ...], expected: list[tuple[str, ...]]
) -> None:
    assert paths_on_hosts(paths, hosts) == expected


def test_different_numbers_of_hosts() -> None:
    with pytest.raises(UsageError, match="different numbers of hosts"):
        paths_on_hosts(("ssh://{a,b}/t", "ssh://{a,b,c}/d"), ())
