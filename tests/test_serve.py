"""The door over real HTTP: what is answered, what is refused, and who may speak."""

import gzip
import http.client
import json
import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import pytest
import requests
from rig.door import Opened, opened
from rig.events import attempt_json, body, sample_json

from collector import serve
from collector.body import BODY_MAX, Room
from collector.decode import EVENTS_MAX
from collector.serve import REJECTED_MAX
from collector.snapshot import snapshot
from router.delivery import BATCH_ROWS

JSON = {"Content-Type": "application/json"}
NDJSON = {"Content-Type": "application/x-ndjson"}
GZIP = {**JSON, "Content-Encoding": "gzip"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Opened]:
    with opened(tmp_path) as door:
        yield door


def post(served: Opened, data: bytes, headers: dict[str, str] = JSON) -> requests.Response:
    return requests.post(f"{served.url}/v1/events", data=data, headers=headers, timeout=30)


def kept(served: Opened, kind: str = "sample") -> list[str]:
    seen = snapshot(served.door.store.path, kind, 0, 2**62)
    ids: list[str] = seen.hot["event_id"].to_pylist()
    return ids


def test_events_are_durable_once_answered(served: Opened) -> None:
    answer = post(served, body([attempt_json(1), sample_json(1)]))
    assert answer.status_code == 202
    assert answer.json() == {"accepted": 2, "duplicates": 0, "rejected": []}
    assert kept(served) == ["s-1"]
    assert kept(served, "attempt") == ["01J0000000001"]


def test_the_same_again_changes_nothing(served: Opened) -> None:
    post(served, body([sample_json(1), sample_json(2)]))
    answer = post(served, body([sample_json(2), sample_json(1)]))
    assert (answer.status_code, answer.json()["duplicates"]) == (202, 2)
    assert kept(served) == ["s-1", "s-2"]


def test_ndjson_and_gzip(served: Opened) -> None:
    lines = b"\n".join(json.dumps(sample_json(n)).encode() for n in range(3))
    assert post(served, lines, NDJSON).json()["accepted"] == 3
    packed = gzip.compress(lines, mtime=0)
    assert post(served, packed, {**NDJSON, "Content-Encoding": "gzip"}).json()["duplicates"] == 3
    two_members = gzip.compress(body([sample_json(7)])[:9]) + gzip.compress(
        body([sample_json(7)])[9:]
    )
    assert post(served, two_members, GZIP).json()["accepted"] == 1


def test_an_empty_batch_is_no_error(served: Opened) -> None:
    for data, headers in ((b"[]", JSON), (b"", NDJSON)):
        answer = post(served, data, headers)
        assert (answer.status_code, answer.json()["accepted"]) == (202, 0)


def test_good_neighbours_of_a_bad_event_are_kept(served: Opened) -> None:
    post(served, body([sample_json(1)]))
    batch = [
        sample_json(1),
        sample_json(2, power_mw=-1),
        sample_json(1, power_mw=9),
        sample_json(3),
    ]
    answer = post(served, body(batch))
    assert answer.status_code == 202
    told = answer.json()
    assert (told["accepted"], told["duplicates"]) == (1, 1)
    assert [(r["index"], r["event_id"], r["field"]) for r in told["rejected"]] == [
        (1, "s-2", "power_mw"),
        (2, "s-1", "event_id"),
    ]
    assert all(r["error"] for r in told["rejected"])
    assert kept(served) == ["s-1", "s-3"]


def test_409_when_there_is_nothing_but_conflict(served: Opened) -> None:
    post(served, body([sample_json(1)]))
    answer = post(served, body([sample_json(1, power_mw=9)]))
    assert answer.status_code == 409
    assert answer.json()["rejected"][0]["field"] == "event_id"


def test_400_when_everything_is_refused(served: Opened) -> None:
    answer = post(served, body([sample_json(1, power_mw=True), sample_json(2, at="now")]))
    assert answer.status_code == 400
    assert [r["field"] for r in answer.json()["rejected"]] == ["power_mw", "at"]


