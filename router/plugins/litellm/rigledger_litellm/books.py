"""A call as LiteLLM logs it, as the event that rigledger's collector takes. No text is taken."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

SOURCE = "litellm"
NAME_CHARS = 256
_REQUEST_ID = "llm_provider-x-request-id"
_LOOKED_AT = (
    "model_id", "api_base", "startTime", "endTime", "completionStartTime", "cache_hit", "status",
    "call_type", "id", "model_group", "stream", "litellm_call_id",
)  # fmt: skip
_OPERATIONS = {
    "acompletion": "chat",
    "completion": "chat",
    "responses": "chat",
    "aresponses": "chat",
    "anthropic_messages": "chat",
    "atext_completion": "completion",
    "text_completion": "completion",
    "aembedding": "embedding",
    "embedding": "embedding",
    "arerank": "rerank",
    "rerank": "rerank",
}


def noted(told: dict[str, Any]) -> dict[str, Any]:
    """Of a `standard_logging_object`, what `event` looks at, and no text: little to keep, and
    quickly taken."""
    found = {name: told.get(name) for name in _LOOKED_AT}
    found["metadata"] = {
        name: _part(told, "metadata", name) for name in ("usage_object", "user_api_key_hash")
    }
    found["error_information"] = {"error_class": _part(told, "error_information", "error_class")}
    found["hidden_params"] = {"additional_headers": {_REQUEST_ID: _engine_request(told)}}
    return found


def event(told: dict[str, Any], rig: str) -> dict[str, Any] | None:
    """An attempt, from a `standard_logging_object`; None for what reached no engine.

    An answer from LiteLLM's own response cache is none: no card computed it.
    """
    engine = _name(told.get("model_id")) or _place(told.get("api_base"))
    start, end = _time(told.get("startTime")), _time(told.get("endTime"))
    if engine is None or told.get("cache_hit") is True or start is None or end is None:
        return None
    ok = told.get("status") == "success"
    found = {
        "kind": "attempt",
        "source": SOURCE,
        "event_id": _identity(told),
        "rig": rig,
        "operation": _OPERATIONS.get(str(told.get("call_type")), "other"),
        "request_id": _engine_request(told),
        "response_id": _name(told.get("id")) if ok else None,
        "key": _key(told),
        "engine": engine,
        "model": _name(told.get("model_group")),
        "received_at": datetime.fromtimestamp(start, UTC).isoformat(),
        "duration_ns": _ns(end - start),
        "ttft_ns": _ttft_ns(told, start, end),
        "status": "ok" if ok else _failure(told),
        **_usage(told),
    }
    return {name: value for name, value in found.items() if value is not None}


def _usage(told: dict[str, Any]) -> dict[str, Any]:
    usage = _part(told, "metadata", "usage_object")
    if not isinstance(usage, dict) or not usage:
        return {"usage_source": "missing"}
    return {
        "input_tokens": _count(usage.get("prompt_tokens")),
        "cache_read_tokens": _count(_part(usage, "prompt_tokens_details", "cached_tokens")),
        "output_tokens": _count(usage.get("completion_tokens")),
        "reasoning_tokens": _count(_part(usage, "completion_tokens_details", "reasoning_tokens")),
        "usage_source": "engine",
    }


def _ttft_ns(told: dict[str, Any], start: float, end: float) -> int | None:
    """Only a stream shows its first token; elsewhere LiteLLM repeats the end."""
    first = _time(told.get("completionStartTime"))
    if not told.get("stream") or first is None or not start <= first <= end:
        return None
    return _ns(first - start)


def _failure(told: dict[str, Any]) -> str:
    kind = str(_part(told, "error_information", "error_class"))
    if "Timeout" in kind:
        return "timeout"
    return "client_abort" if "Cancelled" in kind or "Disconnect" in kind else "upstream_error"


def _engine_request(told: dict[str, Any]) -> str | None:
    headers = _part(told, "hidden_params", "additional_headers")
    if not isinstance(headers, dict):
        return None
    return _name(headers.get(_REQUEST_ID))


def _key(told: dict[str, Any]) -> str | None:
    """The proxy's own hash of the key that the client showed, hashed once more."""
    known = _part(told, "metadata", "user_api_key_hash")
    if not isinstance(known, str) or not known:
        return None
    return "k1:" + hashlib.blake2b(known.encode(), digest_size=16).hexdigest()


def _identity(told: dict[str, Any]) -> str:
    """The same for a call that is logged twice; another for each of its tries."""
    parts = (told.get("litellm_call_id"), told.get("status"), told.get("startTime"))
    text = "\0".join(map(str, (*parts, told.get("model_id"))))
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


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


def _place(address: Any) -> str | None:
    """An engine's address without what may be secret in it: neither user nor query."""
    try:
        parts = urlsplit(address if isinstance(address, str) else "")
        host = parts.netloc.rpartition("@")[2]
        return _name(f"{parts.scheme}://{host}{parts.path}") if host else None
    except ValueError:
        return None


def _time(value: Any) -> float | None:
    """Seconds since the epoch, in the years that the collector takes."""
    if isinstance(value, (int, float)) and 946684800 <= value < 4102444800:
        return float(value)
    return None


def _ns(seconds: float) -> int:
    return max(0, round(seconds * 1_000_000_000))
