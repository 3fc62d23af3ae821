"""A start that takes long says what it is busy with, and how far it is."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from rig.events import NOON_NS, host
from rig.tree import until

from collector import rebuild
from collector.clock import SECOND_NS
from collector.progress import Progress
from collector.store import Store

LOUD = """
import logging, sys, time
from pathlib import Path
from collector.progress import Progress
logging.basicConfig(level="ERROR", format="%(levelname)s %(name)s: %(message)s")
with Progress(Path("books"), every_s=0.1) as progress:
    progress.doing("counting sheep")
    time.sleep(2)
"""


def test_what_takes_long_is_told_again_and_again(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), Progress(Path("books"), every_s=0.01) as progress:
        progress.doing("counting sheep")
        until(lambda: caplog.text.count("books is being opened: counting sheep") > 2, "it is told")
        progress.doing("counting goats")
        until(lambda: "counting goats" in caplog.text, "the next is told")


def test_no_level_hides_it() -> None:
    """`up` waits for who says it, whatever --log-level it passes on."""
    run = subprocess.run([sys.executable, "-c", LOUD], capture_output=True, text=True, check=True)
    assert "INFO collector.progress: books is being opened: counting sheep\n" in run.stderr


def test_a_short_start_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        Store(tmp_path).close()
    assert caplog.text == ""


def test_a_rebuild_tells_how_far_it_is(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        for number in range(4):
            store.append([host(number, at_ns=NOON_NS - number * SECOND_NS)])
            store.seal()
    (tmp_path / "manifest.sqlite").unlink()
    said: list[str] = []
    rebuild.if_needed(tmp_path, said.append)
    assert said[0] == "manifest.sqlite is being checked"
    assert said[1:5] == [
        f"manifest.sqlite is built anew: {share} %, {done} of 4 sealed files have been read"
        for done, share in enumerate((0, 25, 50, 75))
    ]
    assert said[5] == "what can still be read of the former manifest.sqlite is being read"