@pytest.mark.parametrize(
    ("data", "headers", "status"),
    [
        (b"{", JSON, 400),
        (b"3", JSON, 400),
        (b"\xff", JSON, 400),
        (b"[" * 100_000, JSON, 400),
        (b"no gzip", GZIP, 400),
        (gzip.compress(b"[]", mtime=0)[:-3], GZIP, 400),
        (gzip.compress(gzip.compress(b"[]", mtime=0), mtime=0), GZIP, 400),
        (b"[]", {}, 415),
        (b"[]", {"Content-Type": "text/plain"}, 415),
        (b"[]", {"Content-Type": "application/json; charset=latin-1"}, 415),
        (b"[]", {**JSON, "Content-Encoding": "br"}, 415),
        (b"[]", {**JSON, "Content-Encoding": "gzip, gzip"}, 415),
    ],
)
def test_bodies_that_are_refused_whole(
    served: Opened, data: bytes, headers: dict[str, str], status: int
) -> None:
    answer = post(served, data, headers)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert served.door.room.free == Room().free, "the memory was given back"


def test_a_body_beyond_20_mib_is_refused_while_it_streams(served: Opened) -> None:
    spaces = b" " * (BODY_MAX - 1)
    assert post(served, gzip.compress(b"[" + spaces + b"]"), GZIP).status_code == 413
    assert post(served, gzip.compress(b"[" + spaces[1:] + b"]"), GZIP).status_code == 202
    bomb = gzip.compress(bytes(3 * BODY_MAX))
    assert len(bomb) < BODY_MAX
    assert post(served, bomb, GZIP).status_code == 413
    assert served.door.room.free == Room().free


def test_tiny_events_without_number_are_refused_before_each_is_read(served: Opened) -> None:
    for data, headers in (
        (gzip.compress(b"1\n" * 4_000_000), {**NDJSON, "Content-Encoding": "gzip"}),
        (gzip.compress(b"[" + b"1," * 4_000_000 + b"1]"), GZIP),
    ):
        assert len(data) < 20_000
        answer = post(served, data, headers)
        assert answer.status_code == 413
        assert answer.json()["error"].startswith("the body holds more than 50000 events")
    assert served.door.room.free == Room().free


def test_of_many_refusals_the_first_are_told_and_the_rest_counted(served: Opened) -> None:
    answer = post(served, b"1\n" * (EVENTS_MAX - 1) + json.dumps(sample_json(1)).encode(), NDJSON)
    assert answer.status_code == 202
    told = answer.json()
    assert (told["accepted"], told["rejected_more"]) == (1, EVENTS_MAX - 1 - REJECTED_MAX)
    assert [r["index"] for r in told["rejected"]] == list(range(REJECTED_MAX))
    assert BATCH_ROWS <= REJECTED_MAX, "a tap must learn of each of its events"


def test_no_refusal_repeats_all_that_was_sent(served: Opened) -> None:
    answer = post(served, body([sample_json(1, **{"x" * 100_000: 1})]))
    assert answer.status_code == 400
    assert len(answer.content) < 2000


def test_a_plain_body_beyond_20_mib_is_refused_before_its_end(served: Opened) -> None:
    """The sender never finishes: only a server that counts while it reads can answer."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as sock:
        head = (
            f"POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {4 * BODY_MAX}\r\n\r\n"
        )
        sock.sendall(head.encode() + b" " * (BODY_MAX + 1))
        assert sock.recv(64).startswith(b"HTTP/1.1 413")


def test_408_when_a_body_does_not_come(served: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "BODY_SECONDS", 0.1)
    head = f"POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n"
    answer = sent(served, f"{head}Content-Type: application/json\r\nContent-Length: 9\r\n\r\n[")
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"the body did not come in 0.1 s" in answer


def test_429_when_bodies_would_fill_memory(served: Opened) -> None:
    served.door.room.take(served.door.room.free - 100)
    answer = post(served, body([sample_json(n) for n in range(10)]))
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) >= 1
    served.door.room.give_back(Room().free - 100)
    assert post(served, body([sample_json(n) for n in range(10)])).status_code == 202


class Slow:
    """In place of the store's lock, held: as if the disk were slow. `asked`: somebody writes."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.free = threading.Event()

    def __enter__(self) -> None:
        self.asked.set()
        assert self.free.wait(30)

    def __exit__(self, *_: object) -> None:
        pass


