"""The feed: whatever the collector does, every event arrives once and nobody waits."""

import json
import re
import sqlite3
import time
import uuid
from datetime import UTC, datetime

import pytest
from rig.events import read
from rig.ports import free_port
from rig.receiver import Receiver

from collector.clock import from_ns, now_ns
from collector.events import Heartbeat
from router import feed as feed_module
from router.delivery import encode, judge
from router.event_ids import EventIds
from router.feed import Feed
from router.spool import Spool

IDS = EventIds()
BEARER = "word-of-sixteen-letters"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Waits between attempts that a test can sit through."""
    monkeypatch.setattr(feed_module, "FIRST_DELAY_S", 0.01)
    monkeypatch.setattr(feed_module, "LAST_DELAY_S", 0.05)


def beat(**fields):
    known = {
        "source": "tap",
        "event_id": IDS.next(),
        "rig": "desk",
        "witness": "tap",
        "covers": ["card0"],
        "at": from_ns(now_ns()),
    }
    return Heartbeat(**known | fields)


def open_feed(tmp_path, url, **options):
    limit_bytes = options.pop("limit_bytes", 1 << 28)
    feed = Feed(Spool(tmp_path / "spool-tap.sqlite", limit_bytes), url, **options)
    feed.start()
    return feed


def waiting(tmp_path):
    spool = Spool(tmp_path / "spool-tap.sqlite")
    try:
        return len(spool)
    finally:
        spool.close()


def test_events_arrive_as_the_contract_has_them(tmp_path):
    with Receiver() as receiver:
        feed = open_feed(tmp_path, receiver.url, token=BEARER)
        sent = [beat() for _ in range(2500)]
        for event in sent:
            feed.put(event)
        receiver.wait_events(2500)
        feed.close()
    assert list(receiver.events) == [event.event_id for event in sent]
    assert set(receiver.seen.values()) == {1}
    assert receiver.tokens == {f"Bearer {BEARER}"}
    found, rejected = read(json.dumps(list(receiver.events.values())).encode())
    assert rejected == []
    assert [event for _, event in found] == sent
    assert feed.lost == 0
    assert waiting(tmp_path) == 0


@pytest.mark.parametrize("mode", ["500", "429", "503", "404", "401", "bare", "dying"])
def test_a_failing_collector_gets_everything_once_it_recovers(tmp_path, mode):
    with Receiver() as receiver:
        receiver.mode = mode
        feed = open_feed(tmp_path, receiver.url)
        sent = [beat() for _ in range(50)]
        for event in sent:
            feed.put(event)
        receiver.wait_posts(3)
        posts, receiver.mode = receiver.posts, "ok"
        receiver.wait_posts(posts + 1)
        receiver.wait_events(50)
        feed.close()
    assert waiting(tmp_path) == 0


def test_a_collector_that_was_not_there_gets_everything_when_it_comes(tmp_path):
    port = free_port()
    feed = open_feed(tmp_path, f"http://127.0.0.1:{port}")
    for _ in range(50):
        feed.put(beat())
    time.sleep(0.1)
    with Receiver(port) as receiver:
        receiver.wait_events(50)
        feed.close()
    assert set(receiver.seen.values()) == {1}


def test_a_hanging_collector_is_given_up_and_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(feed_module, "POST_TIMEOUT_S", 0.2)
    with Receiver() as receiver:
        receiver.mode = "hang"
        feed = open_feed(tmp_path, receiver.url)
        feed.put(beat())
        receiver.wait_posts(2)
        receiver.mode = "ok"
        receiver.wait_events(1)
        feed.close()


def test_closing_does_not_wait_for_a_hanging_collector(tmp_path, monkeypatch):
    monkeypatch.setattr(feed_module, "FAREWELL_S", 0.2)
    with Receiver() as receiver:
        receiver.mode = "hang"
        feed = open_feed(tmp_path, receiver.url)
        for _ in range(20):
            feed.put(beat())
        receiver.wait_posts(1)
        feed.close()
        assert receiver.events == {}
        assert waiting(tmp_path) == 20


def test_what_a_dead_process_left_is_sent_by_the_next(tmp_path):
    feed = open_feed(tmp_path, f"http://127.0.0.1:{free_port()}")
    sent = [beat() for _ in range(20)]
    for event in sent:
        feed.put(event)
    feed.close()
    with Receiver() as receiver:
        feed = open_feed(tmp_path, receiver.url)
        receiver.wait_events(20)
        feed.close()
    assert list(receiver.events) == [event.event_id for event in sent]


def test_refused_events_stand_aside_and_the_others_arrive(tmp_path):
    with Receiver() as receiver:
        sent = [beat() for _ in range(10)]
        receiver.refuse = {sent[3].event_id, sent[7].event_id}
        feed = open_feed(tmp_path, receiver.url)
        for event in sent:
            feed.put(event)
        receiver.wait_events(8)
        feed.close()
    assert waiting(tmp_path) == 0
    with sqlite3.connect(tmp_path / "spool-tap.sqlite") as db:
        aside = db.execute("SELECT body, error FROM refused").fetchall()
    db.close()
    assert {json.loads(body)["event_id"] for body, _ in aside} == receiver.refuse
    assert {error for _, error in aside} == {"model: no"}


def test_batches_that_are_too_large_are_split(tmp_path):
    port = free_port()
    feed = open_feed(tmp_path, f"http://127.0.0.1:{port}")
    for _ in range(100):
        feed.put(beat())
    receiver = Receiver(port)
    receiver.largest = 7
    with receiver:
        receiver.wait_events(100)
        feed.close()
    assert waiting(tmp_path) == 0


def test_a_full_queue_drops_the_newest_and_counts(tmp_path):
    feed = Feed(Spool(tmp_path / "spool-tap.sqlite"), "http://127.0.0.1:1", queue_events=5)
    for _ in range(8):
        feed.put(beat())
    assert feed.lost == 3
    feed.start()
    feed.close()
    assert waiting(tmp_path) == 5


def test_a_full_spool_drops_the_newest_and_counts(tmp_path):
    feed = open_feed(tmp_path, f"http://127.0.0.1:{free_port()}", limit_bytes=1000)
    for _ in range(50):
        feed.put(beat())
    feed.close()
    kept = waiting(tmp_path)
    assert 0 < kept < 50
    assert feed.lost == 50 - kept


@pytest.mark.parametrize(("every_s", "told"), [(60.0, [3, 7]), (0.0, [3, 7, 7])])
def test_what_is_lost_is_told_while_it_grows_and_at_the_end(
    tmp_path, monkeypatch, caplog, every_s, told
):
    monkeypatch.setattr(feed_module, "TELL_LOST_EVERY_S", every_s)
    spool = Spool(tmp_path / "spool-tap.sqlite")
    feed = Feed(spool, "http://127.0.0.1:1", queue_events=5)

    def numbers():
        lines = [line.getMessage() for line in caplog.records]
        counts = [re.match(r"events lost .*: (\d+);", line) for line in lines]
        return [int(count[1]) for count in counts if count]

    for _ in range(8):
        feed.put(beat())
    feed.start()
    until(numbers)
    for _ in range(4):
        feed.lose()
    for kept in (6, 7):  # after the second, what the first had to tell is told
        feed.put(beat())
        until(lambda kept=kept: len(spool) == kept)
    feed.close()
    assert numbers() == told


def until(holds):
    due = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < due
        time.sleep(0.005)


def test_an_event_that_cannot_be_written_does_not_stop_the_others(tmp_path):
    with Receiver() as receiver:
        feed = open_feed(tmp_path, receiver.url)
        feed.put(beat(rig="\ud800"))
        feed.put(beat())
        receiver.wait_events(1)
        feed.close()
    assert feed.lost == 1


def test_a_disk_that_refuses_for_a_while_loses_nothing(tmp_path, monkeypatch):
    with Receiver() as receiver:
        spool = Spool(tmp_path / "spool-tap.sqlite")
        spool._db.execute(
            "CREATE TEMP TRIGGER full BEFORE INSERT ON waiting "
            "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
        feed = Feed(spool, receiver.url)
        feed.start()
        feed.put(beat())
        time.sleep(0.1)
        spool._db.execute("DROP TRIGGER full")
        receiver.wait_events(1)
        feed.close()
    assert feed.lost == 0


def test_what_no_disk_takes_until_the_end_is_counted(tmp_path, caplog):
    spool = Spool(tmp_path / "spool-tap.sqlite")
    spool._db.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON waiting "
        "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
    )
    feed = Feed(spool, f"http://127.0.0.1:{free_port()}")
    feed.start()
    for _ in range(50):
        feed.put(beat())
    feed.close()
    assert feed.lost == 50
    assert "50 events found no room on the disk and are lost" in caplog.text


BATCH = [(11, b'{"event_id":"a"}'), (12, b'{"event_id":"b"}')]


def receipt(*indexes, accepted=0):
    rejected = [{"index": i, "event_id": None, "field": "f", "error": "e"} for i in indexes]
    return json.dumps({"accepted": accepted, "duplicates": 0, "rejected": rejected}).encode()


@pytest.mark.parametrize(
    ("status", "body", "settled", "refused", "split"),
    [
        (202, receipt(accepted=2), True, {}, False),
        (202, receipt(1, accepted=1), True, {12: "f: e"}, False),
        (202, b"ok", False, {}, False),
        (202, b"[]", False, {}, False),
        (409, receipt(0), True, {11: "f: e"}, False),
        (400, receipt(0, 1), True, {11: "f: e", 12: "f: e"}, False),
        (400, b'{"error": "not JSON"}', False, {}, True),
        (413, b"", False, {}, True),
        (500, receipt(0), False, {}, False),
        (200, receipt(accepted=2), False, {}, False),
        (302, b"", False, {}, False),
        (202, receipt(7, -1, accepted=2), True, {}, False),
    ],
)
def test_what_answers_mean(status, body, settled, refused, split):
    verdict = judge(status, body, BATCH)
    assert (verdict.settled, verdict.refused, verdict.split) == (settled, refused, split)


def test_a_single_event_that_is_not_understood_is_refused():
    assert judge(413, b"", BATCH[:1]).refused == {11: "refused with HTTP 413"}


def test_a_batch_is_a_json_array():
    assert json.loads(encode(BATCH)) == [{"event_id": "a"}, {"event_id": "b"}]


def test_ids_are_unique_ordered_and_of_their_time():
    before = now_ns() // 1_000_000
    made = [IDS.next() for _ in range(10_000)]
    assert len(set(made)) == 10_000
    assert made == sorted(made)
    first = uuid.UUID(made[0])
    assert first.version == 7
    assert before <= first.int >> 80 <= before + 60_000
    assert datetime.fromtimestamp((first.int >> 80) / 1000, UTC).year >= 2026
