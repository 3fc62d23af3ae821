"""What makes an event the same event: its key, and a digest of its content."""

from datetime import UTC
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from collector.columns import TIME_FIELD
from collector.events import KIND_OF, Event

_ENCODER = msgspec.json.Encoder(order="deterministic")


class Mark(NamedTuple):
    """An event as the idempotency table knows it, in that table's column order."""

    key: bytes
    digest: bytes
    revision: int
    month: int
    kind: str


def mark(event: Event) -> Mark:
    """Key and digest (16 bytes each), revision, UTC month (202610) and kind of an event.

    Equal instants written in different zones give equal digests. Raises KeyError or ValueError
    for what is no storable event.
    """
    kind = KIND_OF[type(event)]
    name = TIME_FIELD[kind]
    instant = getattr(event, name)
    if instant.tzinfo is not UTC:
        instant = instant.astimezone(UTC)
        event = msgspec.structs.replace(event, **{name: instant})
    identity = f"{event.source}\0{event.event_id}".encode()
    return Mark(
        key=blake2b(identity, digest_size=16).digest(),
        digest=blake2b(_ENCODER.encode(event), digest_size=16).digest(),
        revision=event.revision,
        month=instant.year * 100 + instant.month,
        kind=kind,
    )
