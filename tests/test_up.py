"""`rigledger up`: a real tree comes up, mends itself and leaves nothing behind."""

import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from rig.ports import free_port, free_ports
from rig.tree import PYTHON, Up, answers, until

from collector.clock import from_ns, now_ns
from collector.conflicts import conflicts
from collector.demo.feed import newest_ns
from collector.settings import load
from collector.settings_edit import Correct
from collector.settings_save import read_version, save
from collector.supervise import Child, StartError, Tree

DASHBOARD = '[dashboard]\nlisten = "127.0.0.1:{1}"\n'


@pytest.fixture
def rig(tmp_path):
    """A folder with settings of a rig with one tap, on ports that are free."""
    ports = free_ports(3)
    (tmp_path / "rigledger.toml").write_text(
        f"""
[collector]
listen = "127.0.0.1:{ports[0]}"
[dashboard]
listen = "127.0.0.1:{ports[1]}"
[rig]
name = "desk"
[[engines]]
name = "card0"
url = "http://127.0.0.1:9"
gpus = ["GPU-a"]
[[taps]]
engine = "card0"
listen = "127.0.0.1:{ports[2]}"
""",
        encoding="utf-8",
    )
    return tmp_path, ports


@pytest.fixture
def start(request):
    def start(folder: Path, *arguments: str) -> Up:
        up = Up(folder, arguments)
        request.addfinalizer(up.destroy)
        return up

    return start


def pid_of(up, word):
    return next((pid for pid, command in up.left().items() if word in command), None)


