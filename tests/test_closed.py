"""Closed months on the disk: written once, whole or not at all, and every change is noticed."""

import json
import os
import signal
import stat
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from collector import closed
from collector.closed import ClosingRefused, DamagedClosing

CONTENT = {"month": "2026-10", "from_ns": 1, "to_ns": 2, "naïve": ["ü", 0.1, None]}

# Ends itself by SIGKILL before its nth act on the folder of closed months.
VICTIM = """
import json, os, signal, sys
from collector import closed
ledger, restate, last = sys.argv[1], sys.argv[2] == "restate", int(sys.argv[3])
from pathlib import Path
acts = 0
def count(event, args):
    global acts
    if event in ("open", "os.mkdir", "os.rename", "os.link", "os.remove", "shutil.rmtree") and (
        closed.FOLDER in str(args[0])
    ):
        acts += 1
        if acts == last:
            os.kill(os.getpid(), signal.SIGKILL)
content = json.loads(sys.stdin.read())
follows = closed.filed(Path(ledger), "2026-10")[-1].sha256 if restate else ""
sys.addaudithook(count)
if restate:
    closed.restate(Path(ledger), "2026-10", content, follows)
else:
    closed.close(Path(ledger), "2026-10", content)
"""


def killed(ledger: Path, what: str, act: int) -> bool:
    """Whether a process that closes or restates ended by its own kill at that act."""
    command = [sys.executable, "-c", VICTIM, str(ledger), what, str(act)]
    root = Path(__file__).parent.parent
    done = subprocess.run(
        command, input=json.dumps(CONTENT), text=True, cwd=root, capture_output=True, check=False
    )
    assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    return done.returncode != 0


def test_a_month_is_filed_for_good(tmp_path: Path) -> None:
    assert closed.filed(tmp_path, "2026-10") == []
    file = closed.close(tmp_path, "2026-10", CONTENT)
    (found,) = closed.filed(tmp_path, "2026-10")
    assert (found.number, found.content) == (0, CONTENT)
    assert closed.months(tmp_path) == ["2026-10"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o400
    # The digest by hand: canonical JSON of the content and of what it follows.
    text = json.dumps(
        {"content": CONTENT, "follows": None}, separators=(",", ":"), ensure_ascii=False
    )
    assert found.sha256 == sha256(text.encode()).hexdigest()
    with pytest.raises(ClosingRefused, match="closed already"):
        closed.close(tmp_path, "2026-10", {"other": 1})
    assert closed.filed(tmp_path, "2026-10") == [found]


def test_restatements_stand_behind_each_other(tmp_path: Path) -> None:
    closed.close(tmp_path, "2026-10", CONTENT)
    for number in (1, 2):
        last = closed.filed(tmp_path, "2026-10")[-1]
        closed.restate(tmp_path, "2026-10", {"number": number}, last.sha256)
    told = closed.filed(tmp_path, "2026-10")
    assert [each.number for each in told] == [0, 1, 2]
    assert told[0].content == CONTENT
    with pytest.raises(ClosingRefused, match="meanwhile"):
        closed.restate(tmp_path, "2026-10", {}, told[1].sha256)
    assert closed.filed(tmp_path, "2026-10") == told


@pytest.mark.parametrize("number", [0, 1])
def test_whatever_byte_is_changed_is_noticed(tmp_path: Path, number: int) -> None:
    closed.close(tmp_path, "2026-10", CONTENT)
    closed.restate(tmp_path, "2026-10", CONTENT, closed.filed(tmp_path, "2026-10")[0].sha256)
    file = tmp_path / "closed" / "2026-10" / f"000{number}.json"
    file.chmod(0o600)
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedClosing, match=f"000{number}.json"):
            closed.filed(tmp_path, "2026-10")
    file.write_bytes(whole[:-1])
    with pytest.raises(DamagedClosing):
        closed.filed(tmp_path, "2026-10")
    file.write_bytes(whole)
    assert len(closed.filed(tmp_path, "2026-10")) == 2


def test_a_file_put_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    """Well formed and with a right digest of its own, but not the one that was restated."""
    closed.close(tmp_path, "2026-10", CONTENT)
    closed.restate(tmp_path, "2026-10", CONTENT, closed.filed(tmp_path, "2026-10")[0].sha256)
    closed.close(tmp_path, "2026-09", {"month": "2026-09"})
    place = tmp_path / "closed"
    (place / "2026-09" / "0000.json").replace(place / "2026-10" / "0000.json")
    with pytest.raises(DamagedClosing, match=r"0001\.json"):
        closed.filed(tmp_path, "2026-10")
    (place / "2026-10" / "0000.json").unlink()
    with pytest.raises(DamagedClosing, match=r"0000\.json is missing"):
        closed.filed(tmp_path, "2026-10")
    with pytest.raises(DamagedClosing, match=r"0000\.json is missing"):
        closed.filed(tmp_path, "2026-09")


def test_a_kill_at_any_act_leaves_the_month_open_or_closed(tmp_path: Path) -> None:
    ledgers = []
    for act in range(1, 30):
        ledger = tmp_path / str(act)
        ledger.mkdir()
        if not killed(ledger, "close", act):
            break
        found = closed.filed(ledger, "2026-10")
        ledgers.append(len(found))
        if not found:
            closed.close(ledger, "2026-10", CONTENT)
        (whole,) = closed.filed(ledger, "2026-10")
        assert whole.content == CONTENT
        assert [each.name for each in (ledger / "closed").iterdir()] == ["2026-10"]
    assert set(ledgers) == {0, 1}, "kills fell before the rename and after it"
    assert len(ledgers) >= 5


def test_a_kill_at_any_act_files_a_restatement_whole_or_not(tmp_path: Path) -> None:
    counts = []
    for act in range(1, 30):
        ledger = tmp_path / str(act)
        ledger.mkdir()
        closed.close(ledger, "2026-10", {"month": "2026-10"})
        if not killed(ledger, "restate", act):
            break
        first, *more = closed.filed(ledger, "2026-10")
        counts.append(len(more))
        assert first.content == {"month": "2026-10"}
        assert all(each.content == CONTENT for each in more)
        closed.restate(ledger, "2026-10", CONTENT, [first, *more][-1].sha256)
        assert len(closed.filed(ledger, "2026-10")) == 2 + len(more)
        left = [each.name for each in (ledger / "closed").iterdir()]
        assert left == ["2026-10"], "the next one sweeps what a killed one left"
    assert set(counts) == {0, 1}, "kills fell before the link and after it"
    assert len(counts) >= 5


def test_two_at_once_file_one(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent
    command = [sys.executable, "-c", VICTIM, str(tmp_path), "close", "-1"]
    several = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root)
        for _ in range(3)
    ]
    told = [each.communicate(json.dumps(CONTENT).encode())[1] for each in several]
    assert sorted(each.returncode for each in several) == [0, 1, 1]
    assert sum(b"ClosingRefused" in each for each in told) == 2
    assert len(closed.filed(tmp_path, "2026-10")) == 1


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = closed.close(tmp_path, "2026-10", CONTENT)
    finally:
        os.umask(before)
    modes = [
        stat.S_IMODE(place.stat().st_mode) for place in (file, file.parent, file.parent.parent)
    ]
    assert modes == [0o400, 0o700, 0o700]
