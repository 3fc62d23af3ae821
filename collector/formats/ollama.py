"""Ollama's own chat, generate and embed: one JSON object a line, the last one with the figures.

`prompt_eval_count` is the whole prompt. Before August 2026 it was left out where the whole prompt
was cached, and no cached part was told: both are unknown then.
"""

from typing import Any

import msgspec

from collector.formats.emitted import says, text_bytes
from collector.formats.heard import Heard
from collector.formats.usage import NOTHING, Usage, count, name

_FIELDS = (
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_cached_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
)
_MESSAGE_FIELDS = ("content", "thinking", "tool_calls")


class _Part(msgspec.Struct):
    model: Any = None
    message: Any = None
    response: Any = None
    thinking: Any = None
    done: Any = None
    done_reason: Any = None
    error: Any = None
    embeddings: Any = None
    total_duration: Any = None
    load_duration: Any = None
    prompt_eval_count: Any = None
    prompt_eval_cached_count: Any = None
    prompt_eval_duration: Any = None
    eval_count: Any = None
    eval_duration: Any = None


_PART = msgspec.json.Decoder(_Part)


def hear(document: bytes) -> Heard:
    """A line of an answer. Raises msgspec.DecodeError, UnicodeError."""
    told = _PART.decode(document)
    return Heard(
        usage=_usage(told),
        model=name(told.model),
        finish_reason=name(told.done_reason),
        token=bool(told.response or told.thinking) or says(told.message, _MESSAGE_FIELDS),
        text_bytes=text_bytes(told.response) + text_bytes(told.thinking) + text_bytes(told.message),
        done=told.done is True,
        failed=bool(told.error),
        generation_ns=count(told.eval_duration),
    )


def _usage(told: _Part) -> Usage:
    whole, output = count(told.prompt_eval_count), count(told.eval_count)
    if whole is None and output is None:
        return NOTHING
    if told.embeddings is not None and output is None:
        output = 0
    figures = {field: count(getattr(told, field)) for field in _FIELDS}
    return Usage(
        input_tokens=whole,
        cache_read_tokens=count(told.prompt_eval_cached_count),
        output_tokens=output,
        source="engine",
        raw={"ollama": {field: value for field, value in figures.items() if value is not None}},
    )
