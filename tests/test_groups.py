"""Groups by hand: whose the cost is, when and where tokens came, and what a gap decides."""

import datetime as dt
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import SECOND, START, attempt, heartbeats, ledger, settings

from analytics.month import month
from analytics.periods import Period, month_of
from collector.clock import to_ns
from collector.events import Event
from collector.settings import Hardware, RigSettings, UsageSettings
from dashboard.cost_sentences import ranked

HOUR = Period("hour", START, START + 3600 * SECOND)
LATER = START + 7200 * SECOND
DAYS = 1461  # of four years from 1 October 2026
# A nano each 3.6 s and card: 1,000 an hour and card.
PRICE = Hardware(
    name="box", price=f"{2 * 1000 * 24 * DAYS / 1e9:.9f}", in_service=dt.date(2026, 10, 1),
    life_years=4,
)  # fmt: skip


def told(path: Path, events: list[Event], *cards: str, **tables: Any) -> dict[str, Any]:
    made = settings(*cards, hardware=[PRICE], **tables)
    return month(ledger(path / "ledger", events), made, HOUR, LATER)


def by_name(document: dict[str, Any], by: str) -> dict[str, dict[str, Any]]:
    return {group["name"]: group for group in document["groups"][by]}


def test_who_works_pays_for_what_stands_by(tmp_path: Path) -> None:
    # Card A, 1,000 nano an hour: p works 540 s (150 nano), q 180 s (50 nano), nobody 2,880 s.
    events = [
        attempt("p1", 0, 540, project="p", key="laptop", output_tokens=300),
        attempt("q1", 540, 720, project="q", output_tokens=200),
        *heartbeats(0, 3600, ["on-A", "on-B"]),
    ]
    document = told(
        tmp_path, events, "A", "B", usage=UsageSettings(peak_output_tokens_per_second={"A": 2})
    )
    # Both cards are of one pool, whose 2,000 nano stand against 200 of work.
    projects = by_name(document, "project")
    assert [group["name"] for group in document["groups"]["project"]] == ["p", "q"]
    assert projects["p"]["busy_cost_nano"] == 150
    assert projects["p"]["full_cost_nano"] == 1500
    assert projects["p"]["states_cost_nano"]["busy"] == 150
    # B stands by for the 720 s, and both are idle for 2,880 s: three quarters of 200 and of 1,600.
    assert projects["p"]["states_cost_nano"]["headroom"] == 150
    assert projects["p"]["states_cost_nano"]["idle"] == 1200
    assert projects["q"]["full_cost_nano"] == 500
    time = projects["p"]["card_time_ns"]
    assert (time["unsplit"], sum(time.values())) == (540 * SECOND, 540 * SECOND)
    # 300 tokens where 540 s at 2 tokens/s would have been 1,080.
    assert projects["p"]["throughput"] == pytest.approx(300 / 1080)
    # 150 × 300/1,080 = 41 at peak, of 1,500 for 300 tokens: 5,000,000 a million.
    steps = projects["p"]["waterfall_nano_per_mtok"]
    assert steps["at_peak"] == 136_667
    assert steps["below_peak"] == 500_000 - 136_667
    assert sum(steps.values()) == 5_000_000
    assert {name: g["full_cost_nano"] for name, g in by_name(document, "key").items()} == {
        "laptop": 1500,
        "(none)": 500,
    }
    assert document["unallocated_cost_nano"] == 0


def test_a_pool_without_work_is_carried_by_nobody(tmp_path: Path) -> None:
    made = settings("A", "B", hardware=[PRICE])
    made.engines[1] = type(made.engines[1])(
        name="on-B", url="http://127.0.0.1:1", gpus=["B"], pool="other"
    )
    kept = ledger(tmp_path / "ledger", [attempt("r", 0, 360)])
    document = month(kept, made, HOUR, LATER)
    assert document["groups"]["model"][0]["full_cost_nano"] == 1000
    assert document["unallocated_cost_nano"] == 1000
    assert document["unallocated_by_state_nano"]["unknown"] == 1000


def test_tokens_come_when_they_are_put_out(tmp_path: Path) -> None:
    # 100 tokens from 850 s to 950 s: 50 before the quarter's end and 50 after it.
    events: list[Event] = [attempt("r", 800, 950, ttft_ns=50 * SECOND, output_tokens=100)]
    quarter = Period("quarter", START, START + 900 * SECOND)
    kept = ledger(tmp_path / "ledger", events)
    document = month(kept, settings("A"), quarter, LATER)
    assert document["tokens"]["output"] == 0  # it ends after the quarter
    assert document["tokens"]["emitted"] == 50
    (card,) = document["groups"]["card"]
    assert (card["emitted_tokens"], card["requests"]) == (50, 0)


