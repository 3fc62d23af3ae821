"""A log that damage cut off is told from one that a kill cut off."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from collector.wal import FRAME_HEADER_BYTES, HEADER_BYTES, PAGE_BYTES, lost_commits

FRAME = FRAME_HEADER_BYTES + PAGE_BYTES


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A manifest as a kill leaves it: four commits in its log, the last of several pages."""
    path, copy = tmp_path / "a.sqlite", tmp_path / "left" / "a.sqlite"
    copy.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        db.execute("CREATE TABLE a (b)")
        for size in (10, 10, 20_000):
            db.execute("INSERT INTO a VALUES (zeroblob(?))", (size,))
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    return copy


def lost(path: Path) -> tuple[int, int]:
    """Commits told to be lost, and rows that SQLite reads."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        ((rows,),) = db.execute("SELECT count(*) FROM sqlite_master").fetchall()
        if rows:
            ((rows,),) = db.execute("SELECT count(*) FROM a").fetchall()
        return lost_commits(path), rows


def log(path: Path) -> Path:
    """Its log."""
    return path.with_name(f"{path.name}-wal")


def hurt(file: Path, at: int, size: int = 1) -> None:
    """Bits are flipped from an offset on."""
    content = bytearray(file.read_bytes())
    at %= len(content)
    for offset in range(at, min(len(content), at + size)):
        content[offset] ^= 0x55
    file.write_bytes(content)


def test_a_whole_log_has_lost_nothing(left: Path) -> None:
    assert lost(left) == (0, 3)


@pytest.mark.parametrize("cut", [1, PAGE_BYTES, PAGE_BYTES + 5, FRAME, 3 * FRAME])
def test_a_commit_that_a_kill_cut_off_is_no_loss(left: Path, cut: int) -> None:
    content = log(left).read_bytes()
    log(left).write_bytes(content[:-cut])
    assert lost(left) == (0, 2)


def test_a_last_page_that_a_kill_left_unwritten_in_a_log_used_again_is_no_loss(
    left: Path,
) -> None:
    hurt(log(left), -PAGE_BYTES, PAGE_BYTES)
    assert lost(left) == (0, 2)


def test_damage_inside_the_last_commit_is_told(left: Path) -> None:
    hurt(log(left), -3 * FRAME - 1)
    assert lost(left) == (1, 2)


@pytest.mark.parametrize("at", [HEADER_BYTES + 9, HEADER_BYTES + 100, HEADER_BYTES + FRAME + 3])
def test_every_commit_behind_the_damage_is_told(left: Path, at: int) -> None:
    # CREATE TABLE writes two pages, so that its commit mark is in the second frame.
    commits, rows = lost(left)
    hurt(log(left), at)
    assert (commits, rows) == (0, 3)
    assert lost(left)[0] in {3, 4}


@pytest.mark.parametrize("at", [0, 9, 17, 25])
def test_a_damaged_header_loses_every_commit(left: Path, at: int) -> None:
    hurt(log(left), at)
    assert lost(left) == (4, 0)


def test_a_log_without_an_index_or_none_at_all(tmp_path: Path) -> None:
    assert lost_commits(tmp_path / "a.sqlite") == 0
