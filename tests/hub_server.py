"""The handful of endpoints of the Hugging Face Hub that its client needs, on loopback."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class HubServer:
    """One repository; `refuse` answers a kind of request with a status and the Hub's error code.

    Kinds are `info`, `preupload` and `commit`. `served` counts the bytes of all answers.
    """

    repository: str = "lab/draft"
    files: dict[str, bytes] = field(default_factory=dict)
    refuse: dict[str, tuple[int, str]] = field(default_factory=dict)
    commits: list[list[dict[str, Any]]] = field(default_factory=list)
    queries: list[str] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    downloads: list[str] = field(default_factory=list)
    served: int = 0
    url: str = ""

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        path, _, query = path.partition("?")
        api, name = f"/api/models/{self.repository}/", f"/{self.repository}/resolve/"
        if path.startswith(name):
            file = path.removeprefix(name).partition("/")[2]
            return self._file(method, file)
        if not path.startswith(api):
            return self._refusal(404, "RepoNotFound")
        kind, _, rest = path.removeprefix(api).partition("/")
        kind = {"revision": "info", "tree": "info"}.get(kind, kind)
        if kind in self.refuse:
            return self._refusal(*self.refuse[kind])
        if path.startswith(api + "tree/"):
            return self._json([self._entry(file) for file in self.files])
        if kind == "info":
            if rest not in ("main", COMMIT):
                return self._refusal(404, "RevisionNotFound")
            siblings = [{"rfilename": file} for file in self.files]
            return self._json({"id": self.repository, "sha": COMMIT, "siblings": siblings})
        if kind == "preupload":
            files = json.loads(body)["files"]
            mode = {"uploadMode": "regular", "shouldIgnore": False}
            return self._json({"files": [{"path": file["path"], **mode} for file in files]})
        self.queries.append(query)
        self.commits.append([json.loads(line) for line in body.splitlines()])
        return self._json(
            {
                "success": True,
                "commitUrl": f"{self.url}/{self.repository}/commit/1",
                "commitOid": "f" * 40,
                "pullRequestUrl": f"{self.url}/{self.repository}/discussions/7",
            }
        )

    def _file(self, method: str, file: str) -> tuple[int, dict[str, str], bytes]:
        if file not in self.files:
            return self._refusal(404, "EntryNotFound")
        data = self.files[file]
        if method == "GET":
            self.downloads.append(file)
        headers = {
            "X-Repo-Commit": COMMIT,
            "ETag": f'"{hashlib.sha1(data).hexdigest()}"',
            "Content-Length": str(len(data)),
        }
        return 200, headers, data

    def _entry(self, file: str) -> dict[str, Any]:
        oid = hashlib.sha1(self.files[file]).hexdigest()
        return {"type": "file", "path": file, "size": len(self.files[file]), "oid": oid}

    def _json(self, value: Any) -> tuple[int, dict[str, str], bytes]:
        data = json.dumps(value).encode()
        return 200, {"Content-Type": "application/json", "Content-Length": str(len(data))}, data

    def _refusal(self, status: int, code: str) -> tuple[int, dict[str, str], bytes]:
        return status, {"X-Error-Code": code, "Content-Length": "2"}, b"{}"

    def committed(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """The header of the only commit, and the files that it writes."""
        (lines,) = self.commits
        files = {
            line["value"]["path"]: base64.b64decode(line["value"]["content"])
            for line in lines
            if line["key"] == "file"
        }
        return lines[0]["value"], files


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that the client of this process talks to, with an empty cache and a token."""
    constants = pytest.importorskip("huggingface_hub.constants")
    state = HubServer()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.tokens.append(self.headers.get("Authorization"))
            status, headers, data = state.answer(self.command, self.path, body)
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            if status == 200 and wanted is not None:
                status, data = 206, data[int(wanted[1]) : int(wanted[2]) + 1]
                headers["Content-Length"] = str(len(data))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                state.served += len(data)
                self.wfile.write(data)

        do_GET = do_HEAD = do_POST = respond

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}"
    cache = tmp_path / "hub-cache"
    monkeypatch.setattr(constants, "ENDPOINT", state.url)
    monkeypatch.setattr(
        constants,
        "HUGGINGFACE_CO_URL_TEMPLATE",
        state.url + "/{repo_id}/resolve/{revision}/{filename}",
    )
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    yield state
    server.shutdown()
    thread.join()
    server.server_close()
