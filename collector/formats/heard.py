"""What one document of an answer told: a whole body, or an event of a stream."""

import msgspec

from collector.formats.usage import NOTHING, Usage


class Heard(msgspec.Struct, frozen=True):
    """`token`: it carries output, of `text_bytes`; `done`: nothing comes after it; `failed`: it
    tells an error.

    `generation_ns` is the time from the first token to the last, `wait_ns` the time queued before
    computing, where the engine tells them.
    """

    usage: Usage = NOTHING
    response_id: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    token: bool = False
    text_bytes: int = 0
    done: bool = False
    failed: bool = False
    generation_ns: int | None = None
    wait_ns: int | None = None
