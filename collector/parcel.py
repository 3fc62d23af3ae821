"""Parcels: events made ready to be kept, as marks and Arrow rows, their objects let go.

An event has some seventy objects, and going through those of a whole body again and again costs
most for fetching them into the processor's cache. So a portion of the events goes all the way
before the next one is looked at.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from collector.columns import to_arrow
from collector.events import Event
from collector.identity import IDENTITY, Mark, marks

PORTION = 200  # events whose objects fit a core's cache


@dataclass(frozen=True)
class Part:
    """The rows of one kind; `places` tells each one's place in the parcel, ascending."""

    places: np.ndarray
    rows: pa.Table


@dataclass(frozen=True)
class Parcel:
    """Events in the order told: a mark for each, and their rows by kind."""

    marks: Sequence[Mark]
    parts: Mapping[str, Part]

    def __len__(self) -> int:
        return len(self.marks)

    def identity(self, place: int) -> tuple[str, str]:
        """Source and id of the event at a place."""
        part = self.parts[self.marks[place].kind]
        row = int(np.searchsorted(part.places, place))
        source, event_id = (part.rows[name][row].as_py() for name in IDENTITY)
        return source, event_id

    def rows(self, places: Sequence[int]) -> dict[str, pa.Table]:
        """The rows of the events at these places, by kind; no kind without any."""
        if not places:
            return {}
        if len(places) == len(self):
            return {kind: part.rows for kind, part in self.parts.items()}
        wanted = np.zeros(len(self), bool)
        wanted[np.asarray(places, np.intp)] = True
        found = {
            kind: part.rows.filter(pa.array(wanted[part.places]))
            for kind, part in self.parts.items()
        }
        return {kind: rows for kind, rows in found.items() if rows.num_rows}


class Packer:
    """Packs events into a parcel, a portion at a time."""

    def __init__(self) -> None:
        self._marks: list[Mark] = []
        self._places: dict[str, list[np.ndarray]] = defaultdict(list)
        self._rows: dict[str, list[pa.RecordBatch]] = defaultdict(list)

    def add(self, events: Sequence[Event]) -> bytes:
        """Take events in; returns their canonical text, a line each.

        Raises ValueError for an event that cannot be stored.
        """
        by_kind: dict[str, list[int]] = defaultdict(list)
        try:
            told, text = marks(events)
            for place, each in enumerate(told):
                by_kind[each.kind].append(place)
            for kind, places in by_kind.items():
                self._rows[kind].append(to_arrow(kind, [events[place] for place in places]))
                self._places[kind].append(np.array(places) + len(self._marks))
        except (KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"an event cannot be stored: {error!r}") from error
        self._marks += told
        return text

    def parcel(self) -> Parcel:
        """All that was taken in."""
        parts = {
            kind: Part(
                np.concatenate(self._places[kind]), pa.Table.from_batches(rows).combine_chunks()
            )
            for kind, rows in self._rows.items()
        }
        return Parcel(self._marks, parts)


def pack(events: Sequence[Event]) -> Parcel:
    """A parcel of these events. Raises ValueError for an event that cannot be stored."""
    packer = Packer()
    for start in range(0, len(events), PORTION):
        packer.add(events[start : start + PORTION])
    return packer.parcel()


def joined(parcels: Sequence[Parcel]) -> Parcel:
    """Several parcels as one, in their order."""
    if len(parcels) == 1:
        return parcels[0]
    told: list[Mark] = []
    parts: dict[str, list[Part]] = defaultdict(list)
    for parcel in parcels:
        for kind, part in parcel.parts.items():
            parts[kind].append(Part(part.places + len(told), part.rows))
        told += parcel.marks
    return Parcel(told, {kind: _joined(some) for kind, some in parts.items()})


def _joined(parts: Iterable[Part]) -> Part:
    places, rows = zip(*((part.places, part.rows) for part in parts), strict=True)
    return Part(np.concatenate(places), pa.concat_tables(rows).combine_chunks())
