"""What an engine told of one request's tokens, whatever format it told it in."""

from typing import Any, Literal

import msgspec

from collector.events import INT64_MAX, TOKENS_MAX

_RAW_ITEMS = 256
_RAW_DEPTH = 6
_KEY_CHARS = 64
_NAME_CHARS = 256
_FLOAT_MAX = 1e300
_HOLDERS = (dict, list)


class Usage(msgspec.Struct, frozen=True):
    """Tokens of one request; None is unknown, never zero.

    `input_tokens` is the whole prompt; the cache fields are parts of it, `reasoning_tokens` is a
    part of `output_tokens`. `source` says whether the engine reported the figures or they were
    counted from the stream. `raw` holds what the engine told, numbers only.
    """

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    draft_tokens: int | None = None
    draft_accepted_tokens: int | None = None
    source: Literal["engine", "derived", "missing"] = "missing"
    raw: dict[str, Any] | None = None

    def filled_from(self, other: "Usage") -> "Usage":
        """This usage, with what it does not know taken from `other`; both raws side by side."""
        if self is NOTHING:
            return other
        if other is NOTHING:
            return self
        return Usage(
            known(self.input_tokens, other.input_tokens),
            known(self.cache_read_tokens, other.cache_read_tokens),
            known(self.cache_write_tokens, other.cache_write_tokens),
            known(self.output_tokens, other.output_tokens),
            known(self.reasoning_tokens, other.reasoning_tokens),
            known(self.draft_tokens, other.draft_tokens),
            known(self.draft_accepted_tokens, other.draft_accepted_tokens),
            other.source if self.source == "missing" else self.source,
            {**(other.raw or {}), **(self.raw or {})} or None,
        )


NOTHING = Usage()


def known(first: int | None, second: int | None) -> int | None:
    """The first figure, or the second where the first is not known."""
    return second if first is None else first


def count(value: Any) -> int | None:
    """A token count, or None for whatever is none (absent, negative, text, a boolean, huge)."""
    return value if type(value) is int and 0 <= value <= TOKENS_MAX else None


def part(parent: Any, *names: str) -> Any:
    """The value under nested keys, or None where the path leads nowhere."""
    for name in names:
        parent = parent.get(name) if isinstance(parent, dict) else None
    return parent


def within(parent: dict[str, Any], name: str) -> dict[str, Any]:
    """The object under a key, or an empty one where there is none."""
    found = parent.get(name)
    return found if isinstance(found, dict) else {}


def name(value: Any) -> str | None:
    """A short identifier as the ledger takes it (1 to 256 characters), else None."""
    if not isinstance(value, str) or not value:
        return None
    short = value[:_NAME_CHARS].replace("\0", "?")
    return short if short.isascii() else short.encode("utf-8", "replace").decode()


def numbers(value: Any) -> dict[str, Any] | None:
    """An object without its texts: numbers, booleans and nulls stay, bounded in size and depth."""
    if not isinstance(value, dict):
        return None
    left = [_RAW_ITEMS]
    return _object(value, left, 0) or None


def _object(value: dict[Any, Any], left: list[int], depth: int) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, item in value.items():
        if (
            isinstance(key, str)
            and len(key) <= _KEY_CHARS
            and "\0" not in key
            and _take(item, left, depth)
        ):
            kept[key] = _inner(item, left, depth) if isinstance(item, _HOLDERS) else item
    return kept


def _inner(item: Any, left: list[int], depth: int) -> Any:
    if isinstance(item, dict):
        return _object(item, left, depth + 1)
    if isinstance(item, list):
        return [_inner(each, left, depth + 1) for each in item if _take(each, left, depth + 1)]
    return item


def _take(item: Any, left: list[int], depth: int) -> bool:
    """Whether an item may stay; each one that does uses up a place."""
    left[0] -= 1
    if left[0] < 0 or depth >= _RAW_DEPTH:
        return False
    if isinstance(item, int):
        return -INT64_MAX <= item <= INT64_MAX
    if isinstance(item, float):
        return -_FLOAT_MAX < item < _FLOAT_MAX  # false of what is not a number
    return item is None or isinstance(item, _HOLDERS)
