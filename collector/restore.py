"""From stored rows back to events: the inverse of `columns.to_arrow`.

The way back is exact, so that a key and a digest can be worked out from a stored row again.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
import pyarrow as pa

from collector.clock import from_ns
from collector.columns import Column, columns
from collector.events import KINDS, Event, Route

ROWS = 10_000  # at a time: Python's objects take some 3 kB a row


def from_arrow(kind: str, rows: pa.Table) -> Iterator[Event | None]:
    """The events of a table of `schema(kind)`, in its order.

    None stands for a row that the contract admitted once and no longer does. Raises KeyError,
    ValueError for a table of something else.
    """
    struct, wanted = KINDS[kind], columns(kind)
    fields = [column.field for column in wanted]
    defaults = {field.name: field.default for field in msgspec.structs.fields(struct)}
    for batch in rows.to_batches(max_chunksize=ROWS):
        told = [
            _values(column, batch[column.name].to_pylist(), defaults[column.field])
            for column in wanted
        ]
        for values in zip(*told, strict=True):
            try:
                event = struct(**dict(zip(fields, values, strict=True)))
            except ValueError:
                event = None
            yield event


def _values(column: Column, stored: list[Any], default: Any) -> list[Any]:
    if column.form == "instant":
        return [None if value is None else from_ns(value) for value in stored]
    if column.form == "json":
        kind: Any = Route if column.field == "route" else dict[str, Any]
        decoder = msgspec.json.Decoder(kind)
        return [None if value is None else decoder.decode(value) for value in stored]
    if isinstance(default, str):
        # The digest leaves a field out where it is the default itself, not an equal text.
        return [default if value == default else value for value in stored]
    return stored
