"""A file that cannot be read may be whole: nothing of it is given up, and everyone names it."""

import ctypes
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rig.events import NOON_NS, host

from analytics.read import Ledger
from collector.clock import SECOND_NS
from collector.damage import Unreadable, readable, verify
from collector.manifest import LedgerError
from collector.snapshot import damaged
from collector.store import Store, StoreUnavailable

EVER = (0, 2**62)
DROP_CAPABILITY = 24  # of prctl(2)
OVERRIDES = (1, 2)  # the capabilities by which root reads what it has no right to read
START = """
import sys
from pathlib import Path
from collector.store import Store
Store(Path(sys.argv[1])).close()
"""
READ = """
import sys
from pathlib import Path
from analytics.read import Ledger
ledger = Ledger(Path(sys.argv[1]))
try:
    ledger.frame("host_events", 0, 2**62)
finally:
    print(len(ledger.damaged()), "damaged")
"""


def filled(path: Path, files: int) -> Path:
    """So many sealed files of ten events each."""
    with Store(path) as store:
        for file in range(files):
            numbers = range(file * 10, file * 10 + 10)
            store.append([host(n, at_ns=NOON_NS - n * SECOND_NS) for n in numbers])
            store.seal()
    return path


def sealed(path: Path) -> list[Path]:
    """The sealed files."""
    return sorted(path.glob("month=*/host-*.parquet"))


def held(path: Path) -> int:
    """Events that a reader finds."""
    return len(Ledger(path).frame("host_events", *EVER))


def without_rights(code: str, path: Path) -> subprocess.CompletedProcess[str]:
    """Run Python code on a ledger as a user to whom the rights of files apply, root or not."""
    libc = ctypes.CDLL(None)

    def obey() -> None:
        for number in OVERRIDES:
            libc.prctl(DROP_CAPABILITY, number, 0, 0, 0)

    command = [sys.executable, "-c", code, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=obey)


@contextmanager
def no_descriptors(but: int = 0) -> Iterator[None]:
    """Every file that this process may have open is open, `but` for some."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some above the highest, as there may be none free below it.
    most = max(int(each.name) for each in Path("/proc/self/fd").iterdir()) + 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, limits[1]))
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    try:
        for _ in range(but):
            os.close(taken.pop())
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize("shut", ["file", "folder", "file of a lost manifest", "unlisted file"])
def test_a_start_without_the_right_to_read_a_file_stops_and_loses_nothing(
    tmp_path: Path, shut: str
) -> None:
    path = filled(tmp_path / "ledger", 2)
    file = sealed(path)[0]
    if shut == "unlisted file":
        file = file.rename(file.with_name(f"host-{'0' * 32}.parquet"))
    if shut == "file of a lost manifest":
        (path / "manifest.sqlite").unlink()
    closed = file.parent if shut == "folder" else file
    closed.chmod(0)
    refused = without_rights(START, path)
    closed.chmod(0o700)
    assert refused.returncode == 1
    last = refused.stderr.splitlines()[-1]
    if shut == "unlisted file":  # the listed name is missing: that is damage, and told first
        assert "is damaged (it is missing)" in refused.stderr
    assert last.startswith("collector.manifest.LedgerError: ")
    assert str(closed) in last
    assert "ermission denied" in last
    assert "right" in last
    assert not list(path.glob("quarantine/*"))
    with Store(path) as store:
        assert [each for each in damaged(path) if each.kept and each.part == "segment"] == []
        assert held(path) == 20
        again = store.append([host(n, at_ns=NOON_NS - n * SECOND_NS) for n in range(20)])
        assert again.duplicates == 20


def test_a_merge_without_descriptors_changes_nothing(tmp_path: Path) -> None:
    with Store(filled(tmp_path, 3), compact_files=3) as store:
        before = sealed(tmp_path)
        with no_descriptors(), pytest.raises(StoreUnavailable, match="open files"):
            store.compact()
        assert damaged(tmp_path) == []
        assert sealed(tmp_path) == before
        assert store.compact() == 3
        assert held(tmp_path) == 30


def test_a_merge_of_what_the_disk_does_not_give_changes_nothing(tmp_path: Path) -> None:
    """Linux answers EIO where a process reads its own memory at address 0."""
    with Store(filled(tmp_path, 3), compact_files=3) as store:
        file = sealed(tmp_path)[0]
        away = file.rename(tmp_path / "away")
        file.symlink_to("/proc/self/mem")
        with pytest.raises(StoreUnavailable, match=rf"{file.name} .*nput/output error.*disk"):
            store.compact()
        file.unlink()
        away.rename(file)
        assert damaged(tmp_path) == []
        assert store.compact() == 3
        assert held(tmp_path) == 30


def test_a_reader_names_the_file_that_it_may_not_read(tmp_path: Path) -> None:
    path = filled(tmp_path / "ledger", 2)
    file = sealed(path)[1]
    file.chmod(0)
    refused = without_rights(READ, path)
    file.chmod(0o600)
    assert refused.stdout == "0 damaged\n"
    last = refused.stderr.splitlines()[-1]
    assert last.startswith("collector.manifest.LedgerError: ")
    assert f"{file} cannot be read (Permission denied): " in last


def test_without_descriptors_a_file_is_neither_whole_nor_damaged(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    (file,) = sealed(tmp_path)
    Ledger(tmp_path).frame("host_events", *EVER)
    with no_descriptors():
        for look in (lambda: verify(file, None), lambda: verify(file, b""), lambda: readable(file)):
            with pytest.raises(Unreadable, match="open files"):
                look()
    assert verify(file, None) is None


@pytest.mark.parametrize("manifest", ["there", "lost"])
def test_a_start_with_too_few_descriptors_loses_nothing(tmp_path: Path, manifest: str) -> None:
    filled(tmp_path, 1)
    Ledger(tmp_path).frame("host_events", *EVER)
    refused = 0
    for few in range(16):
        if manifest == "lost":
            (tmp_path / "manifest.sqlite").unlink(missing_ok=True)
        try:
            with no_descriptors(but=few):
                Store(tmp_path).close()
        except LedgerError:
            refused += 1
    assert 3 < refused < 16
    Store(tmp_path).close()
    assert not list(tmp_path.glob("quarantine/host-*"))
    assert not [each for each in damaged(tmp_path) if each.part == "segment"]
    assert held(tmp_path) == 10
