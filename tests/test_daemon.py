"""The collector as a whole: its sources, and the command that runs it."""

import datetime as dt
import json
import os
import queue
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path

import pytest
import requests
from rig.clocks import Clocks
from rig.events import body, host, sample_json

from collector.clock import SECOND_NS
from collector.commit import Committer, Feed
from collector.daemon import Sealer
from collector.events import Engine, Event, Heartbeat
from collector.parcel import pack
from collector.settings import EngineSettings, Settings
from collector.snapshot import snapshot
from collector.sources.engine_health import EngineHealth, Health, check, in_force
from collector.store import Receipt, Store

EVER = (0, 2**62)


class Scripted(BaseHTTPRequestHandler):
    """An engine that answers /health and /props as its server says."""

    def do_GET(self) -> None:
        status, answer = self.server.answers.get(self.path, (404, b""))  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Quiet."""


@contextmanager
def engine(answers: dict[str, tuple[int, bytes]]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    server.answers = answers  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def at(url: str, **changes: object) -> EngineSettings:
    told: dict[str, object] = {"name": "card0", "url": url, "gpus": ["GPU-a"], **changes}
    return EngineSettings(**told)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "up"), [(200, True), (404, True), (401, True), (503, False), (500, False)]
)
def test_an_engine_is_up_when_it_answers_below_500(status: int, up: bool) -> None:
    with engine({"/health": (status, b"")}) as url:
        assert check(at(url, kind="ninfer", slots=2)) == Health(up, 2)


def test_an_engine_that_is_not_there_is_down() -> None:
    with engine({}) as url:
        pass
    assert check(at(url)) == Health(False, None)


@contextmanager
def spoken(*parts: bytes, every_s: float = 0.0) -> Iterator[str]:
    """A server that says this on each connection, the last part again and again."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=speak, args=(server.accept()[0],), daemon=True).start()

    def speak(sock: socket.socket) -> None:
        with sock, suppress(OSError):
            sock.recv(4096)
            for part in chain(parts, repeat(parts[-1]) if every_s else ()):
                sock.sendall(part)
                time.sleep(every_s)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join()


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 ", b""])
def test_an_answer_in_dribbles_is_none(start: bytes) -> None:
    with spoken(start, b"a", every_s=0.05) as url:
        found = check(at(url), within_s=0.3)
    assert found == Health(False, None)
    assert found.reason == "TimeoutError: no whole answer within 0.3 s"


def test_a_body_in_dribbles_hides_only_what_it_would_tell() -> None:
    head = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 9999\r\n\r\n"
    with spoken(head, b" ", every_s=0.05) as url:
        assert check(at(url, kind="llama_cpp", slots=3), within_s=0.3) == Health(True, 3)


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 302 Found\r\nLocation: /\xff\xfe\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 \xff\r\nX-\xff: \xff\r\nContent-Length: 0\r\n\r\n",
    ],
)
def test_odd_bytes_are_an_answer(said: bytes) -> None:
    with spoken(said) as url:
        assert check(at(url)) == Health(True, None)


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999", "http://a..b:1", "http://[::1", "x"])
def test_an_address_that_is_none_is_down(url: str) -> None:
    assert check(at(url)) == Health(False, None)


def test_one_odd_engine_hides_no_other() -> None:
    rounds: queue.Queue[list[Event]] = queue.Queue()
    with engine({"/health": (200, b"")}) as good, spoken(b"no HTTP\r\n\r\n") as odd:
        engines = [at(odd, name="odd"), at("http://a..b:1", name="none"), at(good)]
        source = EngineHealth(Settings(engines=engines))
        source.start(rounds.put)
        events = rounds.get(timeout=30)
        source.stop()
    told = {event.engine: event.state for event in events if isinstance(event, Engine)}
    assert told == {"odd": "down", "none": "down", "card0": "up"}
    (beat,) = [event for event in events if isinstance(event, Heartbeat)]
    assert beat.covers == ["odd", "none", "card0"]


