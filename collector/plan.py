"""What becomes of each event of an append: fresh, a duplicate, a conflict; and its writing."""

import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from collector import keys
from collector.batch import COLUMNS, Batch
from collector.events import Event
from collector.identity import Mark
from collector.touched import touch


@dataclass
class Plan:
    """Indexes of the events by what becomes of them, the keys to know and versions replaced."""

    fresh: list[int] = field(default_factory=list)
    duplicate_at: list[int] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)
    keys: dict[bytes, Mark] = field(default_factory=dict)
    superseded: dict[tuple[str, str, int], Mark] = field(default_factory=dict)


def plan(db: sqlite3.Connection, events: Sequence[Event], marks: Sequence[Mark]) -> Plan:
    """Weigh events, in their order, against what the ledger knows."""
    found = Plan()
    known = keys.known(db, {m.key for m in marks})
    for index, (event, told) in enumerate(zip(events, marks, strict=True)):
        stored = known.get(told.key)
        if stored is not None and stored.digest == told.digest:
            found.duplicate_at.append(index)
        elif stored is None or told.revision > stored.revision:
            if stored is not None:
                found.superseded[event.source, event.event_id, stored.revision] = stored
            found.keys[told.key] = known[told.key] = told
            found.fresh.append(index)
        elif _told_before(db, event, told, found):
            found.duplicate_at.append(index)
        else:
            found.conflicts.append(index)
    return found


def _told_before(db: sqlite3.Connection, event: Event, told: Mark, found: Plan) -> bool:
    """Whether this is a late second telling of a version that was replaced since."""
    identity = (event.source, event.event_id, told.revision)
    if identity in found.superseded:
        return found.superseded[identity].digest == told.digest
    query = "SELECT digest FROM superseded WHERE source = ? AND event_id = ? AND revision = ?"
    row = db.execute(query, identity).fetchone()
    return row is not None and row[0] == told.digest


def write(
    db: sqlite3.Connection,
    fresh: Sequence[Event],
    packed: list[Batch],
    found: Plan,
    marks: Sequence[Mark],
) -> None:
    """Keep the fresh events, packed, and all that the plan says, in the caller's transaction."""
    db.executemany(f"INSERT INTO hot ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", packed)  # noqa: S608
    touch(db, fresh, found.superseded.values())
    keys.enter(db, found.keys.values())
    db.executemany(
        keys.REPLACED,
        [(*identity, old.kind, old.digest) for identity, old in found.superseded.items()],
    )
    counted = Counter(("accepted", marks[i].kind, marks[i].month) for i in found.fresh)
    counted.update(("duplicate", marks[i].kind, marks[i].month) for i in found.duplicate_at)
    counted.update(("conflict", marks[i].kind, marks[i].month) for i in found.conflicts)
    db.executemany(
        "INSERT INTO counter VALUES (?, ?, ?, ?)"
        " ON CONFLICT (name, kind, month) DO UPDATE SET value = value + excluded.value",
        [(*name, value) for name, value in counted.items()],
    )
