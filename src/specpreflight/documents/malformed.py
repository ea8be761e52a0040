"""What a file that is not JSON really is, and where its JSON goes wrong, in a reader's words.

The wording of `json.JSONDecodeError` differs between Python versions and names the character
after the mistake; here the place and the text around it decide.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from specpreflight.documents.document import BYTE_ORDER_MARK


class Explanation(NamedTuple):
    """A problem as half a sentence, its remedy, and where it is (1-based, characters)."""

    problem: str
    hint: str
    line: int = 1
    column: int = 1


_DOWNLOAD_AGAIN = "download the file again"
_BINARY = (
    (b"\x1f\x8b", "is gzip-compressed", "decompress it (gunzip)"),
    (b"\x28\xb5\x2f\xfd", "is zstd-compressed", "decompress it (unzstd)"),
    (b"PK\x03\x04", "is a zip archive or a torch checkpoint", "give the directory of the model"),
    (b"GGUF", "is a GGUF weights file", "give the directory of the model"),
    (b"\x80\x02", "is a Python pickle", "give the directory of the model"),
    (b"\x80\x04", "is a Python pickle", "give the directory of the model"),
    (b"\xff\xfe", "is UTF-16, expected UTF-8", "save it as UTF-8; the engines read nothing else"),
    (b"\xfe\xff", "is UTF-16, expected UTF-8", "save it as UTF-8; the engines read nothing else"),
)
_HUB_REFUSALS = (b"Entry not found", b"Invalid username or password", b"Access to model")


def explain_foreign(data: bytes) -> Explanation | None:
    """Say what `data` is where it is something else than an attempt at JSON, else `None`."""
    head = data[:512].removeprefix(BYTE_ORDER_MARK).lstrip()
    if head.startswith(b"{"):
        return _explain_zeros(data)
    if not head:
        problem = "holds only whitespace" if data else "is empty"
        return Explanation(problem, _DOWNLOAD_AGAIN + ", or restore it")
    if data[4:9] == b"\x00\x00\x00\x00{":
        return Explanation("is a safetensors weights file", "give the directory of the model")
    for magic, problem, hint in _BINARY:
        if data.startswith(magic):
            return Explanation(problem, hint)
    if head.startswith((b"version https://git-lfs.github.com/spec/", b"version https://hawser")):
        return Explanation(
            "is a Git LFS pointer, not the file itself",
            "run `git lfs pull` in the repository",
        )
    if head.startswith(b"/annex/objects/"):
        return Explanation(
            "is a git-annex pointer, not the file itself", "run `git annex get` in the repository"
        )
    if head.startswith(b"<<<<<<<"):
        return _MERGE_CONFLICT
    if head.startswith(b"<"):
        what = "an XML" if head.startswith(b"<?xml") else "an HTML"
        return Explanation(
            f"is {what} page, probably the error or login page of a download",
            _DOWNLOAD_AGAIN + " with the token that it needs",
        )
    if head.startswith(_HUB_REFUSALS):
        return Explanation(
            "is the Hub's refusal of a download, not the file",
            _DOWNLOAD_AGAIN + " with the token that it needs",
        )
    if b"\x00" in head[:64]:
        return _explain_zeros(data) or Explanation("is binary data, not JSON", _DOWNLOAD_AGAIN)
    return None


def explain_syntax(text: str, error: json.JSONDecodeError) -> Explanation:
    """Say what is wrong where `json.loads` stopped, and where the mistake itself is."""
    at = error.pos
    if error.msg.startswith("Illegal trailing comma"):  # Python 3.13 points at the comma itself
        at += 1
    before = text[:at].rstrip(" \t\r\n")
    rest = text[at:].lstrip(" \t\r\n")
    problem, hint, at = _explain(text, error.msg, at, before, rest)
    line = text.count("\n", 0, at) + 1
    return Explanation(problem, hint, line, at - text.rfind("\n", 0, at))


_MERGE_CONFLICT = Explanation(
    "holds the markers of an unresolved merge", "resolve the conflict (git status)"
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9.]*")
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null", "nan": "NaN", "inf": "Infinity"}


def _explain(text: str, message: str, at: int, before: str, rest: str) -> tuple[str, str, int]:
    """Return `(problem, hint, offset of the mistake)`."""
    if message.startswith("Unterminated string"):
        return "this string is never closed", 'add the missing "', at
    if message.startswith("Invalid control character"):
        return "a line break or control character inside a string", 'write \\n, or close the "', at
    if message.startswith("Invalid \\"):
        return "an escape that JSON does not know", "write \\\\ for a backslash", at
    if message.startswith("Extra data"):
        problem = "text after the end of the document"
        return problem, "keep one JSON object in the file (not JSON lines, not two copies)", at
    if not rest:
        problem = "the file ends in the middle of an object or array"
        return problem, "it was cut off: " + _DOWNLOAD_AGAIN, len(text)
    if rest[0] in "}]" and before.endswith(","):
        return f"trailing comma before {rest[0]}", "remove the comma", len(before) - 1
    at = len(text) - len(rest)
    if rest.startswith(("<<<<<<<", "=======", ">>>>>>>")):
        return _MERGE_CONFLICT.problem, _MERGE_CONFLICT.hint, at
    if rest.startswith(("//", "/*", "#")):
        return "a comment, which JSON does not have", "remove the comment", at
    if rest[0] in "'\u2018\u2019\u201c\u201d\u00ab":
        return f'{rest[0]} where a double quote (") is expected', 'quote with "', at
    if message.startswith("Expecting ',' delimiter"):
        return f"expected a comma or a closing bracket, found {_shown(rest)}", _COMMA_HINT, at
    if message.startswith("Expecting ':' delimiter"):
        return f"expected a colon after the key, found {_shown(rest)}", "write key: value", at
    if message.startswith("Expecting property name"):
        return f"expected a key in double quotes, found {_shown(rest)}", 'quote the key with "', at
    word = _WORD.match(rest)
    if word is not None and word[0] in _PYTHON_WORDS:
        return f"{word[0]} is Python, not JSON", f"write {_PYTHON_WORDS[word[0]]}", at
    return f"expected a value, found {_shown(rest)}", "write a JSON value there", at


_COMMA_HINT = "add the comma before it, or the bracket that is missing"


def _shown(rest: str) -> str:
    word = _WORD.match(rest)
    found = word[0][:20] if word else rest[0]
    return found if found.isprintable() else f"U+{ord(found[0]):04X}"


def _explain_zeros(data: bytes) -> Explanation | None:
    """Recognize a file whose content was never written before a crash, and UTF-16 and UTF-32."""
    if data.endswith(b"\x00\x00\x00\x00"):
        hint = "the disk or a copy lost its content: " + _DOWNLOAD_AGAIN
        return Explanation("holds zero bytes instead of text", hint)
    if b"\x00" in data[:4] and b"{" in data[:4]:
        return Explanation("is UTF-16 or UTF-32, expected UTF-8", "save it as UTF-8")
    return None