def test_429_when_too_much_waits_to_be_written(tmp_path: Path) -> None:
    """One body is written, one may wait."""

    def batch(sender: int) -> bytes:
        return body([sample_json(sender * 10 + n) for n in range(9)])

    with opened(tmp_path, max_events=10) as served, ThreadPoolExecutor(3) as pool:
        slow, lock = Slow(), served.door.store._lock
        served.door.store._lock = slow
        posts = [pool.submit(post, served, batch(0))]
        assert slow.asked.wait(30)
        posts += [pool.submit(post, served, batch(sender)) for sender in (1, 2)]
        first = next(as_completed(posts)).result()
        served.door.store._lock = lock
        slow.free.set()
        assert first.status_code == 429
        assert int(first.headers["Retry-After"]) >= 1
        assert sorted(post.result().status_code for post in posts) == [202, 202, 429]
        assert len(kept(served)) == 18


def test_503_when_the_disk_is_full_and_recovery_without_a_restart(served: Opened) -> None:
    db = served.door.store._db
    db.execute("PRAGMA max_page_count = 1")  # SQLite then answers as on a full disk
    answer = post(served, body([sample_json(n) for n in range(5000)]))
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert requests.get(f"{served.url}/healthz", timeout=30).status_code == 503
    db.execute("PRAGMA max_page_count = 1073741823")
    assert kept(served) == []
    assert post(served, body([sample_json(1)])).json()["accepted"] == 1
    assert requests.get(f"{served.url}/healthz", timeout=30).json() == {"status": "ok"}


def test_concurrent_posts_are_all_answered_for_themselves(served: Opened) -> None:
    def send(sender: int) -> dict[str, Any]:
        batch = [
            sample_json(0),  # all send this one
            sample_json(sender + 1),
            sample_json(sender + 1, power_mw=-5),
            sample_json(sender + 1, power_mw=10**6),
        ]
        told: dict[str, Any] = post(served, body(batch)).json()
        return told

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, range(40)))
    assert sum(answer["accepted"] for answer in answers) == 41
    assert sum(answer["duplicates"] for answer in answers) == 39
    assert {tuple(r["index"] for r in answer["rejected"]) for answer in answers} == {(2, 3)}
    assert sorted(kept(served)) == sorted(f"s-{n}" for n in range(41))


def test_metrics_are_prometheus_text(served: Opened) -> None:
    engine = {"kind": "engine", "source": "c", "event_id": "e", "rig": "r", "engine": 'a"\\b'}
    batch = [
        sample_json(1),
        sample_json(1),
        sample_json(1, power_mw=2),
        sample_json(2, power_mw=-1),
        {**engine, "state": "up", "at": "2026-10-03T17:02:11Z"},
    ]
    post(served, body(batch))
    answer = requests.get(f"{served.url}/metrics", timeout=30)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    assert 'rigledger_events_accepted_total{kind="sample"} 1' in lines
    assert 'rigledger_events_accepted_total{kind="engine"} 1' in lines
    assert 'rigledger_events_duplicate_total{kind="sample"} 1' in lines
    assert 'rigledger_events_conflict_total{kind="sample"} 1' in lines
    assert 'rigledger_events_rejected_total{kind="sample"} 1' in lines
    assert "rigledger_hot_rows 2" in lines
    assert "rigledger_segments 0" in lines
    assert r'rigledger_engine_up{engine="a\"\\b"} 1' in lines
    (age,) = (
        li for li in lines if li.startswith('rigledger_last_sample_age_seconds{device="GPU-0"}')
    )
    assert float(age.split()[1]) > 0
    assert answer.text.endswith("\n")
    for line in lines:
        assert line.startswith(("# HELP rigledger_", "# TYPE rigledger_", "rigledger_"))


