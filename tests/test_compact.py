"""Small files become large ones: every row once, at every moment, for every reader."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.events import NOON_NS, host

from analytics.read import Ledger
from collector import compact
from collector.clock import SECOND_NS, now_ns
from collector.events import Host
from collector.repair import Listed
from collector.snapshot import Snapshot, damaged, snapshot
from collector.store import Store, StoreUnavailable

EVER = (0, 2**62)
MONTH_NS = 31 * 86_400 * SECOND_NS


def told(number: int, *, revision: int = 0, month: int = 0) -> Host:
    """Event `number`, so many seconds before the end of a month."""
    at_ns = NOON_NS - number * SECOND_NS + month * MONTH_NS
    return host(number, revision=revision, duration_ns=1 + revision, at_ns=at_ns)


def held(path: Path) -> dict[str, int]:
    """Event id to revision; fails if a reader would count one twice."""
    seen = snapshot(path, "host", *EVER)
    tables = [pq.read_table(file, partitioning=None) for file in seen.files]
    rows = [row for table in [*tables, seen.hot] for row in table.to_pylist()]
    gone = {tuple(each.values()) for each in seen.superseded.to_pylist()}
    rows = [row for row in rows if (row["source"], row["event_id"], row["revision"]) not in gone]
    found = {row["event_id"]: row["revision"] for row in rows}
    assert len(found) == len(rows) == len(Ledger(path).frame("host_events", *EVER))
    return found


def files(path: Path) -> list[Path]:
    """The files that readers are told of."""
    return snapshot(path, "host", *EVER).files


def test_small_files_of_a_kind_and_month_become_one_in_the_order_of_time(tmp_path: Path) -> None:
    with Store(tmp_path, compact_files=3) as store:
        for number in (4, 1, 7):
            store.append([told(number), told(number + 10, month=1), told(number + 20)])
            store.seal()
        old = files(tmp_path)
        assert store.compact() == 6
        assert store.segments() == 2
        assert store.compact() == 0
        assert held(tmp_path).keys() == {str(n + m) for n in (1, 4, 7) for m in (0, 10, 20)}
        new = files(tmp_path)
        assert [file.parent.name for file in new] == ["month=2026-10", "month=2026-12"]
        for file in new:
            instants = pq.read_table(file, partitioning=None)["at_ns"].to_pylist()
            assert instants == sorted(instants)
            assert file.stat().st_mode & 0o077 == 0
        assert all(file.exists() for file in old), "readers may still name them"
        assert store.bury(now_ns() - 60 * SECOND_NS) == 0
        assert store.bury(now_ns()) == 6
        assert not any(file.exists() for file in old)
        assert store.bury(now_ns()) == 0
        assert len(held(tmp_path)) == 9


def test_a_merge_in_parts_keeps_every_row_and_the_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "PART_ROWS", 3)
    seconds = [5, 5, 5, 5, 5, 1, 9, 9, 2, 7, 5, 3, 8, 8, 8, 4]  # equal instants, out of order
    with Store(tmp_path, compact_files=2) as store:
        for start in range(0, 16, 4):
            numbers = range(start, start + 4)
            store.append(
                [host(n, duration_ns=1, at_ns=NOON_NS - seconds[n] * SECOND_NS) for n in numbers]
            )
            store.seal()
        assert store.compact() == 4
    (file,) = files(tmp_path)
    rows = pq.read_table(file, partitioning=None)
    assert rows["at_ns"].to_pylist() == sorted(NOON_NS - each * SECOND_NS for each in seconds)
    assert sorted(map(int, rows["event_id"].to_pylist())) == list(range(16))
    assert pq.read_metadata(file).num_row_groups > 3


def test_replaced_rows_are_dropped_and_still_known(tmp_path: Path) -> None:
    with Store(tmp_path, compact_files=2) as store:
        store.append([told(1), told(2), told(3)])
        store.seal()
        store.append([told(1, revision=1), told(4)])
        store.seal()
        store.append([told(4, revision=2)])  # hot; the older version is sealed
        assert store.compact() == 2
        (file,) = files(tmp_path)
        rows = pq.read_table(file, partitioning=None).to_pylist()
        assert sorted((row["event_id"], row["revision"]) for row in rows) == [
            ("1", 1),
            ("2", 0),
            ("3", 0),
        ]
        assert snapshot(tmp_path, "host", *EVER).superseded.num_rows == 0
        assert held(tmp_path) == {"1": 1, "2": 0, "3": 0, "4": 2}
        late = [told(1), told(4), told(1, revision=1)]
        assert store.append(late).duplicates == 3


def test_a_month_whose_rows_were_all_replaced_has_no_file_left(tmp_path: Path) -> None:
    with Store(tmp_path, compact_files=2) as store:
        for number in (1, 2):
            store.append([told(number)])
            store.seal()
        store.append([told(number, revision=1, month=1) for number in (1, 2)])
        store.seal()
        assert store.compact() == 2
        assert [file.parent.name for file in files(tmp_path)] == ["month=2026-12"]
        assert held(tmp_path) == {"1": 1, "2": 1}


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 120), st.integers(0, 99))))
def test_groups_are_bounded_and_side_by_side(
    drawn: list[tuple[str, int, int]],
) -> None:
    segments = [
        Listed(n, kind, "2026-10", f"{n}", rows, start, start + 1, None, None)
        for n, (kind, rows, start) in enumerate(drawn)
    ]
    limit, compact.ROWS = compact.ROWS, 100
    try:
        groups = list(compact.groups(segments, 4))
    finally:
        compact.ROWS = limit
    used = [segment.id for group in groups for segment in group]
    assert len(used) == len(set(used))
    for group in groups:
        assert len({segment.kind for segment in group}) == 1
        assert sum(segment.rows for segment in group) <= 100
        assert len(group) > 1
        inside = [
            each
            for each in segments
            if each.rows <= 50
            and each.kind == group[0].kind
            and group[0].min_ns < each.min_ns < group[-1].min_ns
        ]
        assert {each.id for each in inside} <= {each.id for each in group}
    for kind in "ab":
        left = [each for each in segments if each.kind == kind and each.id not in used]
        small = [each for each in left if each.rows <= 50]
        # What stays is less than makes a merge worth it, or is large already.
        assert len(small) < 4 + 2 * len(groups)


def test_a_damaged_part_is_put_aside_before_a_merge(tmp_path: Path) -> None:
    with Store(tmp_path, compact_files=3) as store:
        for number in range(3):
            store.append([told(number)])
            store.seal()
        (hurt,) = [file for file in files(tmp_path) if "1" in held_in(file)]
        content = bytearray(hurt.read_bytes())
        content[len(content) // 3] ^= 8
        hurt.write_bytes(content)
        assert store.compact() == 0
        (tale,) = damaged(tmp_path)
        assert tale.rows in {0, 1}
        assert (tmp_path / str(tale.kept)).read_bytes() == bytes(content)
        store.append([told(5)])
        store.seal()
        assert store.compact() == 3 + (tale.rows == 0)
        assert held(tmp_path).keys() == {"0", "2", "5"} | ({"1"} if tale.rows == 0 else set())


def held_in(file: Path) -> list[str]:
    """The event ids in a file."""
    found: list[str] = pq.read_table(file, partitioning=None)["event_id"].to_pylist()
    return found


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.rename"])
def test_no_room_for_a_merge_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with Store(tmp_path, compact_files=2) as store:
        for number in range(2):
            store.append([told(number)])
            store.seal()
        before = files(tmp_path)
        with monkeypatch.context() as full:

            def no_room(*_: object) -> None:
                raise OSError(28, "No space left on device")

            full.setattr(call, no_room)
            with pytest.raises(StoreUnavailable):
                store.compact()
        assert files(tmp_path) == before
        assert sorted(tmp_path.glob("month=*/*")) == sorted(before)
        assert store.compact() == 2
        assert len(held(tmp_path)) == 2


def test_a_merge_that_a_kill_cut_off_leaves_every_row_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path, compact_files=2) as store:
        for number in range(2):
            store.append([told(number)])
            store.seal()

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(compact, "record", die)
        with pytest.raises(KeyboardInterrupt):
            store.compact()
    monkeypatch.undo()
    assert len(list(tmp_path.glob("month=*/*"))) == 3
    with Store(tmp_path, compact_files=2) as store:
        assert len(list(tmp_path.glob("month=*/*"))) == 2
        assert store.compact() == 2
    # Retired files outlive a restart until their time has come, and a lost manifest.
    with Store(tmp_path) as store:
        assert len(list(tmp_path.glob("month=*/*"))) == 3
    (tmp_path / "manifest.sqlite").unlink()
    with Store(tmp_path) as store:
        assert held(tmp_path).keys() == {"0", "1"}
        assert store.append([told(0), told(1)]).duplicates == 2
    assert len(list(tmp_path.glob("month=*/*"))) == 1


def test_a_reader_whose_list_is_out_of_date_takes_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path, compact_files=2) as store:
        merges = 0

        def overtaken(*asked: Any) -> Snapshot:
            nonlocal merges
            seen = snapshot(*asked)
            if merges < 3:
                store.append([told(10 + merges)])
                store.seal()
                merges += bool(store.compact())
                store.bury(now_ns())
            return seen

        store.append([told(1)])
        store.seal()
        monkeypatch.setattr("analytics.read.snapshot", overtaken)
        ledger = Ledger(tmp_path)
        assert len(ledger.frame("host_events", *EVER)) == 4
        assert merges == 3
        assert ledger.damaged() == []


def test_a_file_of_replaced_rows_that_turns_up_again_doubles_nothing(tmp_path: Path) -> None:
    """As when a damaged log takes the list of retired files with it."""
    with Store(tmp_path, compact_files=2) as store:
        store.append([told(1), told(2)])
        store.seal()
        (old,) = files(tmp_path)
        store.append([told(1, revision=1)])
        store.seal()
        assert store.compact() == 2
    with closing(sqlite3.connect(tmp_path / "manifest.sqlite")) as db, db:
        db.execute("DELETE FROM retired")
    with Store(tmp_path) as store:
        assert held(tmp_path) == {"1": 1, "2": 0}
        assert not old.exists()
        assert store.append([told(1), told(1, revision=1)]).duplicates == 2


def test_readers_never_fail_while_files_are_merged_and_removed(tmp_path: Path) -> None:
    done = threading.Event()
    failures: list[BaseException] = []
    reads = 0
    kept = 0

    def read() -> None:
        nonlocal reads
        ledger = Ledger(tmp_path)
        try:
            while not done.is_set():
                before = kept
                assert len(ledger.frame("host_events", *EVER)) >= before
                reads += 1
            assert ledger.damaged() == []
        except BaseException as error:
            failures.append(error)

    with Store(tmp_path, compact_files=3) as store:
        reader = threading.Thread(target=read)
        reader.start()
        while (kept < 120 or reads < 20) and not failures:
            store.append([told(kept)])
            kept += 1
            store.seal()
            store.compact()
            store.bury(now_ns() - SECOND_NS // 5)
        done.set()
        reader.join()
    assert failures == []
    assert len(held(tmp_path)) == kept
