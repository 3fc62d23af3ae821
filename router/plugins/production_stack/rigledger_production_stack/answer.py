"""What the ends of an answer's body tell: its names, its usage, and whether it is one. No text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

# To read all of a long body would hold up the router's own thread.
READ_BYTES = 256 * 1024
END_BYTES = 16 * 1024
LAST_EVENTS = 8
_EVENT = b"\ndata:"
_ENDS = ("response.completed", "response.incomplete", "message_stop")
_FAILURES = ("response.failed", "error")


def told(content: bytes | bytearray) -> dict[str, Any]:
    """Of a whole answer or a stream: `id`, `model`, `finish_reason`, `usage` and `code` where it
    tells them, and `ok`: whether it came to its end and is no error."""
    found: dict[str, Any] = {"usage": {}}
    if bytes(content[:END_BYTES]).lstrip()[:1] in (b"{", b"["):
        document = _whole(content)
        _note(found, document or {})
        ended = document is not None or len(content) > READ_BYTES
    else:
        payloads = list(_payloads(content))
        for payload in payloads:
            _note(found, _document(payload) or {})
        # No error is as long as what is not read.
        ended = b"[DONE]" in payloads or any(len(payload) > READ_BYTES for payload in payloads[-1:])
        ended = ended or "ended" in found or "finish_reason" in found
    return {**found, "ok": ended and "failed" not in found}


def _whole(content: bytes | bytearray) -> dict[str, Any] | None:
    """An answer that is no stream; of a long one what stands from its usage on."""
    if len(content) <= READ_BYTES:
        return _document(bytes(content))
    tail = bytes(content[-END_BYTES:])
    # Only from a key of the outermost object on is it an object again, with one brace before it.
    return _document(b"{" + tail[max(0, tail.rfind(b'"usage"')) :])


def _payloads(content: bytes | bytearray) -> Iterator[bytes]:
    """What the first event of a stream and its last ones hold, in order."""
    starts = {0 if content.startswith(b"data:") else content.find(_EVENT) + 1}
    at = len(content)
    for _ in range(LAST_EVENTS):
        at = content.rfind(_EVENT, 0, max(0, at))
        starts.add(at + 1)
    for start in sorted(starts):
        end = content.find(b"\n", start)
        line = bytes(content[start : end if end >= 0 else len(content)])
        if line.startswith(b"data:"):
            yield line.removeprefix(b"data:").strip()


def _document(text: bytes) -> dict[str, Any] | None:
    """The object that it is, an empty one for other JSON; None for what is none, or too long."""
    try:
        found = json.loads(text) if len(text) <= READ_BYTES else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else {} if found is not None else None


def _note(found: dict[str, Any], told: dict[str, Any]) -> None:
    """Add what a document tells: names as first told, figures as told last."""
    nested = (told.get(name) for name in ("response", "message"))
    inner = next((part for part in nested if isinstance(part, dict)), told)
    choices = inner.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    ends = (_of(choice, "finish_reason"), _of(inner, "stop_reason"))
    finish = next((end for end in (*ends, _of(told.get("delta"), "stop_reason")) if end), None)
    for name in ("id", "model"):
        if inner.get(name) is not None:
            found.setdefault(name, inner[name])
    if finish is not None:
        found["finish_reason"] = finish
    if isinstance(inner.get("usage"), dict):
        found["usage"].update(inner["usage"])
    kind, error = told.get("type"), told.get("error") or inner.get("error")
    if kind in _ENDS:
        found["ended"] = True
    if error or told.get("object") == "error" or kind in _FAILURES or set(told) == {"detail"}:
        found["failed"] = True
        found["code"] = _of(error, "code") or told.get("code")


def _of(parent: Any, name: str) -> Any:
    return parent.get(name) if isinstance(parent, dict) else None
