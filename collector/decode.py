"""From bytes to events: strict JSON in, events and named refusals out.

Bodies take the fastest of three readers that can prove that it loses nothing: one straight into
events, a portion at a time, one over plain objects, and a careful one that knows which key stood
twice and which text is no text. All give the same events and refusals.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from collector.events import DEPTH_MAX, KINDS, AnyEvent, Event
from collector.parcel import PORTION, Packer, Parcel, pack

_PARTS = msgspec.json.Decoder(list[msgspec.Raw])
_ARRAY = msgspec.json.Decoder(list[AnyEvent])
_ONE = msgspec.json.Decoder(AnyEvent)
EVENTS_MAX = 50_000
ERROR_MAX = 500
SCAN = 128 * 1024
COLON, QUOTE = ord(":"), ord('"')
Body = bytes | bytearray


class Malformed(ValueError):
    """The body as a whole cannot be read."""


class TooMany(ValueError):
    """The body holds more events than are taken at once."""


@dataclass(frozen=True)
class Rejected:
    """One event that the contract refuses: where it stood, and which field is wrong."""

    index: int
    event_id: str | None
    field: str
    error: str
    kind: str | None = None


@dataclass(frozen=True)
class Decoded:
    """A body's events, the index at which each stood in it, and those that are refused."""

    parcel: Parcel
    indexes: Sequence[int]
    rejected: list[Rejected]


class Flaw(ValueError):
    """Stands in a decoded tree for a piece of JSON that must be refused."""

    def __init__(self, error: str, item: dict[str, Any] | None = None) -> None:
        super().__init__(error)
        self.item = item or {}


def decode(body: Body, *, ndjson: bool = False) -> Decoded:
    """Read a JSON array (or one event per line) into a parcel of events, and refusals.

    Raises Malformed when the body is no JSON at all, or no array of objects; TooMany beyond
    EVENTS_MAX events or lines.
    """
    if ndjson:
        _refuse_many(body.count(b"\n"))
    parcel = _canonical(body, ndjson)
    if parcel is not None:
        return Decoded(parcel, range(len(parcel)), [])
    items = _lines(body) if ndjson else _array(body)
    _refuse_many(len(items))
    try:
        # One call for all costs half of one call for each.
        events = msgspec.convert(items, list[AnyEvent], strict=True)
        return Decoded(pack(events), range(len(events)), [])
    except msgspec.ValidationError:
        return _one_by_one(items)


def _canonical(body: Body, ndjson: bool) -> Parcel | None:
    """The events, if none can be wrong and every key in the text made a difference.

    A field that is not told has its default and is not written again. So what is written has at
    most as many keys as the text has different ones; where it has as many as the text has keys,
    none stood twice.
    """
    if b"\\" in body:
        return None
    packer = Packer()
    try:
        parts = _split(body) if ndjson else _PARTS.decode(body)
        _refuse_many(len(parts))
        for start in range(0, len(parts), PORTION):
            some = parts[start : start + PORTION]
            text = b"[%b]" % b",".join(some)
            # A line is decoded by itself: it might hold two events and a comma.
            events = [_ONE.decode(line) for line in some] if ndjson else _ARRAY.decode(text)
            if _keys(text) != _keys(packer.add(events)):
                return None
    except (msgspec.MsgspecError, RecursionError, OverflowError):
        return None
    return packer.parcel()


def _refuse_many(found: int) -> None:
    """Each refusal costs far more than the two bytes that it may take to earn one."""
    if found > EVENTS_MAX:
        raise TooMany(f"the body holds more than {EVENTS_MAX} events; send smaller batches")


def _one_by_one(items: Sequence[Any]) -> Decoded:
    indexes: list[int] = []
    events: list[Event] = []
    rejected: list[Rejected] = []
    for index, item in enumerate(items):
        try:
            events.append(_event(item))
            indexes.append(index)
        except (msgspec.ValidationError, Flaw) as error:
            rejected.append(_rejection(index, item, error))
    return Decoded(pack(events), indexes, rejected)


def _event(item: Any) -> Event:
    if isinstance(item, Flaw):
        raise item
    event: Event = msgspec.convert(item, AnyEvent, strict=True)
    return event


