"""Hot batches: events of one kind as an Arrow stream, with a checksum over all that is said of it.

SQLite does not notice a flipped bit inside a blob; the checksum does.
"""

import zlib
from typing import NamedTuple

import pyarrow as pa

from collector.columns import schema, time_column

COLUMNS = "kind, rows, min_ns, max_ns, batch, crc"
COLUMNS_BEFORE_CRC = "kind, rows, min_ns, max_ns, batch, NULL"
CRC_SINCE_VERSION = 3


class DamagedBatch(ValueError):
    """A batch is not what was written; the message says what is wrong."""


class Batch(NamedTuple):
    """A row of `hot`, in the order of COLUMNS."""

    kind: str
    rows: int
    min_ns: int
    max_ns: int
    batch: bytes
    crc: int | None

    @property
    def table(self) -> pa.Table:
        """The rows. Raises DamagedBatch."""
        if self.crc is not None and self.crc != _crc(*self[:-1]):
            raise DamagedBatch("its checksum is wrong")
        try:
            return pa.ipc.open_stream(self.batch).read_all()
        except pa.ArrowException as error:
            raise DamagedBatch(f"it is no Arrow stream ({error})") from None


def batch_of(kind: str, table: pa.Table) -> Batch:
    """Rows of one kind, at least one, as a batch."""
    times = table[time_column(kind)].to_numpy()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema(kind)) as writer:
        writer.write_table(table)
    span = int(times.min()), int(times.max())
    told = (kind, table.num_rows, *span, sink.getvalue().to_pybytes())
    return Batch(*told, _crc(*told))


def _crc(kind: str, rows: int, min_ns: int, max_ns: int, batch: bytes) -> int:
    return zlib.crc32(batch, zlib.crc32(f"{kind} {rows} {min_ns} {max_ns}".encode()))
