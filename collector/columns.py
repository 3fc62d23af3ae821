"""From events to Arrow: one flat schema per event kind, derived from the contract."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
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


@dataclass(frozen=True)
class Column:
    """One stored column: `field` is the event's name for it, `name` the column's (unit last)."""

    field: str
    name: str
    type: pa.DataType
    nullable: bool
    unit: str
    text: str


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


def time_ns(kind: str, event: Event) -> int:
    """The instant by which an event is placed, ns since the epoch."""
    return to_ns(getattr(event, TIME_FIELD[kind]))


def to_arrow(kind: str, events: Sequence[Event]) -> pa.RecordBatch:
    """Events of one kind as one record batch of `schema(kind)`."""
    arrays = [
        pa.array([_value(getattr(e, c.field)) for e in events], type=c.type) for c in columns(kind)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema(kind))


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_ns(value)
    if isinstance(value, dict | msgspec.Struct):
        return msgspec.json.encode(value, order="deterministic").decode()
    return value


def _column(field: str, hint: Any) -> Column:
    text, unit = "", ""
    if get_origin(hint) is Annotated:
        for meta in hint.__metadata__:
            if isinstance(meta, msgspec.Meta) and meta.description is not None:
                text, unit = meta.description, (meta.extra or {}).get("unit", "")
        hint = get_args(hint)[0]
    hint, nullable = _without_none(hint)
    name = f"{field}_ns" if unit == "instant" else field
    return Column(field, name, _arrow_type(hint), nullable, "ns" if unit == "instant" else unit, text)


def _without_none(hint: Any) -> tuple[Any, bool]:
    if get_origin(hint) in (Union, UnionType):
        parts = [part for part in get_args(hint) if part is not type(None)]
        return parts[0], True
    return hint, False


def _arrow_type(hint: Any) -> pa.DataType:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) is list:
        return pa.list_(_arrow_type(get_args(hint)[0]))
    if hint in (int, datetime):
        return pa.int64()
    if hint is str or get_origin(hint) in (Literal, dict):
        return pa.string()
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return pa.string()
    raise TypeError(f"no column type for {hint!r}")
