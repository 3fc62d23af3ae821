"""The process tree: what it says of its children, how it ends them, and what no line ever shows."""

import contextlib
import http.client
import json
import logging
import os
import re
import signal
import socket
import sys
import threading
from pathlib import Path

import pytest
from rig.ports import free_ports
from rig.tree import Up, answers, until

from collector.snapshot import snapshot
from collector.supervise import BACK_OFF_S, Child, StartError, Tree

CANARY = "CANARY-7f3a"
SETTINGS = """
[collector]
listen = "127.0.0.1:{0}"
token_file = "token"
[dashboard]
listen = "127.0.0.1:{1}"
[[engines]]
name = "card0"
url = "{url}"
gpus = ["GPU-x"]
[[taps]]
engine = "card0"
listen = "127.0.0.1:{2}"
"""


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def lives(tmp_path: Path, code: str, count: int, **options) -> None:
    """Watch a child that runs this code until it has begun `count` lives."""
    file = tmp_path / "lives"
    mark = f"import sys\nwith open({str(file)!r}, 'a') as f: print(file=f)\n"
    stop = threading.Event()
    tree = Tree(stop, back_off_s=(0.01, 0.02, 0.03), **options)
    tree.start(Child("pages", python(mark + code), lambda: True), 30)

    def wait() -> None:
        until(lambda: file.exists() and len(file.read_text()) >= count, "it has died often enough")
        stop.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    tree.watch()
    waiting.join()
    tree.close()


def test_a_child_that_keeps_dying_is_told_once_with_its_last_words(tmp_path, capsys):
    lives(tmp_path, "print('first'); sys.exit('no such card')", 7)
    lines = capsys.readouterr().err.splitlines()
    ours = [line for line in lines if line.startswith("rigledger | ")]
    assert ours == [
        "rigledger | WARNING: pages ended (exit 1); starting it again in 0.01 s",
        "rigledger | ERROR: pages keeps ending (exit 1, saying: no such card);"
        " it is started again after ever longer pauses, up to 0.03 s",
    ]
    assert lines.count("    pages | no such card") >= 6


def test_what_is_below_the_level_is_not_told(tmp_path, capsys):
    lives(tmp_path, "sys.exit(1)", 5, level=logging.ERROR)
    (only,) = capsys.readouterr().err.splitlines()
    assert only.startswith("rigledger | ERROR: pages keeps ending (exit 1);")


def test_the_pauses_grow_to_a_bound():
    assert list(BACK_OFF_S) == sorted(set(BACK_OFF_S))
    assert 0 < BACK_OFF_S[0] < BACK_OFF_S[-1] <= 60


# Twelve lines within six seconds, then it is ready.
TALKS = "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo at work; sleep 0.5; done; echo >{}; sleep 60"


@pytest.mark.parametrize(("sign", "comes_up"), [("at work", True), ("busy", False), (None, False)])
def test_who_says_that_it_is_at_work_is_waited_for(tmp_path, sign, comes_up):
    ready = tmp_path / "ready"
    talker = Child("talker", ["sh", "-c", TALKS.format(ready)], ready.exists, at_work=sign)
    tree = Tree(threading.Event())
    try:
        if comes_up:
            assert tree.start(talker, 3)
        else:
            with pytest.raises(StartError, match="talker did not answer within 3 s"):
                tree.start(talker, 3)
    finally:
        tree.close()


def test_last_words_are_short_and_the_last_lifes(tmp_path, capsys):
    lives(tmp_path, "print('x' * 1000); sys.exit(3)", 4)
    told = capsys.readouterr().err
    (words,) = re.findall(r"saying: (x+)", told)
    assert len(words) == 300


def test_the_first_child_is_stopped_last(tmp_path):
    """What the others rely on is there until they have gone."""
    log = tmp_path / "log"
    code = f"""
import pathlib, signal, sys, time
def stop(*_):
    time.sleep(float(sys.argv[2]))
    with open({str(log)!r}, "a") as file: file.write(sys.argv[1])
    sys.exit()
signal.signal(signal.SIGTERM, stop)
pathlib.Path({str(tmp_path)!r}, sys.argv[1]).touch()
signal.pause()
"""
    tree = Tree(threading.Event())
    for name, takes_s in (("a", "0"), ("b", "0.3"), ("c", "0")):
        up = tmp_path / name
        assert tree.start(Child(name, [*python(code), name, takes_s], up.exists), 30)
    tree.close()
    assert log.read_text() == "cba"


def test_kill_ends_a_stubborn_child_while_close_waits(capsys):
    code = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1); signal.pause()"
    child = Child("stubborn", python(code), lambda: child.last_words != "")
    tree = Tree(threading.Event(), grace_s=60)
    assert tree.start(child, 30)
    killer = threading.Timer(0.2, tree.kill)
    killer.start()
    tree.close()
    killer.join()
    assert child.process.returncode == -signal.SIGKILL
    assert tree.killed


