"""What makes an event the same event: its key, and a digest of its content."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from collector.columns import TIME_FIELD
from collector.events import KIND_OF, Event

# The digest's text: JSON without spaces, fields in the contract's order less those at their
# default, the keys of `raw_usage` sorted. Digests are kept for months: this never changes.
_ENCODER = msgspec.json.Encoder(order="deterministic")
IDENTITY = ["source", "event_id"]


class Mark(NamedTuple):
    """An event as the idempotency table knows it, in that table's column order."""

    key: bytes
    digest: bytes
    revision: int
    month: int
    kind: str


def mark(event: Event) -> Mark:
    """Key and digest (16 bytes), revision, UTC month (202610) and kind of an event.

    Equal instants written in different zones give equal digests. Raises KeyError or ValueError
    for what is no storable event.
    """
    (found,), _ = marks([event])
    return found


def marks(events: Sequence[Event]) -> tuple[list[Mark], bytes]:
    """The marks of events, and the text that was digested, a line for each."""
    kinds = [KIND_OF[type(event)] for event in events]
    told = [_in_utc(event, TIME_FIELD[kind]) for event, kind in zip(events, kinds, strict=True)]
    text = _ENCODER.encode_lines([event for event, _ in told])
    found = [
        Mark(
            key(event.source, event.event_id),
            blake2b(line, digest_size=16).digest(),
            event.revision,
            instant.year * 100 + instant.month,
            kind,
        )
        # No line break can stand inside a line: JSON writes it as an escape.
        for (event, instant), kind, line in zip(told, kinds, text.split(b"\n"), strict=False)
    ]
    return found, text


def _in_utc(event: Event, name: str) -> tuple[Event, datetime]:
    """The event with its instant written in UTC, and that instant."""
    instant: datetime = getattr(event, name)
    if instant.tzinfo is UTC:
        return event, instant
    instant = instant.astimezone(UTC)
    return msgspec.structs.replace(event, **{name: instant}), instant


def key(source: str, event_id: str) -> bytes:
    """The idempotency key: the id's first bytes, then a digest of source and id.

    Ids that begin with their time (UUIDv7, ULID) thus lie side by side in the table of keys: a
    batch of them touches a few of its pages, where a digest alone touches one for each event.
    """
    told = event_id.encode()
    return told[:12] + blake2b(source.encode() + b"\0" + told, digest_size=12).digest()
