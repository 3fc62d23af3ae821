"""Tokens of an answer that tells none: estimated, and marked so. Pure.

The prompt is what its text comes to at the learned tokens per byte; the output of a stream its
chunks, of a whole answer its text; the part that a cache served what the time to the first token
leaves to it. Where a stream packs several tokens into a chunk, the output comes out too low; where
prompts are of another kind than answers (source code asked about in prose), the prompt is off by
the difference of their tokens per byte, until an engine of the fleet reports.
"""

import msgspec

from collector.events import TOKENS_MAX, Attempt
from collector.formats.answer import Told
from router.prefix import Prefix


def is_untold(event: Attempt, told: Told) -> bool:
    """Whether an engine worked on a prompt to its first token and told no figure of it.

    Of an answer that cannot be read nobody knows what it is.
    """
    return (
        event.operation in ("chat", "completion")
        and event.usage_source in ("missing", "derived")
        and event.input_tokens is None
        and event.http_status is not None
        and event.http_status < 400
        and (event.status == "ok" or event.ttft_ns is not None)
        and (told.text_bytes > 0 or told.unreadable == 0)
    )


def estimated(
    event: Attempt,
    told: Told,
    prefix: Prefix,
    tokens_per_byte: float,
    prefix_tokens_per_byte: float,
) -> Attempt:
    """The event with estimates where it knows nothing; as it was where nothing can be estimated.

    `prefix` was counted at `prefix_tokens_per_byte`; what was learned since counts as well.
    """
    prompt = prefix.input_tokens
    if prompt:
        prompt += round(prefix.text_bytes * (tokens_per_byte - prefix_tokens_per_byte))
    output = event.output_tokens
    if output is None and told.text_bytes:
        output = max(1, round(told.text_bytes * tokens_per_byte))
    if not prompt and output == event.output_tokens:
        return event
    return msgspec.structs.replace(
        event,
        input_tokens=min(prompt, TOKENS_MAX) if prompt else None,
        output_tokens=output,
        usage_source="estimated",
    )


def with_hit(event: Attempt, hit_tokens: int | None) -> Attempt:
    """An estimated event with the part of its prompt that a cache is taken to have served."""
    if event.usage_source != "estimated" or hit_tokens is None or event.input_tokens is None:
        return event
    return msgspec.structs.replace(event, cache_read_tokens=min(hit_tokens, event.input_tokens))
