"""Checkpoints on the Hugging Face Hub: their JSON files into the cache, fixes as pull requests.

The Hub's own client does both: its cache, token, endpoint and offline mode count. It is imported
only when one of these functions is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specpreflight.errors import InputError

#: `name` or `org/name`, as the Hub allows them, and a branch, tag or commit after `@`.
_ADDRESS = re.compile(
    r"(?:hf://)?(?P<repository>[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?)(?:@(?P<revision>.+))?"
)


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A repository on the Hub, and the revision that was asked for, if one was."""

    repository: str
    revision: str | None = None


def parse_hub_address(text: str) -> HubAddress | None:
    """Read `org/name`, `org/name@revision` or `hf://…`; `None` where it is none of them."""
    found = _ADDRESS.fullmatch(text)
    return None if found is None else HubAddress(found["repository"], found["revision"])


def cached_address(path: Path) -> HubAddress | None:
    """Return the repository and commit of a file in the Hub's cache, `None` for any other."""
    for folder in path.absolute().parents:
        if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
            name = folder.parent.parent.name.removeprefix("models--")
            return HubAddress(name.replace("--", "/"), folder.name)
    return None


def download_json(repository: str, revision: str) -> Path:
    """Download the JSON files of a repository into the cache and return the snapshot's folder.

    Raises:
        InputError: the Hub does not have it, refuses, or cannot be reached.
    """
    from huggingface_hub import snapshot_download

    with _explained(repository, "not downloaded"):
        return Path(snapshot_download(repository, revision=revision, allow_patterns=["*.json"]))


def open_pull_request(
    address: HubAddress, files: Mapping[str, bytes], title: str, description: str
) -> str:
    """Open a pull request with one commit that changes files, and return its URL.

    Args:
        address: the repository, and the commit that the files were read from: if the main branch
            has moved on since, the Hub refuses.
        files: the new content of each file, by its path in the repository.
        title: the commit's first line.
        description: the rest, in Markdown.

    Raises:
        InputError: the Hub refuses, or cannot be reached.
    """
    from huggingface_hub import CommitOperationAdd, HfApi

    operations = [CommitOperationAdd(path, data) for path, data in files.items()]
    with _explained(address.repository, "no pull request was opened"):
        made = HfApi().create_commit(
            address.repository,
            operations,
            commit_message=title,
            commit_description=description,
            create_pr=True,
            parent_commit=address.revision,
        )
    return str(made.pr_url)


@contextmanager
def _explained(repository: str, failed: str) -> Iterator[None]:
    """Turn what the Hub's client raises into the user's line."""
    from huggingface_hub.errors import HfHubHTTPError

    # The client's HTTP library differs by its version; its base class is the error's first base.
    transport: Any = HfHubHTTPError.__bases__[0]
    try:
        yield
    except (transport, HfHubHTTPError, OSError, ValueError) as error:
        reason, hint = _reason(error)
        raise InputError(f"{repository}: {failed}: {reason}", hint=hint) from None


_BY_CLASS = {
    "GatedRepoError": (
        "its authors grant access on request",
        "ask for it on the repository's page, then `hf auth login`",
    ),
    "DisabledRepoError": ("the repository is disabled", "use another one"),
    "RevisionNotFoundError": ("there is no such revision", "check the branch, tag or commit"),
    "RepositoryNotFoundError": (
        "there is no such repository, or it is private",
        "check the name; for a private one, `hf auth login`",
    ),
    "OfflineModeIsEnabled": ("HF_HUB_OFFLINE is set", "unset it, or download on another machine"),
    "HFValidationError": ("it is no name of a repository", "write org/name"),
}

_BY_STATUS = {
    401: ("the Hub does not know this token", "log in: `hf auth login`"),
    403: ("this token may not do that", "use one with write access; the repository may forbid it"),
    409: ("somebody else is changing the repository", "run it again"),
    412: ("the repository changed since it was read", "download it again and run it again"),
    429: ("too many requests", "wait some minutes and run it again"),
}

_UNREACHABLE = ("the Hub cannot be reached", "check the network, HF_ENDPOINT and the proxy")


def _reason(error: BaseException) -> tuple[str, str]:
    """Return why, and what to do; a missing cache entry hides its cause behind it."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        chain.append(cause)
        cause = cause.__cause__
    names = [kind.__name__ for one in chain for kind in type(one).__mro__]
    known = next((name for name in names if name in _BY_CLASS), None)
    if known is not None:
        return _BY_CLASS[known]
    for one in chain:
        status = getattr(getattr(one, "response", None), "status_code", None)
        if status in _BY_STATUS:
            return _BY_STATUS[status]
        if isinstance(status, int):
            return f"the Hub answers with status {status}", "run it again later"
    if type(chain[-1]).__name__ in {"ConnectError", "ConnectTimeout", "ReadTimeout"} or isinstance(
        chain[-1], ConnectionError
    ):
        return _UNREACHABLE
    text = str(chain[0]).strip().splitlines()
    return (text[0] if text else type(error).__name__), "check the name and the network"