def raw(served: Opened, *headers: tuple[str, str], path: str = "/healthz") -> int:
    """The status for a GET with exactly these headers."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_exactly_one_host_header_that_is_ours(served: Opened) -> None:
    ours = f"127.0.0.1:{served.port}"
    assert raw(served, ("Host", ours)) == 200
    assert raw(served, ("Host", f"LOCALHOST:{served.port}")) == 200
    assert raw(served, ("Host", f"[::1]:{served.port}")) == 200
    assert raw(served) in {400, 403}
    assert raw(served, ("Host", ours), ("Host", ours)) in {400, 403}
    for stranger in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", "127.0.0.1:1", ""):
        assert raw(served, ("Host", stranger)) in {400, 403}


def test_other_web_pages_are_refused(served: Opened) -> None:
    host = ("Host", f"127.0.0.1:{served.port}")
    assert raw(served, host, ("Origin", f"http://127.0.0.1:{served.port}")) == 200
    for origin in ("null", "http://evil.example", f"http://localhost:{served.port}", "", "file://"):
        assert raw(served, host, ("Origin", origin)) == 403
    options = requests.options(f"{served.url}/v1/events", timeout=30)
    assert "Access-Control-Allow-Origin" not in options.headers
    assert options.status_code == 405


def test_the_token_is_asked_for(tmp_path: Path) -> None:
    secret = "-".join(["correct", "horse", "battery"])
    with opened(tmp_path, secret=secret) as served:
        for given in (None, "Bearer", "Bearer wrong", f"Basic {secret}", f"Bearer {secret}x", "é"):
            headers = {**JSON, **({} if given is None else {"Authorization": given})}
            headers = {name: value.encode() for name, value in headers.items()}  # type: ignore[misc]
            assert post(served, body([sample_json(1)]), headers).status_code == 401
        assert kept(served) == []
        assert requests.get(f"{served.url}/metrics", timeout=30).status_code == 401
        assert requests.get(f"{served.url}/healthz", timeout=30).status_code == 200
        right = {**JSON, "Authorization": f"Bearer {secret}"}
        assert post(served, body([sample_json(1)]), right).status_code == 202


def test_nothing_of_a_malformed_request_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "-".join(["correct", "horse", "battery"])
    head = "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n" + (
        f"Authorization: Bearer {secret}\r\nContent-Type: application/json\r\n"
    )
    with caplog.at_level(logging.DEBUG), opened(tmp_path, secret=secret) as served:
        head = head.format(port=served.port)
        assert sent(served, head[:-2] + "\0\r\n\r\n").startswith(b"HTTP/1.0 400")
        chunked = f"{head}Transfer-Encoding: chunked\r\n\r\nZZ\r\n"
        assert sent(served, chunked).startswith(b"HTTP/1.0 400")
        with socket.create_connection(("127.0.0.1", served.port), timeout=30) as leaver:
            leaver.sendall(f"{head}Content-Length: 100\r\n\r\n[".encode())
        assert requests.get(f"{served.url}/healthz", timeout=30).status_code == 200
    for record in caplog.records:
        assert record.exc_info is None, record
        assert secret not in record.getMessage()
    assert served.door.room.free == Room().free


def sent(served: Opened, asked: str) -> bytes:
    """What a raw request is answered with."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as sock:
        sock.sendall(asked.encode())
        return sock.recv(4096)


def test_a_failure_inside_is_logged_by_its_kind_alone(
    served: Opened, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(served.door.store, "counters", broken)
    assert requests.get(f"{served.url}/metrics", timeout=30).status_code == 500
    assert [record.getMessage() for record in caplog.records] == ["a request failed: RuntimeError"]


def test_on_all_addresses_each_of_them_is_a_host(tmp_path: Path) -> None:
    with opened(tmp_path, listen="0.0.0.0:0") as served:
        # 127.0.0.2 stands for an address of this machine that no setting names.
        for host, status in ((f"127.0.0.2:{served.port}", 200), (f"192.0.2.1:{served.port}", 403)):
            asked = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            with socket.create_connection(("127.0.0.2", served.port), timeout=30) as sock:
                sock.sendall(asked.encode())
                assert sock.recv(4096).startswith(f"HTTP/1.1 {status}".encode())


def test_unknown_paths_and_methods(served: Opened) -> None:
    assert requests.get(f"{served.url}/v1/nothing", timeout=30).status_code == 404
    assert requests.get(f"{served.url}/v1/events", timeout=30).status_code == 405