def test_the_tree_comes_up_mends_itself_and_goes(rig, start, cards):
    folder, ports = rig
    cards.add("GPU-b")
    up = start(folder, "up")
    until(up.said("Ctrl-C stops all of it"), "the tree is up")
    assert "rigledger is up: desk" in up.log
    assert "engines    card0 down" in up.log
    assert "cards      GPU-a not found; readable: GPU-b" in up.log
    assert f"--config {folder}/rigledger.toml report 20" in up.log
    assert "DEMO" not in up.log
    assert answers(f"http://127.0.0.1:{ports[0]}/healthz")
    assert answers(f"http://127.0.0.1:{ports[1]}/_stcore/health")
    socket.create_connection(("127.0.0.1", ports[2]), timeout=5).close()

    second = subprocess.run(
        [*PYTHON, "-m", "rigledger", "up"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert second.returncode == 2
    assert f"already runs here (PID {up.process.pid}) and keeps {folder}/data;" in second.stderr

    collector = pid_of(up, " collect")
    os.kill(collector, signal.SIGKILL)
    until(up.said("collector ended (exit -9); starting it again"), "its death is noticed")
    until(lambda: answers(f"http://127.0.0.1:{ports[0]}/healthz"), "it is back")
    assert pid_of(up, " collect") not in (None, collector)

    assert up.interrupt() == 0
    # The reader of the killed collector's cards notices at its next reading.
    until(lambda: up.left() == {}, "every child has gone")


def test_children_go_when_their_parent_is_killed(rig, start):
    folder, ports = rig
    up = start(folder, "up")
    until(lambda: answers(f"http://127.0.0.1:{ports[0]}/healthz"), "the collector answers")
    up.process.kill()
    up.process.wait()
    until(lambda: up.left() == {}, "every child has gone")


def test_a_taken_port_is_told_in_one_sentence(rig, start):
    folder, ports = rig
    with socket.create_server(("127.0.0.1", ports[1])):
        up = start(folder, "up")
        assert up.process.wait(60) == 2
    assert up.log.count("\n") == 1
    assert f"[dashboard] listen = 127.0.0.1:{ports[1]}: address already in use" in up.log


def test_without_settings_the_demo_is_shown_and_says_so(tmp_path, start, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "shared"))
    up = start(tmp_path, "up")
    until(lambda: "\n" in up.log or up.process.poll() is not None, "it has said something")
    assert up.log.startswith(f"no rigledger.toml in {tmp_path}: showing the demo\n")
    until((tmp_path / "shared/rigledger/demo/rigledger.toml").exists, "its books lie")
    up.interrupt()


def test_the_demo_keeps_its_books_apart(rig, start):
    folder, ports = rig
    up = start(folder, "up", "--demo")
    until(up.said("loading the demo ledger: 0 %"), "the first demo events are kept")
    page = f"http://127.0.0.1:{ports[1]}"
    assert up.log.startswith(
        f"building the demo ledger once, about 35 s; the page will be at {page}\n"
    )
    assert up.interrupt() == 0
    assert up.left() == {}
    settings = load(folder / "data/demo/rigledger.toml")
    assert settings.rig.name == "demo rig"
    assert settings.collector.listen == f"127.0.0.1:{ports[0]}"
    assert settings.store_path() == folder / "data/demo"
    reached_ns = newest_ns(folder / "data/demo", now_ns())
    assert reached_ns > 0

    config = folder / "data/demo/rigledger.toml"
    save(read_version(config), [Correct(("hardware", 0, "price"), "15000")], from_ns(now_ns()))
    moved = folder / "rigledger.toml"
    ports[0] = free_port()
    moved.write_text(f'[collector]\nlisten = "127.0.0.1:{ports[0]}"\n' + DASHBOARD.format(*ports))
    again = start(folder, "up", "--demo")
    until(again.said("loading the demo ledger: 0 %"), "it goes on where it was stopped")
    assert "building" not in again.log
    assert again.interrupt() == 0
    kept = load(config)
    assert kept.hardware[0].price == "15000"
    assert "# corrected " in config.read_text()
    assert kept.collector.listen == f"127.0.0.1:{ports[0]}"
    assert kept.dashboard.listen == f"127.0.0.1:{ports[1]}"
    assert newest_ns(folder / "data/demo", now_ns()) > reached_ns
    assert conflicts(folder / "data/demo", 0, 2**62) == 0
    assert (folder / "data/demo/manifest.sqlite").exists()
    assert [path.name for path in (folder / "data").iterdir()] == ["demo"]


def test_a_demo_file_that_cannot_be_used_is_told_and_kept(rig, start):
    folder, _ = rig
    config = folder / "data/demo/rigledger.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[rig]\nname = "demo rig"\ncurrency = "dollars"\n')
    up = start(folder, "up", "--demo")
    assert up.process.wait(60) == 2
    assert f"{config}:3: rig.currency: " in up.log
    assert "dollars" in config.read_text()


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_child_that_cannot_start_is_named():
    tree = Tree(threading.Event())
    with pytest.raises(StartError, match=r"pages ended while starting \(exit 3\)"):
        tree.start(Child("pages", python("raise SystemExit(3)"), lambda: False), 30)
    tree.close()


def test_a_child_that_never_answers_is_given_up():
    tree = Tree(threading.Event())
    child = Child("pages", python("import time; time.sleep(60)"), lambda: False)
    with pytest.raises(StartError, match="pages did not answer within 0 s"):
        tree.start(child, 0)
    tree.close()
    assert child.process is not None
    assert child.process.returncode == -signal.SIGTERM


def test_who_ignores_the_end_is_killed_with_its_children(tmp_path):
    marker = tmp_path / "grandchild"
    code = f"""
import pathlib, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
grandchild = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
pathlib.Path({str(marker)!r}).write_text(str(grandchild.pid))
signal.pause()
"""
    tree = Tree(threading.Event(), grace_s=0.2)
    child = Child("stubborn", python(code), lambda: marker.exists() and marker.read_text() != "")
    assert tree.start(child, 30)
    grandchild = int(marker.read_text())
    tree.close()
    assert child.process is not None
    assert child.process.returncode == -signal.SIGKILL
    until(lambda: _gone(grandchild), "the grandchild has gone")


def _gone(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True


def test_a_stop_while_starting_is_no_error():
    stop = threading.Event()
    stop.set()
    tree = Tree(stop)
    child = Child("pages", python("import time; time.sleep(60)"), lambda: False)
    assert tree.start(child, 30) is False
    tree.close()
