"""What becomes of each event of an append: fresh, a duplicate, a conflict; and its writing."""

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from collector import keys
from collector.batch import COLUMNS, batch_of
from collector.identity import Mark
from collector.parcel import Parcel
from collector.touched import touch


@dataclass
class Plan:
    """Places of the events by what becomes of them, the keys to know and versions replaced."""

    fresh: list[int] = field(default_factory=list)
    duplicate_at: list[int] = field(default_factory=list)
    conflicts: list[int] = field(default_factory=list)
    keys: dict[bytes, Mark] = field(default_factory=dict)
    superseded: dict[tuple[str, str, int], Mark] = field(default_factory=dict)


def plan(db: sqlite3.Connection, parcel: Parcel) -> Plan:
    """Weigh events, in their order, against what the ledger knows."""
    told = {mark.key: mark for mark in parcel.marks}
    known = keys.known(db, told)
    if not known and len(told) == len(parcel):
        return Plan(fresh=list(range(len(parcel))), keys=told)
    found = Plan()
    for place in range(len(parcel)):
        _weigh(db, parcel, place, known, found)
    return found


def _weigh(
    db: sqlite3.Connection, parcel: Parcel, place: int, known: dict[bytes, Mark], found: Plan
) -> None:
    told = parcel.marks[place]
    stored = known.get(told.key)
    if stored is not None and stored.digest == told.digest:
        found.duplicate_at.append(place)
    elif stored is None or told.revision > stored.revision:
        if stored is not None:
            found.superseded[*parcel.identity(place), stored.revision] = stored
        found.keys[told.key] = known[told.key] = told
        found.fresh.append(place)
    elif _told_before(db, parcel.identity(place), told, found):
        found.duplicate_at.append(place)
    else:
        found.conflicts.append(place)


def _told_before(db: sqlite3.Connection, event: tuple[str, str], told: Mark, found: Plan) -> bool:
    """Whether this is a late second telling of a version that was replaced since."""
    identity = (*event, told.revision)
    if identity in found.superseded:
        return found.superseded[identity].digest == told.digest
    query = "SELECT digest FROM superseded WHERE source = ? AND event_id = ? AND revision = ?"
    row = db.execute(query, identity).fetchone()
    return row is not None and row[0] == told.digest


def write(
    db: sqlite3.Connection, fresh: Mapping[str, pa.Table], found: Plan, marks: Sequence[Mark]
) -> None:
    """Keep the fresh rows and all that the plan says, in the caller's transaction."""
    packed = [batch_of(kind, rows) for kind, rows in fresh.items()]
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
