"""The demo ledger: reproducible, valid, and physically possible."""

import datetime as dt
import json
from collections import Counter
from itertools import islice, pairwise
from pathlib import Path

import pytest
from rig.events import read

from analytics.month import month
from analytics.periods import Period
from analytics.read import Ledger
from collector.clock import to_ns
from collector.demo import rig
from collector.demo.feed import Progress, newest_ns
from collector.demo.ledger import events
from collector.demo.plan import plan
from collector.demo.send import BATCH, batches
from collector.settings_file import parse
from collector.store import Store

OCTOBER, NOVEMBER = dt.date(2026, 10, 1), dt.date(2026, 11, 1)
PERIOD_S = 240
# From October 30 on: a working day, the turn of a month and the day with 25 hours.
SINCE_NS = to_ns(dt.datetime(2026, 10, 30, 7, tzinfo=dt.UTC)) - 1


@pytest.fixture(scope="module")
def days():
    return [day for day in islice(events(OCTOBER, SINCE_NS), 34) if day]


@pytest.fixture(scope="module")
def told(days):
    return [json.loads(text) for day in days for _, text in day]


def of_kind(told, kind):
    return [event for event in told if event["kind"] == kind]


def instant_ns(text):
    return to_ns(dt.datetime.fromisoformat(text))


def computing(told, engine):
    """Spans in which a request computed, rebuilt from what the attempts say."""
    spans = []
    for event in of_kind(told, "attempt"):
        if event["engine"] == engine:
            received = instant_ns(event["received_at"])
            start = received + event["dispatch_ns"] + event["wait_ns"]
            spans.append((start, received + event["duration_ns"]))
    return sorted(spans)


def covered_ns(spans):
    """Length of the union of sorted spans."""
    total, reached = 0, 0
    for start, end in spans:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def test_the_same_days_are_told_the_same_way(days):
    again = [day for day in islice(events(OCTOBER, SINCE_NS), 34) if day]
    assert again == days


def test_a_later_start_tells_the_same_events(days):
    november = next(iter(events(NOVEMBER)))
    assert november == days[2]
    since_ns = days[2][1_000][0]
    rest = next(iter(events(NOVEMBER, since_ns)))
    assert rest == [due for due in days[2] if due[0] > since_ns]
    assert 0 < len(rest) < len(days[2])


def test_the_contract_accepts_every_event(told):
    accepted, rejected = read(json.dumps(told).encode())
    assert rejected == []
    assert len(accepted) == len(told) > 15_000


def test_identities_are_unique(told):
    most = Counter(event["event_id"] for event in told).most_common(1)
    assert most[0][1] == 1


def test_events_fall_due_in_order(days):
    due = [at_ns for day in days for at_ns, _ in day]
    assert due == sorted(due)


def test_no_card_computes_more_than_its_slots(told):
    for engine in rig.ENGINES:
        edges = [edge for s, e in computing(told, engine) for edge in ((s, 1), (e, -1))]
        running, most = 0, 0
        for _, step in sorted(edges):
            running += step
            most = max(most, running)
        assert most == rig.SLOTS


def test_a_wait_ends_when_a_slot_frees_up(told):
    for engine in rig.ENGINES:
        ends = {end for _, end in computing(told, engine)}
        waited = [
            instant_ns(a["received_at"]) + a["dispatch_ns"] + a["wait_ns"]
            for a in of_kind(told, "attempt")
            if a["engine"] == engine and a["wait_ns"]
        ]
        assert waited
        assert set(waited) <= ends


def test_token_counts_are_possible(told):
    attempts = of_kind(told, "attempt")
    for attempt in attempts:
        if attempt["status"] == "upstream_error":
            assert attempt["input_tokens"] is None
            assert attempt["ttft_ns"] is None
            continue
        assert 0 <= attempt["cache_read_tokens"] < attempt["input_tokens"]
        assert attempt["output_tokens"] > 0
        assert attempt["dispatch_ns"] + attempt["wait_ns"] < attempt["ttft_ns"]
        assert attempt["ttft_ns"] < attempt["duration_ns"]
    assert {a["status"] for a in attempts} == {"ok", "client_abort", "upstream_error"}


