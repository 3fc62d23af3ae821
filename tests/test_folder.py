"""What a folder gives back is what was put there, or nothing."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from analytics import folder

FRAME = pl.DataFrame({"card": ["A", "B"] * 900, "ns": [*range(1800)]})
FACTS = {"fingerprint": "one", "up_ns": [0, 2**62 + 1]}
OTHER = pl.DataFrame({"card": ["C"], "ns": [7]})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "time" / "2026-10-07"
    assert folder.put(place, {"leaves": FRAME, "ended": FRAME}, FACTS)
    return place


def read(place: Path, *names: str) -> folder.Kept | None:
    return folder.read(place, names, holds=lambda told: told["fingerprint"] == "one")


def test_facts_and_frames_come_back(place: Path) -> None:
    kept = read(place, "leaves", "ended")
    assert kept is not None
    assert kept[0] == FACTS
    assert all(frame.equals(FRAME) for frame in kept[1].values())
    narrow = folder.read(place, ["leaves"], ["ns"], holds=lambda _: True)
    assert narrow is not None
    assert narrow[1]["leaves"].equals(FRAME.select("ns"))


@pytest.mark.parametrize("name", ["leaves.parquet", "facts.json"])
def test_no_flipped_bit_is_taken_for_what_was_kept(place: Path, name: str) -> None:
    file = place / name
    right = file.read_bytes()
    for at in range(0, len(right), 7):
        damaged = bytearray(right)
        damaged[at] ^= 1
        file.write_bytes(damaged)
        assert read(place, "leaves") is None
    file.write_bytes(right)
    assert read(place, "leaves") is not None


def test_what_is_cut_off_empty_or_gone_is_nothing(place: Path) -> None:
    for name in ("leaves.parquet", "facts.json"):
        file = place / name
        right = file.read_bytes()
        for content in (right[:-1], right[: len(right) // 2], b"", bytes(len(right))):
            file.write_bytes(content)
            assert read(place, "leaves") is None
        file.unlink()
        assert read(place, "leaves") is None
        file.write_bytes(right)
    assert read(place, "leaves") is not None
    assert read(place, "cells") is None


def test_facts_of_another_form_are_nothing(place: Path) -> None:
    for other in ([], {}, {"kept": [], "sum": 0}, {"fingerprint": "one", "facts": {}}):
        (place / "facts.json").write_text(json.dumps(other))
        assert read(place, "leaves") is None


def test_a_folder_that_came_meanwhile_is_not_taken_for_the_one_that_holds(place: Path) -> None:
    def replaced(_told: folder.Facts) -> bool:
        return folder.put(place, {"leaves": OTHER, "ended": OTHER}, {"fingerprint": "two"})

    assert folder.read(place, ["leaves"], holds=replaced) is None
    kept = folder.read(place, ["leaves"], holds=lambda told: told["fingerprint"] == "two")
    assert kept is not None
    assert kept[1]["leaves"].equals(OTHER)


def test_where_nothing_is_any_more_nothing_is_kept(tmp_path: Path) -> None:
    assert not folder.put(tmp_path / "moved" / "derived" / "2026-10-07", {"leaves": FRAME}, FACTS)
    assert not (tmp_path / "moved").exists()


@contextmanager
def little_room(most_b: int) -> Iterator[None]:
    """No file may grow beyond some bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_b, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_keeps_what_was_there_and_leaves_nothing_aside(place: Path) -> None:
    with little_room(1000):
        assert not folder.put(place, {"leaves": FRAME}, {"fingerprint": "two"})
    assert read(place, "leaves", "ended") is not None
    assert [each.name for each in place.parent.iterdir()] == [place.name]
    with little_room(1000):
        assert folder.put(place, {"leaves": OTHER}, {"fingerprint": "one"})


# Puts a folder whose second frame never comes: the writer stands still in the middle of it.
WRITER = """
import sys, time
from pathlib import Path
import polars as pl
from analytics import folder

class Endless(dict):
    def items(self):
        yield "leaves", pl.DataFrame({"ns": [1]})
        print("one is written", flush=True)
        time.sleep(600)

folder.put(Path(sys.argv[1]), Endless(), {})
"""


@contextmanager
def writing(place: Path) -> Iterator[subprocess.Popen[str]]:
    """A process in the middle of a put."""
    command = [sys.executable, "-c", WRITER, str(place)]
    writer = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with writer:
        try:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "one is written\n"
            yield writer
        finally:
            writer.kill()


def test_what_a_killed_writer_left_goes_with_the_next_put_and_no_live_ones(place: Path) -> None:
    above = place.parent
    with writing(above / "2026-10-08") as killed, writing(above / "2026-10-09"):
        found = {each.name[:10]: each for each in above.glob("*.tmp")}
        assert set(found) == {"2026-10-08", "2026-10-09"}
        assert folder.put(above / "2026-10-10", {"leaves": FRAME}, FACTS)
        assert all(each.is_dir() for each in found.values())
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        assert [each.name for each in found["2026-10-08"].iterdir()] == ["leaves.parquet"]
        assert folder.put(above / "2026-10-10", {"leaves": FRAME}, FACTS)
        left = {each.name for each in above.iterdir()}
        assert left == {place.name, "2026-10-10", found["2026-10-09"].name}
    assert read(place, "leaves") is not None


def test_a_writer_whose_place_was_swept_before_it_was_locked_makes_another(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another's sweep comes between the making of what is aside and its lock."""
    swept: list[Path] = []
    opened = os.open

    def open_after_a_sweep(path: Path, flags: int) -> int:
        if not swept:
            swept.append(Path(path))
            Path(path).rmdir()
        return opened(path, flags)

    monkeypatch.setattr(os, "open", open_after_a_sweep)
    assert folder.put(place, {"leaves": OTHER}, FACTS)
    assert swept
    kept = read(place, "leaves")
    assert kept is not None
    assert kept[1]["leaves"].equals(OTHER)


def test_what_was_replaced_when_its_writer_was_killed_is_taken_away(place: Path) -> None:
    place.rename(place.with_name(f"{place.name}.0123.old"))
    assert folder.put(place, {"leaves": FRAME, "ended": FRAME}, FACTS)
    assert [each.name for each in place.parent.iterdir()] == [place.name]