# --- the real tree


class Hung:
    """An engine that takes a request and answers when told to."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.asked = threading.Event()
        self.go = threading.Event()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection:
            head = connection.recv(65536)
            body = b"{}"
            if head.startswith(b"POST"):
                self.asked.set()
                self.go.wait(60)
                body = json.dumps({"usage": {"prompt_tokens": 5, "completion_tokens": 2}}).encode()
            told = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            told += b"Connection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
            connection.sendall(told)

    def close(self) -> None:
        self.go.set()
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._server.close()


@pytest.fixture
def engine():
    hung = Hung()
    yield hung
    hung.close()


@pytest.fixture
def rig(tmp_path, request, engine):
    """A running `rigledger up` with one tap before the engine, and its ports."""
    ports = free_ports(3)
    (tmp_path / "rigledger.toml").write_text(SETTINGS.format(*ports, url=engine.url))
    token = tmp_path / "token"
    token.write_text(f"{CANARY}-token-of-the-collector")
    token.chmod(0o600)
    up = Up(tmp_path, ["up", "--log-level", getattr(request, "param", "info")])
    request.addfinalizer(up.destroy)
    until(up.said("Ctrl-C stops all of it"), "the tree is up")
    return up, ports


def post(port: int, path: str, body: object, headers: dict[str, str]) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    told = json.dumps(body)
    connection.request("POST", path, told, {"Content-Type": "application/json", **headers})
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def ask_in_background(port: int) -> threading.Thread:
    def ask() -> None:
        try:
            post(port, "/v1/chat/completions", {"messages": []}, {})
        except (OSError, http.client.HTTPException):
            return  # cut by a forced stop

    thread = threading.Thread(target=ask)
    thread.start()
    return thread


def test_a_running_request_is_finished_and_booked_before_the_collector_goes(rig, engine):
    up, ports = rig
    asking = ask_in_background(ports[2])
    assert engine.asked.wait(30)
    up.process.send_signal(signal.SIGINT)
    until(up.said("INFO: waiting for router to finish; Ctrl-C again ends it now"), "it waits")
    engine.go.set()
    assert up.process.wait(60) == 0
    asking.join()
    (attempt,) = snapshot(up.folder / "data", "attempt", 0, 2**62).hot.to_pylist()
    assert (attempt["status"], attempt["output_tokens"]) == ("ok", 2)
    until(lambda: up.left() == {}, "every process has gone")


def test_a_second_ctrl_c_ends_it_now(rig, engine):
    up, ports = rig
    asking = ask_in_background(ports[2])
    assert engine.asked.wait(30)
    up.process.send_signal(signal.SIGINT)
    until(up.said("waiting for router to finish"), "it waits")
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(20) == 130
    until(lambda: up.left() == {}, "every process has gone")
    asking.join()


@pytest.mark.parametrize("rig", ["debug"], indirect=True)
def test_no_line_shows_a_prompt_an_answer_a_key_or_a_token(rig, engine):
    """Through every process at its most talkative, with the collector gone for a while."""
    up, ports = rig
    engine.go.set()
    secret = {"Authorization": f"Bearer {CANARY}-key", "X-Request-ID": "seen"}
    prompt = {"model": "m", "messages": [{"role": "user", "content": f"{CANARY}-prompt"}]}
    path = f"/v1/chat/completions?key={CANARY}-query"
    assert post(ports[2], path, prompt, secret)[0] == 200
    assert post(ports[2], path, f"{CANARY}-broken", secret)[0] == 200
    events = [{"kind": "attempt", "source": "x", "event_id": "1", "prompt": f"{CANARY}-event"}]
    assert post(ports[0], "/v1/events", events, secret)[0] == 401
    right = {"Authorization": f"Bearer {(up.folder / 'token').read_text()}"}
    assert post(ports[0], "/v1/events", events, right)[0] == 400
    assert post(ports[0], f"/v1/{CANARY}", events, right)[0] == 404

    collector = next(pid for pid, command in up.left().items() if " collect" in command)
    os.kill(collector, signal.SIGKILL)
    assert post(ports[2], path, prompt, secret)[0] == 200
    until(up.said("collector ended (exit -9)"), "its death is noticed")
    until(lambda: answers(f"http://127.0.0.1:{ports[0]}/healthz"), "it is back")
    assert answers(f"http://127.0.0.1:{ports[1]}/?key={CANARY}-page")
    engine.close()
    assert post(ports[2], path, prompt, secret)[0] in (502, 503)
    assert up.interrupt() == 0

    assert "DEBUG" in up.log
    assert CANARY not in up.log
    lines = up.log.partition("rigledger is up")[2].splitlines()
    named = re.compile(r" *(collector|router|dashboard|rigledger) \| ")
    after = [line for line in lines if " | " in line]
    assert after and all(named.match(line) for line in after)