@pytest.mark.parametrize("card", range(3))
def test_counters_integrate_the_power_drawn(told, card):
    """Where a card is quiet or computes throughout, its counter moves by power × time exactly."""
    spans = computing(told, rig.ENGINES[card])
    samples = [s for s in of_kind(told, "sample") if s["device"] == rig.CARDS[card]]
    exact = mixed = 0
    for a, b in pairwise(samples):
        if a["counter_epoch"] != b["counter_epoch"]:
            assert (a["counter_epoch"], b["energy_uj_total"]) == ("demo-2026-10", 0)
            continue
        start, end = instant_ns(a["at"]), instant_ns(b["at"])
        moved = b["energy_uj_total"] - a["energy_uj_total"]
        near = [(max(start, s), min(end, e)) for s, e in spans if s < end and e > start]
        if not near:
            assert abs(moved - a["power_mw"] * (end - start) // 10**6) <= 1
            exact += 1
            continue
        busy_ns, quiet_ns = covered_ns(near), end - start - covered_ns(near)
        assert moved >= (28_000 * quiet_ns + 520_000 * busy_ns) // 10**6 - 1
        assert moved <= (32_000 * quiet_ns + 570_000 * busy_ns) // 10**6 + 1
        mixed += 1
    assert exact > 800
    assert mixed > 10


def test_the_day_with_25_hours_has_25_hours(days):
    told = [json.loads(text) for _, text in days[2]]
    assert len(of_kind(told, "heartbeat")) == 25 * 120
    samples = [s for s in of_kind(told, "sample") if s["device"] == rig.CARDS[0]]
    assert len(samples) == 25 * 3600 // PERIOD_S
    assert of_kind(told, "engine")[0]["at"] == "2026-11-01T07:00:00Z"


def test_the_day_with_23_hours_has_23_hours():
    day = plan(dt.date(2027, 3, 14))
    assert day.end_ns - day.start_ns == 23 * 3600 * 10**9


def test_a_month_has_its_special_days():
    days = [plan(OCTOBER + dt.timedelta(days=n)) for n in range(31)]
    gaming = [day for day in days if day.gaming]
    outage = [day for day in days if day.outage]
    assert [day.day.weekday() for day in gaming] == [4]
    assert [day.outage[1] - day.outage[0] for day in outage] == [20 * 60 * 10**9]
    herds = [burst for day in days for burst in day.bursts if burst.pinned is not None]
    assert sum(burst.turns > 6 for burst in herds) == 1
    for first, second in pairwise(days):
        pinned = [b for day in (first, second) for b in day.bursts if b.pinned is not None]
        assert pinned, "today or yesterday shows one card queueing while two stand by"


def test_an_outage_leaves_no_witness_and_no_samples():
    day = plan(dt.date(2026, 10, 6))
    told = next(islice(events(OCTOBER, day.start_ns - 1), 5, 6))
    kinds = {json.loads(t)["kind"] for at, t in told if day.outage[0] <= at < day.outage[1]}
    assert kinds <= {"attempt"}


def test_batches_never_part_an_instant():
    due = [(n // 7, "{}") for n in range(10_000)]
    parts = list(batches(due))
    assert [event for part in parts for event in part] == due
    for first, second in pairwise(parts):
        assert first[-1][0] < second[0][0]
    assert max(len(part) for part in parts) <= BATCH + 7


def test_the_settings_describe_the_machine():
    now_ns = to_ns(dt.datetime(2026, 11, 29, 21, tzinfo=dt.UTC))
    text = rig.settings_text(now_ns, Path("books"), "127.0.0.1:1", "127.0.0.1:2")
    settings = parse(text, "demo")
    assert settings.rig.name == "demo rig"
    assert settings.hardware[0].in_service == dt.date(2026, 5, 1)
    assert settings.hardware[0].price_nano == 17_000 * 10**9
    assert [engine.gpus for engine in settings.engines] == [[card] for card in rig.CARDS]
    assert {engine.pool_name for engine in settings.engines} == {"qwen"}
    assert rig.first_day(now_ns) == OCTOBER


def test_the_first_day_is_told_in_the_rigs_zone():
    # December 1 in UTC is still November in Los Angeles.
    assert rig.first_day(to_ns(dt.datetime(2026, 12, 1, 7, 59, tzinfo=dt.UTC))) == OCTOBER
    assert rig.first_day(to_ns(dt.datetime(2026, 12, 1, 8, 0, tzinfo=dt.UTC))) == NOVEMBER


def test_a_ledger_knows_how_far_the_demo_got(tmp_path, days):
    assert newest_ns(tmp_path / "none", SINCE_NS) == 0
    part = days[0][:2_000]
    accepted, _ = read(("[" + ",".join(text for _, text in part) + "]").encode())
    beats = [at for at, text in part if '"kind":"heartbeat"' in text]
    store = Store(tmp_path / "ledger")
    try:
        store.append([event for _, event in accepted])
        assert newest_ns(tmp_path / "ledger", beats[-1]) == beats[-1]
        store.seal()
        assert newest_ns(tmp_path / "ledger", beats[-1]) == beats[-1]
    finally:
        store.close()


def test_progress_is_plain_lines_away_from_a_terminal(capsys):
    progress = Progress(0, 100 * 3600 * 10**9)
    for hour in (1, 2, 60, 100):
        progress.show(hour * 3600 * 10**9)
    shown = capsys.readouterr().err
    assert shown == "".join(f"loading the demo ledger: {part} %\n" for part in (0, 50, 100))


def stood_by(attempts):
    """The longest span in which a request waited while another card had none: its length and
    start (ns), and the engines that had it waiting."""
    spans = []
    for a in attempts:
        received = instant_ns(a["received_at"])
        came = received + a["dispatch_ns"]
        spans.append((a["engine"], came, came + a["wait_ns"], received + a["duration_ns"]))
    edges = sorted({edge for span in spans for edge in span[1:]})
    best, since, queued = (0, 0, set()), None, set()
    for start, end in pairwise(edges):
        there = [span for span in spans if span[1] <= start < span[3]]
        waiting = {span[0] for span in there if start < span[2]}
        if waiting and {span[0] for span in there} != set(rig.ENGINES):
            since, queued = (start, waiting) if since is None else (since, queued | waiting)
            best = max(best, (end - since, since, frozenset(queued)), key=lambda found: found[0])
        else:
            since = None
    return best


def test_the_audit_is_found_as_herding(tmp_path):
    """October 12: a long fan-out of which every branch goes to one card. The report's longest
    episode is the one that the events tell."""
    day = plan(dt.date(2026, 10, 12))
    told = next(islice(events(OCTOBER, day.start_ns - 1), 11, 12))
    accepted, _ = read(("[" + ",".join(text for _, text in told) + "]").encode())
    with Store(tmp_path / "ledger") as store:
        store.append([event for _, event in accepted])
    made = parse(rig.settings_text(day.end_ns, tmp_path, "127.0.0.1:1", "127.0.0.1:2"), "demo")
    whole = Period("day", day.start_ns, day.end_ns)
    document = month(Ledger(tmp_path / "ledger"), made, whole, day.end_ns + 10**15)
    episodes = document["routing"]["herding"]["episodes"]
    longest = max(episodes, key=lambda found: instant_ns(found["to"]) - instant_ns(found["from"]))
    attempts = [a for a in (json.loads(text) for _, text in told) if a["kind"] == "attempt"]
    length, since, queued = stood_by(attempts)
    assert length > 600 * 10**9
    told_us = [instant_ns(longest[end]) // 1000 for end in ("from", "to")]
    assert told_us == [since // 1000, (since + length) // 1000]
    assert longest["queued"] == [rig.CARDS[rig.ENGINES.index(engine)] for engine in queued]
    assert longest["queued"] == ["GPU-demo-1"]
    # Every attempt tells its decision and its prefixes.
    assert document["routing"]["decisions"] == len(attempts)
    causes = document["routing"]["misses"]["causes"]
    assert causes["misrouted"]["tokens"] > 0 < causes["evicted"]["tokens"]
    assert causes["untold"]["tokens"] == 0


def test_prompts_go_on_from_what_was_said(told):
    """Each request of a conversation begins with all that the one before it held."""
    last = {}
    for a in of_kind(told, "attempt"):
        assert a["prefix_tokens"] == sorted(a["prefix_tokens"])
        if a["input_tokens"] is not None:
            assert a["prefix_tokens"][-1] == a["input_tokens"]
        before = last.get(a["prefix"][1], [])
        assert a["prefix"][: len(before)] == before
        last[a["prefix"][1]] = a["prefix"]
        chosen = next(c for c in a["route"]["candidates"] if c["engine"] == a["engine"])
        assert a["route"]["hit_tokens"] == chosen["hit_tokens"]
        assert a["route"]["chosen"] == a["engine"]
