"""From bytes to events: strict JSON in, events and named refusals out."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec

from collector.events import AnyEvent, Event


class Malformed(ValueError):
    """The body as a whole cannot be read."""


@dataclass(frozen=True)
class Rejected:
    """One event that the contract refuses: where it stood, and which field is wrong."""

    index: int
    event_id: str | None
    field: str
    error: str


def decode(body: bytes, *, ndjson: bool = False) -> tuple[list[tuple[int, Event]], list[Rejected]]:
    """Read a JSON array (or one event per line) into events with their places, and refusals.

    Raises Malformed when the body is no JSON at all, or no array of objects.
    """
    items = _lines(body) if ndjson else _array(body)
    events: list[tuple[int, Event]] = []
    rejected: list[Rejected] = []
    for index, item in enumerate(items):
        try:
            events.append((index, _event(item)))
        except msgspec.ValidationError as error:
            rejected.append(_rejection(index, item, error))
    return events, rejected


def _event(item: Any) -> Event:
    if isinstance(item, Exception):
        raise msgspec.ValidationError(str(item))
    return msgspec.convert(item, AnyEvent, strict=True)  # type: ignore[return-value]


def _rejection(index: int, item: Any, error: msgspec.ValidationError) -> Rejected:
    text = str(error)
    message, _, path = text.partition(" - at `$")
    event_id = item.get("event_id") if isinstance(item, dict) else None
    field = path.rstrip("`").lstrip(".") or _unknown_field(message)
    return Rejected(index, event_id if isinstance(event_id, str) else None, field, message)


def _unknown_field(message: str) -> str:
    """The field that msgspec names inside its message rather than in a path."""
    return message.split("`")[1] if message.count("`") >= 2 else ""


def _array(body: bytes) -> Sequence[Any]:
    items = _json(body)
    if isinstance(items, dict):
        return [items]
    if not isinstance(items, list):
        raise Malformed("the body must be a JSON array of events")
    return items


def _lines(body: bytes) -> Sequence[Any]:
    return [_line(line) for line in body.splitlines() if line.strip()]


def _line(line: bytes) -> Any:
    try:
        return _json(line)
    except Malformed as error:
        return error


def _json(body: bytes) -> Any:
    try:
        text = body.decode("utf-8")
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        raise Malformed("the JSON is nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"not JSON: {error}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Malformed(f"the key {twice!r} stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise Malformed(f"{name} is not JSON")
