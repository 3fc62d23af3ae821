"""Rows of long conversations take many thousand bytes: these bound what is handled at once."""

import random
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from rig.ledger import attempt

from collector import compact, seal
from collector.events import Attempt
from collector.repair import Listed
from collector.snapshot import snapshot
from collector.store import Store

EVER = (0, 2**62)
MESSAGES = 300
KEY_B = 27


def talks(numbers: Iterable[int], *, same: bool = False) -> list[Attempt]:
    """Requests, a second apart, of 300 messages each; `same`: all of one conversation."""
    made = []
    for number in numbers:
        dice = random.Random(0 if same else number)
        keys = [f"k1:{dice.getrandbits(96):024x}" for _ in range(MESSAGES)]
        assert len(keys[0]) == KEY_B
        tokens = [64 * (n + 1) for n in range(MESSAGES)]
        fields = {"prefix": keys, "prefix_tokens": tokens, "input_tokens": 64 * MESSAGES}
        made.append(attempt(f"{number}", number, number + 1, **fields))
    return made


def in_memory(path: Path) -> list[list[int]]:
    """How many bytes each part of each sealed file takes once it is read."""
    found = []
    for file in snapshot(path, "attempt", *EVER).files:
        with pq.ParquetFile(file) as parquet:
            groups = range(parquet.num_row_groups)
            found.append([parquet.read_row_group(number).nbytes for number in groups])
    return found


def ids(path: Path) -> list[int]:
    """The requests that are sealed, in the order of the files."""
    files = snapshot(path, "attempt", *EVER).files
    tables = [pq.read_table(file, columns=["event_id"], partitioning=None) for file in files]
    return [int(name) for table in tables for name in table["event_id"].to_pylist()]


def test_a_round_of_a_seal_is_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seal, "ROUND_B", 400_000)
    with Store(tmp_path) as store:
        for first in (0, 5, 10, 15, 20):
            store.append(talks(range(first, first + 5)))  # some 60 kB
        store.append(talks(range(25, 85)))  # some 700 kB, more than a round: it stands alone
        store.append(talks(range(85, 90)))
        with closing(sqlite3.connect(tmp_path / "manifest.sqlite")) as db:
            sizes_b = dict(db.execute("SELECT id, length(batch) FROM hot"))
        rounds = [written.hot_ids for written in seal.rounds(tmp_path)]
    assert sum(sizes_b.values()) > 2 * seal.ROUND_B
    assert [hot_id for hot_ids in rounds for hot_id in hot_ids] == sorted(sizes_b)
    assert [len(hot_ids) for hot_ids in rounds] == [5, 1, 1]
    assert sizes_b[rounds[1][0]] > seal.ROUND_B


def test_what_a_reader_decodes_at_once_is_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seal, "GROUP_B", 200_000)
    with Store(tmp_path) as store:
        store.append(talks(range(100)))
        store.seal()
    ((*parts,),) = in_memory(tmp_path)
    assert sum(parts) > 100 * MESSAGES * KEY_B
    assert max(parts) <= 1.1 * seal.GROUP_B
    assert ids(tmp_path) == list(range(100))


@pytest.mark.parametrize("same", [False, True], ids=["many conversations", "one conversation"])
def test_a_merge_is_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, same: bool
) -> None:
    """The keys of one conversation come again and again; a file holds them once, memory often."""
    monkeypatch.setattr(compact, "PART_B", 400_000)
    with Store(tmp_path, compact_files=4) as store:
        for first in range(4):  # the files overlap in time
            store.append(talks(range(first, 200, 4), same=same))
            store.seal()
        assert store.compact() == 4
    ((*parts,),) = in_memory(tmp_path)
    assert sum(parts) > 200 * MESSAGES * KEY_B
    assert max(parts) <= 1.5 * compact.PART_B
    assert len(parts) < 3 * sum(parts) / compact.PART_B
    assert ids(tmp_path) == list(range(200))


def test_a_merged_file_is_bounded_in_bytes() -> None:
    """60 MiB on disk and 50 fit into one file, 20 more do not; 65 are left alone."""
    listed = [
        Listed(n, "attempt", "2026-10", f"{n}", 10, n, n, size_mib << 20, None)
        for n, size_mib in enumerate((60, 50, 20, 65, 30, 64))
    ]
    groups = [[each.id for each in group] for group in compact.groups(listed, 2)]
    assert groups == [[0, 1], [2, 4, 5]]
