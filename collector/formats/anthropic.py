"""Anthropic's Messages, as engines serve them too.

`input_tokens` is what no cache served or took: the whole prompt is its sum with
`cache_read_input_tokens` and `cache_creation_input_tokens`. Engines that are not asked to report
their cache leave both out; `input_tokens` is the whole prompt then and its cached part unknown.
The figures of a stream are cumulative: the prompt comes with `message_start`, the output with
`message_delta` (what `message_start` says of output is a placeholder).
"""

from typing import Any

import msgspec

from collector.formats.emitted import says, text_bytes
from collector.formats.heard import Heard
from collector.formats.usage import NOTHING, Usage, count, name, numbers

_DELTA_FIELDS = ("text", "thinking", "partial_json")


class _Message(msgspec.Struct):
    id: Any = None
    model: Any = None
    stop_reason: Any = None
    usage: Any = None


class _Part(msgspec.Struct):
    type: Any = None
    message: _Message | None = None
    delta: Any = None
    id: Any = None
    model: Any = None
    stop_reason: Any = None
    usage: Any = None


_PART = msgspec.json.Decoder(_Part)


def hear(document: bytes) -> Heard:
    """A message, or an event of its stream. Raises msgspec.DecodeError, UnicodeError."""
    told = _PART.decode(document)
    if told.type == "message_start" and told.message is not None:
        return Heard(
            usage=usage(told.message.usage, with_output=False),
            response_id=name(told.message.id),
            model=name(told.message.model),
        )
    delta = told.delta if isinstance(told.delta, dict) else {}
    token = told.type == "content_block_delta" and says(delta, _DELTA_FIELDS)
    return Heard(
        usage=usage(told.usage),
        response_id=name(told.id) if told.type == "message" else None,
        model=name(told.model),
        finish_reason=name(told.stop_reason) or name(delta.get("stop_reason")),
        token=token,
        text_bytes=text_bytes(delta) if token else 0,
        done=told.type == "message_stop",
        failed=told.type == "error",
    )


def usage(told: Any, *, with_output: bool = True) -> Usage:
    """A `usage` object as Usage; anything else is `missing`."""
    if not isinstance(told, dict):
        return NOTHING
    rest = count(told.get("input_tokens"))
    read = count(told.get("cache_read_input_tokens"))
    written = count(told.get("cache_creation_input_tokens"))
    output = count(told.get("output_tokens")) if with_output else None
    if rest is None and output is None:
        return NOTHING
    return Usage(
        input_tokens=None if rest is None else rest + (read or 0) + (written or 0),
        cache_read_tokens=read,
        cache_write_tokens=written,
        output_tokens=output,
        source="engine",
        raw={"usage": numbers(told)},
    )