def test_tokens_that_nobody_told_are_not_zero(tmp_path: Path) -> None:
    # A's only request told none, one of B's two did; C had no request: it put out none.
    events = [
        attempt("a", 0, 100, "A", output_tokens=None, model="silent"),
        attempt("b", 0, 100, "B", output_tokens=None),
        attempt("c", 200, 300, "B", output_tokens=7),
    ]
    document = told(tmp_path, events, "A", "B", "C")
    cards = by_name(document, "card")
    assert [cards[card]["emitted_tokens"] for card in "ABC"] == [None, 7, 0]
    throughput = [cards[card]["layers"]["throughput"] for card in "ABC"]
    assert (throughput[0], throughput[2]) == (None, None)
    assert throughput[1] == pytest.approx(0.5)  # 7 tokens in 200 s, of 7 in 100 s at best
    (day,) = document["groups"]["day"]
    assert (day["emitted_tokens"], document["tokens"]["emitted"]) == (7, 7)
    models = by_name(document, "model")
    assert (models["silent"]["output_tokens"], models["silent"]["throughput"]) == (None, None)


def test_a_request_that_told_no_tokens_leaves_its_own_hours_unknown(tmp_path: Path) -> None:
    # From 08:50 to 09:10 by the clock, of a period of three hours.
    events = [attempt("r", 3000, 4200, output_tokens=None, ttft_ns=0)]
    made = settings("A", hardware=[PRICE])
    hours = Period("hours", START, START + 3 * 3600 * SECOND)
    document = month(ledger(tmp_path / "ledger", events), made, hours, hours.to_ns)
    told = {name: each["emitted_tokens"] for name, each in by_name(document, "hour").items()}
    assert told == {"08": None, "09": None, "10": 0}
    assert document["tokens"]["emitted"] is None


def test_a_split_model_puts_out_its_tokens_on_every_card(tmp_path: Path) -> None:
    events: list[Event] = [attempt("r", 0, 100, gpus=["A", "B"], output_tokens=101)]
    document = told(tmp_path, events, "A", "B")
    cards = by_name(document, "card")
    assert [cards[card]["emitted_tokens"] for card in "AB"] == [51, 50]
    assert [cards[card]["requests"] for card in "AB"] == [1, 0]


def test_what_runs_on_a_card_before_its_service_is_on_none(tmp_path: Path) -> None:
    late = Hardware(
        name="later", price="1", in_service=dt.date(2026, 10, 6), life_years=4, cards=["B"]
    )
    made = settings("A", "B", hardware=[PRICE, late])
    kept = ledger(tmp_path / "ledger", [attempt("r", 0, 10, "B")])
    document = month(kept, made, HOUR, LATER)
    assert list(by_name(document, "card")) == ["A"]
    assert (document["tokens"]["requests"], document["quality"]["uncarded_requests"]) == (1, 1)


def test_hours_are_local_and_one_comes_twice_in_autumn(tmp_path: Path) -> None:
    made = settings("A", rig=RigSettings(name="desk", time_zone="America/New_York"))
    # 2026-11-01, 01:30 by the wall clock, before and after it was set back.
    first = to_ns(dt.datetime(2026, 11, 1, 5, 30, tzinfo=dt.UTC))
    after = (first - START) // SECOND
    events = [attempt("r", after, after + 60), attempt("s", after + 3600, after + 3660)]
    period = month_of("2026-11", made.zone)
    document = month(ledger(tmp_path / "ledger", events), made, period, period.to_ns + 10**13)
    hours, days = by_name(document, "hour"), by_name(document, "day")
    assert list(hours) == [f"{hour:02}" for hour in range(24)]
    assert hours["01"]["states_ns"]["busy"] == 120 * SECOND
    assert hours["01"]["capacity_ns"] == 31 * 3600 * SECOND
    assert hours["02"]["capacity_ns"] == 30 * 3600 * SECOND
    assert len(days) == 30
    assert days["2026-11-01"]["capacity_ns"] == 25 * 3600 * SECOND
    assert days["2026-11-01"]["requests"] == 2


def test_half_and_twice_the_gap(tmp_path: Path) -> None:
    # Work at 0, 400 and 1,600 s, ten seconds each: pauses of 390 and 1,190 s.
    events = [
        *(attempt(f"r{at}", at, at + 10) for at in (0, 400, 1600)),
        *heartbeats(0, 3600, ["on-A"]),
    ]
    found = told(tmp_path, events, "A", usage=UsageSettings(active_gap="11m"))["active_gap"]
    assert found["gap_ns"] == 660 * SECOND
    # 5.5 min: no pause is shorter. 22 min: both are. 11 min: the first, 390 s of headroom.
    half, twice = found["half"], found["twice"]
    assert (half["gap_ns"], twice["gap_ns"]) == (330 * SECOND, 1320 * SECOND)
    assert (half["headroom_ns"], half["idle_ns"]) == (0, 3570 * SECOND)
    assert (twice["headroom_ns"], twice["idle_ns"]) == (1580 * SECOND, 1990 * SECOND)
    assert (half["hours"], half["occupancy"]) == (30 / 3600, 1.0)
    assert (twice["hours"], twice["occupancy"]) == (1610 / 3600, 30 / 1610)