def test_no_engine_holds_up_the_end() -> None:
    """Not even its exit: a thread that waits for an engine must not be waited for."""
    with spoken(b"HTTP/1.1 200 OK\r\nX: ", b"a", every_s=0.05) as url:
        code = (
            "import time\n"
            "from collector.settings import EngineSettings, Settings\n"
            "from collector.sources import engine_health\n"
            "engine_health.check.__defaults__ = (1e6,)\n"
            f"engine = EngineSettings(name='e', url={url!r}, gpus=['GPU-a'])\n"
            "source = engine_health.EngineHealth(Settings(engines=[engine]))\n"
            "source.start(print)\n"
            "time.sleep(0.5)\n"
            "source.stop()\n"
        )
        ended = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("props", "slots"),
    [
        ((200, b'{"total_slots": 4, "model_path": "x"}'), 4),
        ((200, b'{"total_slots": -1}'), 2),
        ((200, b'{"total_slots": "4"}'), 2),
        ((200, b"{}"), 2),
        ((200, b"no json"), 2),
        ((501, b""), 2),
    ],
)
def test_llama_cpp_tells_its_slots(props: tuple[int, bytes], slots: int) -> None:
    with engine({"/health": (200, b""), "/props": props}) as url:
        assert check(at(url, kind="llama_cpp", slots=2)).slots == slots
        assert check(at(url, kind="vllm", slots=7)).slots == 7


def test_the_latest_assignment_in_force_counts() -> None:
    first = at("http://a", from_=dt.date(2026, 1, 1))
    second = at("http://b", from_=dt.date(2026, 6, 1))
    other = at("http://c", name="card1", from_=dt.date(2027, 1, 1))
    engines = [second, other, first]
    assert in_force(engines, dt.date(2025, 12, 31)) == []
    assert in_force(engines, dt.date(2026, 5, 31)) == [first]
    assert in_force(engines, dt.date(2026, 6, 1)) == [second]


def test_changes_are_told_once_and_every_round_has_a_heartbeat() -> None:
    answers: dict[str, tuple[int, bytes]] = {"/health": (200, b"")}
    rounds: list[list[Event]] = []
    told = threading.Condition()

    def deliver(events: list[Event]) -> None:
        with told:
            rounds.append(events)
            told.notify_all()

    def until(count: int) -> None:
        with told:
            assert told.wait_for(lambda: len(rounds) >= count, timeout=30)

    with engine(answers) as url:
        source = EngineHealth(Settings(engines=[at(url)]), interval_s=0.02)
        source.start(deliver)
        until(2)
        answers["/health"] = (503, b"")
        until(len(rounds) + 2)
        source.stop()
    events = [event for some in rounds for event in some]
    changes = [(e.engine, e.state) for e in events if isinstance(e, Engine)]
    assert changes == [("card0", "up"), ("card0", "down")]
    beats = [event for event in events if isinstance(event, Heartbeat)]
    assert len(beats) == len(rounds)
    assert all(beat.covers == ["card0"] for beat in beats)
    assert len({event.event_id for event in events}) == len(events)


def test_after_a_step_engines_are_told_anew_and_again_once_the_time_told_twice_is_over() -> None:
    clocks = Clocks(1_790_000_000 * SECOND_NS)
    source = EngineHealth(Settings(), placed=clocks.placed)
    up = Health(True, 2)
    kept = []
    for run_s, step_s in ((10, 0), (10, -60), (10, 0), (50, 0), (1, 0), (10, 0), (10, 7200)):
        source._last = {"card0": up}
        clocks.run(run_s)
        clocks.set(step_s)
        source._mind_steps()
        kept.append(bool(source._last))
    # Set back by 60 s at 20 s: 60 s later the clock shows 20 s again.
    assert kept == [True, False, True, True, False, True, False]


def test_a_restart_reuses_no_id() -> None:
    seen: list[str] = []
    for _ in range(2):
        first = threading.Event()

        def deliver(events: list[Event], first: threading.Event = first) -> None:
            seen.extend(event.event_id for event in events)
            first.set()

        source = EngineHealth(Settings(), interval_s=30)
        source.start(deliver)
        assert first.wait(30)
        source.stop()
    assert len(set(seen)) == len(seen) == 2


