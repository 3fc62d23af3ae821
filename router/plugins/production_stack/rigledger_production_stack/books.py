"""A call as the hooks see it, as the event that rigledger's collector takes. No text is taken."""

from __future__ import annotations

import time
import uuid
from datetime import UTC, datetime
from typing import Any

from rigledger_production_stack.answer import told

SOURCE = "production_stack"
# The hooks are not told which engine answers; this names none.
ENGINE = "behind production-stack"
NAME_CHARS = 256
_OPERATIONS = {
    "/chat/completions": "chat",
    "/responses": "chat",
    "/messages": "chat",
    "/completions": "completion",
    "/embeddings": "embedding",
    "/rerank": "rerank",
    "/score": "rerank",
}


def begun(asked: Any) -> dict[str, Any]:
    """What is known of a call when it comes: when that was, and the model that it asks for."""
    model = asked.get("model") if isinstance(asked, dict) else None
    return {"at_s": time.time(), "since_s": time.monotonic(), "model": _name(model)}


def noted(request: Any, content: bytes | bytearray) -> dict[str, Any] | None:
    """What `event` looks at, and no text: little to keep. None for a call that asks for no tokens.
    Raises AttributeError for one whose coming was not noted."""
    operation = _operation(request.url.path)
    if operation is None:
        return None
    call = request.state.rigledger
    return {
        "event_id": uuid.uuid4().hex,
        "operation": operation,
        "at_s": call["at_s"],
        "took_s": time.monotonic() - call["since_s"],
        "asked_model": call["model"],
        "request_id": _name(request.headers.get("x-request-id")),
        "answer": _kept(told(content)),
    }


def event(call: dict[str, Any], rig: str) -> dict[str, Any]:
    """An attempt, from what `noted` made of a call."""
    answer = call["answer"]
    found = {
        "kind": "attempt",
        "source": SOURCE,
        "event_id": call["event_id"],
        "rig": rig,
        "operation": call["operation"],
        "request_id": call["request_id"],
        "response_id": answer["id"],
        "engine": ENGINE,
        "model": answer["model"] or call["asked_model"],
        "received_at": datetime.fromtimestamp(call["at_s"], UTC).isoformat(),
        "duration_ns": round(call["took_s"] * 1_000_000_000),
        "status": "ok" if answer["ok"] else "upstream_error",
        "http_status": answer["code"],
        "finish_reason": answer["finish_reason"],
        **answer["tokens"],
    }
    return {name: value for name, value in found.items() if value is not None}


def _kept(answer: dict[str, Any]) -> dict[str, Any]:
    names = {name: _name(answer.get(name)) for name in ("id", "model", "finish_reason")}
    code = answer.get("code")
    known = type(code) is int and 400 <= code < 600
    tokens = _tokens(answer["usage"])
    return {**names, "ok": answer["ok"], "code": code if known else None, "tokens": tokens}


def _tokens(usage: dict[str, Any]) -> dict[str, Any]:
    """Chat tells `prompt_tokens`, responses `input_tokens`, both with the cached ones; messages
    tell those aside. A count that is not there is unknown."""
    whole = _count(usage.get("prompt_tokens"))
    read = _count(_part(usage, "prompt_tokens_details", "cached_tokens"))
    output = _count(usage.get("completion_tokens"))
    thought = _count(_part(usage, "completion_tokens_details", "reasoning_tokens"))
    if "input_tokens" in usage:
        aside = [_count(usage.get(f"cache_{part}_input_tokens")) for part in ("read", "creation")]
        rest = _count(usage["input_tokens"])
        whole = None if rest is None else rest + sum(part or 0 for part in aside)
        inside = _count(_part(usage, "input_tokens_details", "cached_tokens"))
        read = aside[0] if inside is None else inside
        output = _count(usage.get("output_tokens"))
        thought = _count(_part(usage, "output_tokens_details", "reasoning_tokens"))
    return {
        "input_tokens": whole,
        "cache_read_tokens": read,
        "output_tokens": output,
        "reasoning_tokens": thought,
        "usage_source": "missing" if whole is None and output is None else "engine",
    }


def _operation(path: str) -> str | None:
    return next((kind for end, kind in _OPERATIONS.items() if path.endswith(end)), None)


def _part(parent: Any, *names: str) -> Any:
    for name in names:
        parent = parent.get(name) if isinstance(parent, dict) else None
    return parent


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value <= 1 << 40 else None


def _name(value: Any) -> str | None:
    if not isinstance(value, str) or not value or not value.isprintable():
        return None
    return value[:NAME_CHARS]
