"""OpenAI's Responses: `input_tokens` is the whole prompt, cached and written tokens included."""

from typing import Any

import msgspec

from collector.formats.emitted import text_bytes
from collector.formats.heard import Heard
from collector.formats.usage import NOTHING, Usage, count, name, numbers, part

_ENDS = {"response.completed", "response.incomplete", "response.failed", "response.cancelled"}
_FAILED = {"response.failed", "error"}


class _Response(msgspec.Struct):
    id: Any = None
    model: Any = None
    status: Any = None
    incomplete_details: Any = None
    usage: Any = None


class _Part(_Response):
    object: Any = None
    type: Any = None
    delta: Any = None
    response: _Response | None = None


_PART = msgspec.json.Decoder(_Part)


def hear(document: bytes) -> Heard:
    """A response, or an event of its stream. Raises msgspec.DecodeError, UnicodeError."""
    told = _PART.decode(document)
    whole = told.response or told
    is_whole = told.response is not None or told.object == "response"
    delta = told.delta if isinstance(told.delta, str) else ""
    return Heard(
        usage=usage(whole.usage),
        response_id=name(whole.id) if is_whole else None,
        model=name(whole.model) if is_whole else None,
        finish_reason=_finish(whole) if is_whole else None,
        token=delta != "" and isinstance(told.type, str) and told.type.endswith(".delta"),
        text_bytes=text_bytes(delta),
        done=told.type in _ENDS,
        failed=told.type in _FAILED or (is_whole and whole.status == "failed"),
    )


def usage(told: Any) -> Usage:
    """A `usage` object as Usage; anything else is `missing`."""
    if not isinstance(told, dict):
        return NOTHING
    whole, output = count(told.get("input_tokens")), count(told.get("output_tokens"))
    if whole is None and output is None:
        return NOTHING
    return Usage(
        input_tokens=whole,
        cache_read_tokens=count(part(told, "input_tokens_details", "cached_tokens")),
        cache_write_tokens=count(part(told, "input_tokens_details", "cache_write_tokens")),
        output_tokens=output,
        reasoning_tokens=count(part(told, "output_tokens_details", "reasoning_tokens")),
        source="engine",
        raw={"usage": numbers(told)},
    )


def _finish(response: _Response) -> str | None:
    if response.status == "incomplete":
        return name(part(response.incomplete_details, "reason")) or "incomplete"
    return name(response.status) if response.status in ("completed", "failed") else None