def test_own_events_wait_for_the_disk_and_are_kept_in_the_end(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        committer = Committer(store)
        try:
            feed = Feed(committer, kept=3)
            store._db.execute("PRAGMA query_only = 1")  # every write fails
            for number in range(5):
                feed.deliver([host(number)])
            assert committer.failure is not None
            store._db.execute("PRAGMA query_only = 0")
            feed.deliver([host(9)])
            assert committer.failure is None
        finally:
            committer.close()
    assert snapshot(tmp_path, "host", *EVER).hot["event_id"].to_pylist() == ["3", "4", "9"]


def test_each_of_a_group_is_told_its_own(tmp_path: Path) -> None:
    parts = [[host(0)], [host(1), host(0)], [host(2), host(1, duration_ns=5), host(3)]]
    with Store(tmp_path) as store:
        committer = Committer(store)
        with store._lock:  # all of them wait, and are then written as one group
            jobs = [committer.submit(pack(some)) for some in parts]
        committer.close()
        assert [job.result() for job in jobs] == [
            Receipt(1, [], []),
            Receipt(1, [1], []),
            Receipt(2, [], [1]),
        ]
    hot = snapshot(tmp_path, "host", *EVER).hot
    assert hot["event_id"].to_pylist() == ["0", "1", "2", "3"]


def test_own_events_that_cannot_be_stored_hold_up_no_others(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        committer = Committer(store)
        try:
            feed = Feed(committer)
            feed.deliver([host(1, duration_ns=2**70)])
            feed.deliver([host(2)])
        finally:
            committer.close()
    assert snapshot(tmp_path, "host", *EVER).hot["event_id"].to_pylist() == ["2"]


def test_the_sealer_seals_when_enough_is_hot(tmp_path: Path) -> None:
    with Store(tmp_path, seal_rows=5) as store:
        sealer = Sealer(store)
        committer = Committer(store, observe=lambda parcel, receipt: sealer.nudge())
        try:
            committer.submit(pack([host(n) for n in range(4)])).result()
            assert store.segments() == 0
            committer.submit(pack([host(9)])).result()
            for _ in range(3000):
                if store.segments():
                    break
                threading.Event().wait(0.01)
            assert store.segments() == 1
        finally:
            committer.close()
            sealer.close()


@contextmanager
def collecting(folder: Path, settings: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`rigledger collect`, once its door is open; yields the process and its address."""
    (folder / "rigledger.toml").write_text(settings)
    environment = {**os.environ, "RIGLEDGER_DATA": str(folder / "ledger")}
    command = [str(Path(sys.executable).with_name("rigledger")), "collect"]
    with subprocess.Popen(
        command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if port := re.search(r"listening on port (\d+)", line):
                    break
            else:
                pytest.fail("the collector ended before it listened")
            yield process, f"http://127.0.0.1:{port[1]}"
        finally:
            process.kill()


@pytest.mark.parametrize("name", [signal.SIGTERM, signal.SIGINT])
def test_collect_runs_and_stops_cleanly(tmp_path: Path, name: signal.Signals) -> None:
    with engine({"/health": (200, b"")}) as url:
        settings = (
            '[rig]\nname = "desk"\n[collector]\nlisten = "127.0.0.1:0"\n'
            f'[[engines]]\nname = "card0"\nurl = "{url}"\nslots = 2\ngpus = ["GPU-a"]\n'
        )
        with collecting(tmp_path, settings) as (process, door):
            headers = {"Content-Type": "application/json"}
            answer = requests.post(
                f"{door}/v1/events", data=body([sample_json(1)]), headers=headers, timeout=30
            )
            assert answer.status_code == 202
            for _ in range(3000):
                if (
                    'rigledger_engine_up{engine="card0"} 1'
                    in requests.get(f"{door}/metrics", timeout=30).text
                ):
                    break
                threading.Event().wait(0.01)
            process.send_signal(name)
            rest = process.communicate(timeout=60)[1]
            assert process.returncode == 0, rest
            assert "Traceback" not in rest
    ledger = tmp_path / "ledger"
    assert "s-1" in snapshot(ledger, "sample", *EVER).hot["event_id"].to_pylist()
    (told,) = snapshot(ledger, "engine", *EVER).hot.to_pylist()
    assert (told["engine"], told["state"], told["slots"], told["rig"]) == ("card0", "up", 2, "desk")
    beats = snapshot(ledger, "heartbeat", *EVER).hot.to_pylist()
    assert beats[0]["covers"] == ["card0"]
    assert beats[0]["witness"] == "collector"


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ('[collector]\nlisten = "0.0.0.0:0"\n', "or listen on 127.0.0.1"),
        ('[collector]\nlisten = "127.0.0.1:{taken}"\n', "choose another port"),
    ],
)
def test_collect_refuses_in_one_sentence(tmp_path: Path, settings: str, remedy: str) -> None:
    with engine({}) as url:
        (tmp_path / "rigledger.toml").write_text(settings.format(taken=url.rpartition(":")[2]))
        command = [str(Path(sys.executable).with_name("rigledger")), "collect"]
        run = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert run.returncode == 2
    assert remedy in run.stderr
    assert "Traceback" not in run.stderr


def test_a_second_collector_is_refused(tmp_path: Path) -> None:
    with Store(tmp_path / "data"):
        command = [str(Path(sys.executable).with_name("rigledger")), "collect"]
        run = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
        )
    assert run.returncode == 2
    assert "is being written by another process" in run.stderr
    assert json.dumps(run.stderr).count("\\n") == 1, "one sentence"
