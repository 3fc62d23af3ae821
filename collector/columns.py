"""From events to Arrow: one flat schema per event kind, derived from the contract."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pyarrow as pa

from collector.clock import to_ns
from collector.events import KINDS, Event

# The instant by which a kind's rows are sorted into months and found again.
TIME_FIELD = {
    "attempt": "received_at",
    "sample": "at",
    "heartbeat": "at",
    "engine": "at",
    "host": "at",
}

_JSON = msgspec.json.Encoder(order="deterministic")
INSTANT = "ns since 1970 UTC"
PREFACE = """# Data dictionary

What the ledger keeps: one table per event kind, sealed as `month=YYYY-MM/<kind>-<id>.parquet`
(zstd) and, until then, as Arrow batches in `manifest.sqlite`. Null means unknown, never zero.
`(source, event_id)` is an event's identity; a version that a higher `revision` has replaced is
listed in the manifest's table `superseded` until compaction drops it from its file.

No text holds a NUL character. An attempt's durations are at most 30 days, a host's at most 3650
days either way, counts of tokens at most 2^40; what lies beyond is refused, not stored.

This page is what `python -m collector.columns` prints; a test compares the two.
"""


@dataclass(frozen=True)
class Column:
    """One stored column: `field` is the event's name for it, `name` the column's (unit last)."""

    field: str
    name: str
    type: pa.DataType
    nullable: bool
    unit: str
    text: str
    form: Literal["plain", "instant", "json"] = "plain"


@cache
def columns(kind: str) -> tuple[Column, ...]:
    """The columns of a kind, in the contract's order. Raises KeyError for an unknown kind."""
    hints = get_type_hints(KINDS[kind], include_extras=True)
    return tuple(_column(name, hints[name]) for name in KINDS[kind].__struct_fields__)


@cache
def schema(kind: str) -> pa.Schema:
    """The Arrow schema of a kind."""
    return pa.schema([pa.field(c.name, c.type, c.nullable) for c in columns(kind)])


def time_column(kind: str) -> str:
    """The column (ns since the epoch, UTC) by which a kind is placed."""
    return f"{TIME_FIELD[kind]}_ns"


def to_arrow(kind: str, events: Sequence[Event]) -> pa.RecordBatch:
    """Events of one kind as one record batch of `schema(kind)`."""
    told = _by_column(kind, events)
    arrays = [
        pa.array(_stored(column, values), type=column.type)
        for column, values in zip(columns(kind), told, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema(kind))


def _by_column(kind: str, events: Sequence[Event]) -> Sequence[Sequence[Any]]:
    if not events:
        return [()] * len(columns(kind))
    return list(zip(*map(msgspec.structs.astuple, events), strict=True))


def _stored(column: Column, told: Sequence[Any]) -> Sequence[Any]:
    if column.form == "instant":
        return [None if value is None else to_ns(value) for value in told]
    if column.form == "json":
        return [None if value is None else _JSON.encode(value).decode() for value in told]
    return told


def _column(field: str, hint: Any) -> Column:
    text, unit = "", ""
    if get_origin(hint) is Annotated:
        for meta in hint.__metadata__:
            if isinstance(meta, msgspec.Meta) and meta.description is not None:
                text, unit = meta.description, (meta.extra or {}).get("unit", "")
        hint = get_args(hint)[0]
    hint, nullable = _without_none(hint)
    if unit == "instant":
        return Column(field, f"{field}_ns", pa.int64(), nullable, INSTANT, text, "instant")
    form: Literal["plain", "json"] = "json" if _is_object(hint) else "plain"
    return Column(field, field, _arrow_type(hint), nullable, unit, text, form)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        return parts[0], True
    return hint, False


def _bare(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def _is_object(hint: Any) -> bool:
    bare = _bare(hint)
    return get_origin(bare) is dict or (isinstance(bare, type) and issubclass(bare, msgspec.Struct))


def _arrow_type(hint: Any) -> pa.DataType:
    hint = _bare(hint)
    if get_origin(hint) is list:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    if hint is int:
        return pa.int64()
    if hint is str or get_origin(hint) is Literal or _is_object(hint):
        return pa.string()
    raise TypeError(f"no column type for {hint!r}")


def dictionary() -> str:
    """The data dictionary as Markdown: a table per kind, straight from the contract."""
    parts = [PREFACE]
    for kind, struct in KINDS.items():
        summary = (struct.__doc__ or "").strip().partition("\n")[0]
        parts += [f"## {kind}\n", f"{summary}\n", "| column | type | unit | null | meaning |"]
        parts += ["|---|---|---|---|---|", *(_row(column) for column in columns(kind)), ""]
    return "\n".join(parts)


def _row(column: Column) -> str:
    stored = str(column.type)
    if pa.types.is_list(column.type):
        stored = f"list of {column.type.value_type}"
    if column.form == "json":
        stored = "string (JSON)"
    null = "unknown" if column.nullable else "never"
    cells = (f"`{column.name}`", stored, column.unit, null, column.text)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(dictionary())
