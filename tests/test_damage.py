"""Whatever is damaged in the folder: the collector starts, loses that alone, and says so."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import requests
from hypothesis import given, settings
from rig.door import opened
from rig.events import NOON_NS, any_event, host
from rig.ledger import attempt

from analytics.month import month
from analytics.periods import month_of
from analytics.read import Ledger
from collector.clock import SECOND_NS, to_ns
from collector.columns import to_arrow
from collector.damage import month_bounds, readable, verify
from collector.events import KIND_OF, Event, Host
from collector.identity import mark
from collector.restore import from_arrow
from collector.settings import Settings
from collector.snapshot import damaged, snapshot
from collector.store import Store
from router.spool import Spool

EVER = (0, 2**62)
MONTH_NS = 31 * 86_400 * SECOND_NS
Hurt = Callable[[Path], None]


def truncate(file: Path) -> None:
    """Half of it is gone."""
    os.truncate(file, file.stat().st_size // 2)


def empty(file: Path) -> None:
    """All of it is gone."""
    os.truncate(file, 0)


def missing(file: Path) -> None:
    """The file itself is gone."""
    file.unlink()


def garbage(file: Path) -> None:
    """Something else stands there."""
    file.write_bytes(b"this is no database, certainly not" * 100)


def zero_page(page: int) -> Hurt:
    """A page of 4 KiB is zeroed."""

    def hurt(file: Path) -> None:
        with file.open("r+b") as out:
            out.seek(page * 4096)
            out.write(bytes(4096))

    return hurt


def flip(place: float) -> Hurt:
    """A bit is flipped somewhere."""

    def hurt(file: Path) -> None:
        content = bytearray(file.read_bytes())
        content[int(len(content) * place)] ^= 4
        file.write_bytes(content)

    return hurt


HURTS = {
    "truncated": truncate,
    "emptied": empty,
    "missing": missing,
    "garbage": garbage,
    "first page zeroed": zero_page(0),
    "third page zeroed": zero_page(2),
    **{f"bit at {n}/20 flipped": flip(n / 20) for n in range(1, 20, 3)},
}


def told(number: int) -> Host:
    """Event `number`: up to 100 in October, a second apart; up to 200 in December; then October."""
    at_ns = NOON_NS - number * SECOND_NS if number < 100 else NOON_NS
    return host(number, duration_ns=1, at_ns=at_ns + MONTH_NS * (100 <= number < 200))


def killed(path: Path) -> Path:
    """What a kill -9 would leave at this moment, elsewhere."""
    left = path.with_name("left")
    shutil.copytree(path, left)
    return left


def ids(path: Path) -> list[int]:
    """The events that a reader finds, each as often as it does."""
    seen = snapshot(path, "host", *EVER)
    tables = [pq.read_table(file, partitioning=None) for file in seen.files]
    found = [int(row) for table in [*tables, seen.hot] for row in table["event_id"].to_pylist()]
    assert len(Ledger(path).frame("host_events", *EVER)) == len(found)
    return sorted(found)


def filled(path: Path) -> Path:
    """200 events sealed in two months, 200 hot in 20 batches, as a kill leaves them."""
    with Store(path) as store:
        store.append([told(n) for n in range(200)])
        store.seal()
        for start in range(200, 400, 10):
            store.append([told(start + n) for n in range(10)])
        return killed(path)


def sealed(path: Path, month: str) -> Path:
    """The one sealed file of a month."""
    (file,) = (path / f"month={month}").glob("host-*.parquet")
    return file


def retell(path: Path, *, flipped_keys: int = 0) -> None:
    """Tell events again: those that are there must be known, those that were lost come back."""
    before = set(ids(path))
    with Store(path) as store:
        receipt = store.append([told(n) for n in range(400)])
        assert len(before - set(receipt.duplicate_at)) <= flipped_keys
        assert set(receipt.duplicate_at) <= before
    after = ids(path)
    assert set(after) | set(receipt.conflicts) == set(range(400))
    assert len(after) <= 400 + flipped_keys


@pytest.mark.parametrize("hurt", HURTS.values(), ids=HURTS)
def test_a_damaged_segment(tmp_path: Path, hurt: Hurt) -> None:
    path = filled(tmp_path / "ledger")
    file = sealed(path, "2026-10")
    whole = file.read_bytes()
    hurt(file)
    hurt_bytes = file.read_bytes() if file.exists() else None
    if hurt_bytes == whole or verify(file, None) is None:
        pytest.skip("nothing was hurt that is read")
    # A reader meets it before the collector does.
    ledger = Ledger(path)
    assert len(ledger.frame("host_events", *EVER)) in {300, 400}
    Store(path).close()
    found = damaged(path)
    if not found:
        # Neither size nor footer tells; the reader did, or the bytes can still be read.
        return
    (tale,) = found
    assert (tale.part, tale.kind, tale.rows) == ("segment", "host", 100)
    assert tale.file == str(file.relative_to(path))
    if hurt_bytes is None:
        assert tale.kept is None
    else:
        assert (path / str(tale.kept)).read_bytes() == hurt_bytes
    assert ids(path) == list(range(100, 400))
    retell(path)
    assert len(damaged(path)) == 1


def test_a_reader_leaves_a_damaged_segment_out_and_says_so(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    file = sealed(path, "2026-12")
    content = bytearray(file.read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)  # size and footer stay
    file.write_bytes(content)
    ledger = Ledger(path)
    for _ in range(2):
        assert len(ledger.frame("host_events", *EVER)) == 300
    (tale,) = ledger.damaged()
    assert tale.file == str(file.relative_to(path))
    assert (tale.kind, tale.rows, tale.kept) == ("host", None, None)
    assert "damaged" in str(tale)
    assert "unknown number" in str(tale)


def test_row_groups_that_are_whole_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("collector.seal.GROUP_ROWS", 40)
    with Store(tmp_path) as store:
        store.append([told(n) for n in range(100)])
        store.seal()
    file = sealed(tmp_path, "2026-10")
    column = pq.read_metadata(file).row_group(1).column(1)
    content = bytearray(file.read_bytes())
    content[column.dictionary_page_offset + column.total_compressed_size // 2] ^= 1
    file.write_bytes(content + b"x")  # another size, so that the start looks closer
    kept = readable(file)
    assert kept is None  # the footer is not at the end
    file.write_bytes(content)
    assert readable(file).num_rows == 60
    with closing(sqlite3.connect(tmp_path / "manifest.sqlite")) as db, db:
        db.execute("UPDATE segment SET size_b = size_b + 1")
    with Store(tmp_path) as store:
        # Sorted by time, the middle group holds the events 20 to 59.
        assert ids(tmp_path) == [*range(20), *range(60, 100)]
        assert damaged(tmp_path)[0].rows == 40
        assert store.damage() == {"segment": 1}
    with Store(tmp_path) as store:
        assert store.append([told(n) for n in range(100)]).accepted == 40


@pytest.mark.parametrize("hurt", HURTS.values(), ids=HURTS)
def test_a_damaged_manifest(tmp_path: Path, hurt: Hurt) -> None:
    """Checkpointed, so that the file alone holds everything; sealed rows must all survive."""
    path = filled(tmp_path / "ledger")
    with closing(sqlite3.connect(path / "manifest.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    manifest = path / "manifest.sqlite"
    hurt(manifest)
    Store(path).close()
    found = ids(path)
    assert len(found) == len(set(found))
    assert set(range(200)) <= set(found) <= set(range(400))
    if len(found) < 400:
        assert damaged(path)
        assert sum(each.rows or 0 for each in damaged(path)) in {0, 400 - len(found)}
    # No checksum guards a key; with a flipped bit it is the key of an event that nobody tells.
    retell(path, flipped_keys=1)
    assert not list(path.glob("manifest.b*"))


def test_a_first_page_that_is_gone_costs_nothing(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    with closing(sqlite3.connect(path / "manifest.sqlite")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    zero_page(0)(path / "manifest.sqlite")
    Store(path).close()
    assert ids(path) == list(range(400))
    (tale,) = damaged(path)
    assert (tale.part, tale.rows) == ("manifest", 0)
    retell(path)


@pytest.mark.parametrize("hurt", HURTS.values(), ids=HURTS)
def test_a_damaged_log(tmp_path: Path, hurt: Hurt) -> None:
    """Nothing was checkpointed: the log holds the whole manifest."""
    path = filled(tmp_path / "ledger")
    hurt(path / "manifest.sqlite-wal")
    Store(path).close()
    found = ids(path)
    assert len(found) == len(set(found))
    assert set(range(200)) <= set(found) <= set(range(400))
    retell(path)


def test_a_commit_that_the_log_lost_is_told(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    flip(0.9)(path / "manifest.sqlite-wal")
    Store(path).close()
    (tale,) = damaged(path)
    assert tale.part == "log"
    assert "cannot be read" in tale.what
    assert tale.rows == 400 - len(ids(path)) or tale.rows is None or tale.rows == 0
    assert (path / f"{tale.kept}-wal").exists()


@pytest.mark.parametrize("hurt", HURTS.values(), ids=HURTS)
def test_a_damaged_index_of_the_log_costs_nothing(tmp_path: Path, hurt: Hurt) -> None:
    path = filled(tmp_path / "ledger")
    hurt(path / "manifest.sqlite-shm")
    Store(path).close()
    assert ids(path) == list(range(400))
    assert damaged(path) == []


@pytest.mark.parametrize("hurt", HURTS.values(), ids=HURTS)
def test_a_damaged_lock_file_costs_nothing(tmp_path: Path, hurt: Hurt) -> None:
    path = filled(tmp_path / "ledger")
    hurt(path / "writer.lock")
    Store(path).close()
    assert ids(path) == list(range(400))


def test_a_missing_manifest_with_its_log_is_recovered(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    (path / "manifest.sqlite").unlink()
    Store(path).close()
    assert ids(path) == list(range(400))
    assert [each.rows for each in damaged(path)] == [0]


def test_a_flipped_bit_in_a_hot_batch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Store(tmp_path) as store:
        for n in range(3):
            store.append([told(n * 10 + m) for m in range(10)])
    with closing(sqlite3.connect(tmp_path / "manifest.sqlite")) as db, db:
        ((batch,),) = db.execute("SELECT batch FROM hot WHERE id = 2").fetchall()
        hurt = bytearray(batch)
        hurt[-100] ^= 1
        db.execute("UPDATE hot SET batch = ? WHERE id = 2", (bytes(hurt),))
    assert ids(tmp_path) == [*range(10), *range(20, 30)]
    ledger = Ledger(tmp_path)
    ledger.frame("host_events", *EVER)
    assert [(each.part, each.rows) for each in ledger.damaged()] == [("batch", 10)]
    with Store(tmp_path) as store:
        assert store.seal() == 20
        assert store.hot_rows == 0
        assert store.damage() == {"batch": 1}
    (tale,) = damaged(tmp_path)
    assert (tale.rows, tale.kind) == (10, "host")
    assert (tmp_path / str(tale.kept)).read_bytes() == bytes(hurt)
    assert "10 host rows are lost" in caplog.text
    with Store(tmp_path) as store:
        assert store.append([told(n) for n in range(30)]).accepted == 10


def test_revisions_survive_a_rebuild(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([host(1, duration_ns=5), host(2)])
        store.seal()
        store.append([host(1, revision=2, duration_ns=6)])
        store.seal()
    (tmp_path / "manifest.sqlite").unlink()
    with Store(tmp_path) as store:
        late = [host(1, duration_ns=5), host(1, revision=2, duration_ns=6), host(2)]
        assert store.append(late).duplicates == 3
        assert store.append([host(1, revision=2, duration_ns=7)]).conflicts == [0]
        assert store.append([host(1, revision=3, duration_ns=7)]).accepted == 1
    versions = snapshot(tmp_path, "host", *EVER).superseded.to_pylist()
    assert sorted(each["revision"] for each in versions) == [0, 2]


def test_counts_of_what_was_told_survive_where_they_can_be_read(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    with Store(path) as store:
        store.append([host(0, duration_ns=9), told(399)])
        before = store.counters()
    flip(0.01)(path / "manifest.sqlite")  # the list of tables and pages
    with Store(path) as store:
        after = store.counters()
        assert after[("accepted", "host")] == 400
        if after != before:
            assert after == {("accepted", "host"): 400}


@pytest.mark.parametrize("moment", ["salvage.salvage", "rebuild.migrate", "damage.keep"])
def test_a_rebuild_that_is_killed_begins_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    path = filled(tmp_path / "ledger")
    missing(path / "manifest.sqlite")
    monkeypatch.setattr(f"collector.{moment}", die)
    with pytest.raises(KeyboardInterrupt):
        Store(path)
    monkeypatch.undo()
    Store(path).close()
    assert ids(path) == list(range(400))
    assert len(damaged(path)) == 1
    assert (path / f"{damaged(path)[0].kept}-wal").exists()


def die(*_: object) -> None:
    """As a kill would, at this moment."""
    raise KeyboardInterrupt


def test_an_unlisted_file_whose_rows_are_nowhere_else_is_taken_in(tmp_path: Path) -> None:
    """As when a lost log held the listing, and the hot rows with it."""
    path = filled(tmp_path / "ledger")
    with closing(sqlite3.connect(path / "manifest.sqlite")) as db, db:
        db.execute("DELETE FROM segment WHERE month = '2026-10'")
    Store(path).close()
    assert ids(path) == list(range(400))
    retell(path)


def test_what_part_of_an_unlisted_file_is_elsewhere_is_not_doubled(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([told(1), told(2)])
        store.seal()
        store.append([told(3)])
    listed = sealed(tmp_path, "2026-10")
    orphan = listed.with_name(f"host-{'0' * 32}.parquet")
    batch = to_arrow("host", [told(n) for n in (2, 3, 4)])
    with pq.ParquetWriter(orphan, batch.schema) as writer:
        writer.write_batch(batch)
    Store(tmp_path).close()
    assert ids(tmp_path) == [1, 2, 3, 4]
    assert not orphan.exists()
    with Store(tmp_path) as store:
        assert store.append([told(n) for n in range(1, 5)]).duplicates == 4


def test_an_unlisted_file_that_holds_something_else_is_put_aside(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([told(1)])
        store.seal()
    orphan = sealed(tmp_path, "2026-10").with_name(f"host-{'0' * 32}.parquet")
    orphan.write_bytes(b"no Parquet at all")
    Store(tmp_path).close()
    assert ids(tmp_path) == [1]
    (tale,) = damaged(tmp_path)
    assert (tmp_path / str(tale.kept)).read_bytes() == b"no Parquet at all"


def test_damage_is_counted_for_prometheus(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger")
    sealed(path, "2026-10").unlink()
    with opened(path) as served:
        text = requests.get(f"{served.url}/metrics", timeout=30).text
    assert 'rigledger_damage_total{part="segment"} 1\n' in text
    assert 'rigledger_damage_total{part="manifest"} 0\n' in text


def test_a_report_goes_on_without_what_is_damaged_and_flags_it(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.append([attempt("a", 0, 60), attempt("b", 60, 120)])
        store.seal()
        store.append([attempt("c", 120, 180)])
    october = month_of("2026-10", ZoneInfo("UTC"))
    now_ns = october.to_ns + 86_400 * SECOND_NS

    def report() -> dict[str, Any]:
        return month(Ledger(tmp_path), Settings(), october, now_ns)

    whole = report()
    assert whole["quality"]["damaged"] == []
    assert whole["tokens"]["requests"] == 3
    (file,) = tmp_path.glob("month=2026-10/attempt-*.parquet")
    content = bytearray(file.read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    file.write_bytes(content)
    shutil.rmtree(tmp_path / "derived", ignore_errors=True)
    for lost in ("an unknown number of", "2"):  # as a reader finds it, then as the collector does
        hurt = report()
        assert hurt["tokens"]["requests"] == 1
        assert len(hurt["quality"]["damaged"]) == 1
        assert f"{lost} attempt rows are lost" in hurt["quality"]["flags"][0]
        file.unlink(missing_ok=True)
        Store(tmp_path).close()
    earlier = month(Ledger(tmp_path), Settings(), month_of("2026-09", ZoneInfo("UTC")), now_ns)
    assert earlier["quality"]["damaged"] == []


@settings(deadline=None)
@given(any_event())
def test_a_stored_row_tells_its_event_again(event: Event) -> None:
    kind = KIND_OF[type(event)]
    (again,) = from_arrow(kind, pa.Table.from_batches([to_arrow(kind, [event])]))
    assert again == event
    assert mark(again) == mark(event)


@pytest.mark.parametrize("hurt", HURTS.values(), ids=HURTS)
def test_a_damaged_spool_starts_and_keeps_what_can_be_read(tmp_path: Path, hurt: Hurt) -> None:
    file = tmp_path / "spool-tap.sqlite"
    bodies = [f"{n:04d}".encode() * 100 for n in range(200)]
    spool = Spool(file)
    spool.append(bodies)
    spool.close()
    hurt(file)
    spool = Spool(file)
    found = [body for _, body in spool.first(1000, 1 << 30)]
    assert len(spool) == len(found)
    assert found == sorted(found)
    if hurt not in (empty, missing) and len(found) < 200:
        assert spool.damaged is not None
        assert spool.damaged.parent == tmp_path / "quarantine"
    spool.append([b"fresh"])
    assert len(spool) == len(found) + 1
    spool.close()


def test_the_bounds_of_a_month() -> None:
    first, last = month_bounds("2026-12")
    december = host(1, at_ns=first)
    assert isinstance(december, Host)
    assert december.at.isoformat() == "2026-12-01T00:00:00+00:00"
    assert host(1, at_ns=last + 1).at.isoformat() == "2027-01-01T00:00:00+00:00"
    assert to_ns(december.at) == first