def test_a_pause_across_midnight_is_judged_at_every_gap(tmp_path: Path) -> None:
    # 25 minutes around midnight UTC: headroom at twice a gap of 15 minutes alone.
    midnight = 16 * 3600
    events: list[Event] = [
        attempt("r", midnight - 1510, midnight - 1500),
        attempt("s", midnight, midnight + 10),
        *heartbeats(midnight - 3600, midnight + 3600, ["on-A"]),
    ]
    kept = ledger(tmp_path / "ledger", events)
    made = settings("A")
    for low, high in ((-3600, 0), (0, 3600)):
        span = Period("span", START + (midnight + low) * SECOND, START + (midnight + high) * SECOND)
        found = month(kept, made, span, span.to_ns + 10**14)["active_gap"]
        assert found["half"]["headroom_ns"] == 0
        assert found["twice"]["headroom_ns"] == (1500 * SECOND if low else 0)


def test_beyond_the_dearest_thousand_all_others_are_one_group(tmp_path: Path) -> None:
    # One after the other: 1 s for each of 1,000 sessions, 0.5 s for each of 3.
    many = [attempt(f"r{n}", n, n + 1, session=f"s{n:04}", output_tokens=7) for n in range(1000)]
    few = [attempt(f"q{n}", 1000 + n, 1000.5 + n, session=f"a{n}") for n in range(3)]
    kept = ledger(tmp_path / "ledger", [*many, *few])
    dear = Hardware(name="box", price="9000", in_service=dt.date(2026, 10, 1), life_years=4)
    document = month(kept, settings("A", hardware=[dear]), HOUR, LATER)
    *shown, others = document["groups"]["session"]
    assert {group["name"] for group in shown} == {f"s{n:04}" for n in range(1000)}
    assert {group["groups"] for group in shown} == {1}
    assert {sum(group["card_time_ns"].values()) for group in shown} == {SECOND}
    assert (others["name"], others["groups"], others["requests"]) == ("(others)", 3, 3)
    assert sum(others["card_time_ns"].values()) == 3 * SECOND // 2
    assert (others["output_tokens"], others["input_tokens"]) == (150, 300)
    carried = sum(group["full_cost_nano"] for group in (*shown, others))
    assert carried + document["unallocated_cost_nano"] == document["cost_nano"]["total"]


def test_a_session_that_is_really_called_others_is_not_all_others(tmp_path: Path) -> None:
    # One after the other: 1 s for each of 1,001 sessions, 10 s for the one of that name.
    many = [attempt(f"r{n}", n, n + 1, session=f"s{n:04}") for n in range(1001)]
    kept = ledger(tmp_path / "ledger", [*many, attempt("q", 2000, 2010, session="(others)")])
    dear = Hardware(name="box", price="9000", in_service=dt.date(2026, 10, 1), life_years=4)
    groups = month(kept, settings("A", hardware=[dear]), HOUR, LATER)["groups"]["session"]
    by_its_name = {group["name"]: group["groups"] for group in groups}
    assert len(by_its_name) == len(groups) == 1001
    assert (by_its_name["(others)"], by_its_name["((others))"]) == (1, 2)
    shown = [group["name"] for group in ranked(groups)]
    assert (shown[0], shown[-1]) == ("(others)", "((others))")


def test_where_a_request_costs_less_than_nothing_nobody_carries_the_rest(tmp_path: Path) -> None:
    # The box falls by 300 while the first session works, and rises by 295 while the second does.
    box = Hardware(
        name="box", price="1000", in_service=dt.date(2026, 10, 5), method="market", cards=["A"],
        market_values={"2026-10-07": "700", "2026-10-09": "995"},
    )  # fmt: skip
    day = 86_400
    events = [
        attempt("a", 0, 20 * 3600, session="early"),
        attempt("b", 2.5 * day, 2.5 * day + 20 * 3600, session="late"),
    ]
    whole = Period("days", START - 8 * 3600 * SECOND, START + (4 * 24 - 8) * 3600 * SECOND)
    kept = ledger(tmp_path / "ledger", events)
    document = month(kept, settings("A", hardware=[box]), whole, START + 20 * day * SECOND)
    early, late = (by_name(document, "session")[name] for name in ("early", "late"))
    assert early["busy_cost_nano"] > 0 > late["busy_cost_nano"]
    for group in (early, late):
        assert group["full_cost_nano"] == group["busy_cost_nano"]
    carried = early["full_cost_nano"] + late["full_cost_nano"]
    assert (
        carried + document["unallocated_cost_nano"] == document["cost_nano"]["total"] == 5 * 10**9
    )