def _rejection(index: int, item: Any, error: Exception) -> Rejected:
    message, _, path = str(error).partition(" - at `$")
    told = item.item if isinstance(item, Flaw) else item if isinstance(item, dict) else {}
    event_id, kind = told.get("event_id"), told.get("kind")
    if not isinstance(event_id, str) or not event_id.isprintable() or len(event_id) > 256:
        event_id = None
    if not isinstance(kind, str) or kind not in KINDS:
        kind = None
    field = path.rstrip("`").lstrip(".") or _named(message)
    return Rejected(index, event_id, field[:ERROR_MAX], message[:ERROR_MAX], kind)


def _named(message: str) -> str:
    """The field that a message names first, where it has no path; none in `Expected object`."""
    return "" if message.startswith("Expected") else message.partition("`")[2].partition("`")[0]


def _array(body: Body) -> Sequence[Any]:
    items = _json(body)
    if isinstance(items, Flaw):
        raise Malformed(str(items))
    if isinstance(items, dict):
        return [items]
    if not isinstance(items, list):
        raise Malformed("the body must be a JSON array of events")
    return items


def _lines(body: Body) -> Sequence[Any]:
    return [_line(line) for line in _split(body)]


def _split(body: Body) -> list[Body]:
    return [line for line in body.split(b"\n") if line.strip()]


def _line(line: Body) -> Any:
    try:
        return _json(line)
    except Malformed as error:
        return Flaw(str(error))


def _json(body: Body) -> Any:
    try:
        tree = msgspec.json.decode(body)
        if b"\\" not in body and _keys(body) == _keys(msgspec.json.encode(tree)):
            return tree
    except (msgspec.MsgspecError, RecursionError, OverflowError):
        pass
    return _careful(body)


def _keys(text: Body) -> int:
    """Keys in JSON without escapes, and strings that hold such a colon too.

    Counted are colons after a quote or a space (or a `!`, the byte between the two). A reader
    that keeps the last of two equal keys writes fewer than it has read.
    """
    codes = np.frombuffer(text, np.uint8)
    found = 0
    for start in range(0, len(codes) - 1, SCAN):  # in parts that stay in the processor's cache
        part = codes[start : start + SCAN + 1]
        found += int(np.count_nonzero((part[1:] == COLON) & (part[:-1] <= QUOTE)))
    return found


def _careful(body: Body) -> Any:
    try:
        text = body.decode("utf-8")
        tree = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("the JSON is nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"not JSON: {error}") from None
    if isinstance(tree, list):
        return [_flawed(item) for item in tree]
    return _flawed(tree)


def _flawed(item: Any) -> Any:
    """The item, or the first flaw inside it."""
    flaw = next(_flaws(item, "", 0), None)
    if flaw is None or isinstance(item, Flaw):
        return item
    if isinstance(item, dict):
        flaw.item = item
    return flaw


def _flaws(item: Any, where: str, depth: int) -> Iterator[Flaw]:
    if depth > DEPTH_MAX + 1:
        yield Flaw(f"`{where[:64]}` nests deeper than {DEPTH_MAX} levels")
    elif isinstance(item, Flaw):
        yield Flaw(f"`{where}`: {item}") if where else item
    elif isinstance(item, str) and (odd := _odd(item)):
        yield Flaw(f"`{where}` holds {odd}")
    elif isinstance(item, dict):
        for name, value in item.items():
            if odd := _odd(name):
                yield Flaw(f"`{where}` has a key that holds {odd}")
            yield from _flaws(value, f"{where}.{name}".lstrip("."), depth + 1)
    elif isinstance(item, list):
        for index, value in enumerate(item):
            yield from _flaws(value, f"{where}[{index}]", depth + 1)


def _odd(value: str) -> str | None:
    """What makes a text one that cannot be kept. Both come only as escapes, so only here."""
    if "\0" in value:
        return "a NUL character"
    try:
        value.encode()
    except UnicodeEncodeError:
        return "a lone surrogate, which is no text"
    return None


def _unique(pairs: list[tuple[str, Any]]) -> Any:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    names = [name for name, _ in pairs]
    twice = next(name for name in names if names.count(name) > 1)
    return Flaw(f"the key `{twice[:64]}` stands twice in one object", found)


def _no_constant(name: str) -> Flaw:
    return Flaw(f"{name} is not JSON")
