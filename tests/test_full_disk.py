"""A disk that is really full: nothing acknowledged is lost, and no restart is needed."""

import errno
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import requests
from rig.door import opened
from rig.events import host

from analytics.read import Ledger
from collector import daemon, reserve
from collector.clock import now_ns
from collector.store import Store, StoreUnavailable

EVER = (0, 2**62)
MIB = 1 << 20
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MiB of its own."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)]
    made = subprocess.run(mount, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {made.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, leave_b: int = 0) -> Path:
    """Something else takes the room, but for some bytes."""
    ballast = place / "ballast"
    free_b = os.statvfs(place).f_bavail * os.statvfs(place).f_frsize
    descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(descriptor, 0, free_b - leave_b)
    os.close(descriptor)
    return ballast


def held(path: Path) -> int:
    """Events that a reader finds."""
    return len(Ledger(path).frame("host_events", *EVER))


def batch(number: int) -> list[object]:
    """A hundred events of their own."""
    return [host(number * 100 + n, duration_ns=1) for n in range(100)]


def append_until_full(store: Store, first: int = 0) -> int:
    """Append batches until the disk is full; returns how many were kept."""
    for number in range(first, first + 10_000):
        try:
            store.append(batch(number))
        except StoreUnavailable:
            return number - first
    pytest.fail("the disk never filled")


def test_a_full_disk_is_told_over_http_and_ends_without_a_restart(small: Path) -> None:
    path = small / "ledger"
    with opened(path) as served:

        def post(number: int) -> requests.Response:
            body = msgspec.json.encode(batch(number))
            return requests.post(f"{served.url}/v1/events", body, headers=JSON, timeout=30)

        assert post(0).status_code == 202
        ballast = fill(small, leave_b=256 * 1024)
        kept = 1
        while (answer := post(kept)).status_code == 202:
            kept += 1
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
        assert "free disk space" in answer.json()["error"]
        assert requests.get(f"{served.url}/healthz", timeout=30).status_code == 503
        assert held(path) == kept * 100
        ballast.unlink()
        assert post(kept).status_code == 202
        assert requests.get(f"{served.url}/healthz", timeout=30).status_code == 200
        assert held(path) == (kept + 1) * 100
    Store(path).close()
    assert held(path) == (kept + 1) * 100


def test_a_seal_takes_the_reserve_and_makes_room(small: Path) -> None:
    path = small / "ledger"
    with Store(path) as store:
        fill(small, leave_b=MIB)
        kept = append_until_full(store)
        assert kept > 0
        assert store.seal_due
        assert store.seal() == kept * 100
        assert not store.seal_due
        assert append_until_full(store, first=kept) > 0, "sealed rows make room"


def test_a_seal_that_does_not_fit_leaves_the_rows_hot(small: Path) -> None:
    path = small / "ledger"
    with Store(path) as store:
        store.append(batch(0))
        reserve.release(path)
        ballast = fill(small)
        with pytest.raises(StoreUnavailable, match="free disk space"):
            store.seal()
        assert list(path.glob("month=*/*")) == []
        assert held(path) == 100
        ballast.unlink()
        assert store.seal() == 100
        assert (path / reserve.RESERVE).exists()
        assert held(path) == 100


def seal_often(store: Store, times: int, first: int = 0) -> None:
    """As many small files of a hundred rows each."""
    for number in range(first, first + times):
        store.append(batch(number))
        store.seal()


@pytest.mark.parametrize("work", ["seal", "compact"])
def test_no_room_changes_nothing_at_any_step(small: Path, work: str) -> None:
    """Page by page more is left, until it fits: each try before fails a little later, from making
    the file over its rows and its footer to the commit that lists it."""
    path = small / "ledger"
    with Store(path) as store:
        if work == "compact":
            seal_often(store, 10)
        else:
            for number in range(10):
                store.append(batch(number))
        before = sorted(path.glob("month=*/*"))
        reserve.release(path)
        failed = 0
        for left_pages in range(1_000):
            ballast = fill(small, leave_b=left_pages * 4096)
            try:
                done = getattr(store, work)()
                break
            except StoreUnavailable as error:
                assert "free disk space" in str(error)
                failed += 1
                assert sorted(path.glob("month=*/*")) == before
                assert held(path) == 1_000
            finally:
                ballast.unlink()
        assert failed > 3, "the room ran out in several places"
        assert done == {"compact": 10, "seal": 1_000}[work]
        assert store.segments() == 1
        assert held(path) == 1_000
        store.bury(now_ns())
        assert len(list(path.glob("month=*/*"))) == 1
    with Store(path) as again:
        assert again.append(batch(3)).duplicates == 100
    assert held(path) == 1_000


def test_a_collector_outlives_a_merge_on_a_full_disk(small: Path) -> None:
    path = small / "ledger"
    with opened(path) as served:
        store = served.door.store

        def post(number: int) -> int:
            body = msgspec.json.encode(batch(number))
            return requests.post(
                f"{served.url}/v1/events", body, headers=JSON, timeout=30
            ).status_code

        seal_often(store, 10)
        assert post(10) == 202
        reserve.release(path)
        ballast = fill(small)
        with pytest.raises(StoreUnavailable):
            store.compact()
        kept = 11
        while (status := post(kept)) == 202:  # the log has some room left
            kept += 1
        assert status == 503
        with pytest.raises(StoreUnavailable):
            store.compact()
        assert held(path) == kept * 100
        ballast.unlink()
        assert post(kept) == 202
        assert post(0) == 202, "told again, it is known"
        assert store.compact() == 10
        assert held(path) == (kept + 1) * 100
    Store(path).close()
    assert held(path) == (kept + 1) * 100


def test_what_was_merged_long_ago_makes_room_on_a_full_disk(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = small / "ledger"
    monkeypatch.setattr(daemon, "RETIRED_NS", 0)
    with Store(path) as store:
        seal_often(store, 10)
        old = list(path.glob("month=*/*"))
        assert store.compact() == 10
        seal_often(store, 10, first=10)
        reserve.release(path)
        fill(small)
        sealer = daemon.Sealer(store, interval_s=0)
        try:
            deadline = time.monotonic() + 30
            while any(file.exists() for file in old):
                assert time.monotonic() < deadline, "nothing was removed"
                time.sleep(0.01)
        finally:
            sealer.close()
        assert held(path) == 2_000


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.rename"])
def test_no_room_at_the_last_step_of_a_seal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    with Store(tmp_path) as store:
        store.append(batch(0))
        with monkeypatch.context() as full:

            def no_room(*_: object) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            full.setattr(call, no_room)
            with pytest.raises(StoreUnavailable):
                store.seal()
        assert list(tmp_path.glob("month=*/*")) == []
        assert held(tmp_path) == 100
        assert store.seal() == 100


def test_the_reserve_is_real_room_and_comes_back(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        file = tmp_path / reserve.RESERVE
        assert file.stat().st_blocks * 512 >= reserve.SIZE_B
        assert file.stat().st_mode & 0o077 == 0
        file.unlink()
        store.seal()
        assert file.stat().st_blocks * 512 >= reserve.SIZE_B
