"""A day's requests one by one: they add up to the day, and one opened shows what it was."""

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.ledger import SECOND, START, attempt, heartbeats, ledger, sample, settings

from analytics.billing import alone, bills
from analytics.by_hours import by_hours
from analytics.compare import compared_alone
from analytics.counterfactual import Bill
from analytics.day import Day
from analytics.month import account
from analytics.one_request import opened
from analytics.periods import day_at, month_of
from analytics.prices.catalogue import Catalogue
from analytics.requests import (
    NAME,
    ORDERS,
    Wanted,
    choices,
    chosen,
    days_with_requests,
    first,
    request,
    requests,
    totals,
)
from analytics.rollup import KINDS, SPENT, WORK
from analytics.shelf import Shelf
from collector.clock import to_ns
from collector.events import Event
from collector.settings import (
    CompareSettings,
    Electricity,
    Hardware,
    UsageSettings,
)

NOW = to_ns(dt.datetime(2026, 10, 9, tzinfo=dt.UTC))
# A nano each 3.6 s and card: 1,000 an hour and card.
RIG = Hardware(
    name="box", price=f"{2 * 1000 * 24 * 1461 / 1e9:.9f}", in_service=dt.date(2026, 10, 1),
    life_years=4,
)  # fmt: skip
MIDNIGHT = 16 * 3600  # seconds after START, of the end of Monday 5 October


def shelf(path: Path, events: list[Event], **tables: Any) -> Shelf:
    made = settings("A", "B", **({"hardware": [RIG]} | tables))
    return Shelf(ledger(path / "ledger", events), made, NOW)


def two_days(books: Shelf) -> tuple[Day, Day]:
    monday = day_at(START, books.settings.zone)
    one, other = books.days(monday.from_ns, monday.to_ns + (monday.to_ns - monday.from_ns))
    return one, other


def busy_evening() -> list[Event]:
    """Two cards, requests that overlap, one past midnight, one tried twice, one on no card."""
    return [
        attempt("a", 0, 360, ttft_ns=36 * SECOND, project="p", session="s1"),
        attempt("b", 180, 540, "B", ttft_ns=90 * SECOND, project="q", model="n"),
        attempt("c", 200, 300, ttft_ns=SECOND, status="upstream_error", output_tokens=None),
        attempt("night", MIDNIGHT - 360, MIDNIGHT + 720, ttft_ns=SECOND, project="p"),
        attempt("lost", 400, 500, gpus=[], engine="gone"),
        attempt("try1", 600, 610, request_id="r", attempt_no=1, status="timeout"),
        attempt("try2", 610, 620, "B", request_id="r", attempt_no=2),
        *heartbeats(0, 3600, ["on-A", "on-B"]),
    ]


def test_what_the_requests_cost_adds_up_to_the_day(tmp_path: Path) -> None:
    books = shelf(tmp_path, busy_evening())
    monday, tuesday = two_days(books)
    for day, later in ((monday, tuesday), (tuesday, None)):
        rows = requests(day, later)
        spent = sum(int(day.work[name].sum()) for name in SPENT)
        assert int(rows["ns"].sum()) == sum(int(day.work[f"{kind}_ns"].sum()) for kind in KINDS)
        assert int(rows["nano"].sum()) == spent
    rows = {row["event_id"]: row for row in requests(monday, tuesday).iter_rows(named=True)}
    # 360 s of card A at 1,000 an hour, while c shared it for 100 s: 360 - 50 = 310 s.
    assert rows["a"]["ns"] == 310 * SECOND
    assert rows["c"]["ns"] == 50 * SECOND
    # 310 s are 86.1 nano, of four buckets rounded once each.
    assert abs(rows["a"]["nano"] - Fraction(310_000, 3600)) < 1
    assert rows["night"]["ends_later"]
    assert rows["night"]["nano"] == 100
    assert not rows["b"]["ends_later"]
    # What is on no card has no cost that is known.
    assert rows["lost"]["nano"] is None
    assert rows["c"]["output_tokens"] is None


def test_one_by_name_is_its_row_and_the_parts_of_it_add_up(tmp_path: Path) -> None:
    monday, tuesday = two_days(shelf(tmp_path, busy_evening()))
    rows = requests(tuesday, None).vstack(requests(monday, tuesday))
    ended = rows.filter(~pl.col("ends_later")).to_dicts()
    assert len(ended) == 7
    parts = dict.fromkeys((*WORK, *SPENT), 0)
    for row in ended:
        day = tuesday if row["event_id"] == "night" else monday
        told = request(day, row["source"], row["event_id"])
        assert told is not None
        del row["ends_later"]
        assert row.items() <= told.items()
        for name in parts:
            parts[name] += told[name] or 0
        assert (told["nano"] is None) == (told["capital_nano"] is None) == (row["card"] is None)
    for name in parts:
        before = monday.costs().filter(event_id="night")[name].sum()
        assert parts[name] + before == sum(day.work[name].sum() for day in (monday, tuesday)), name
    assert request(monday, "test", "night") is None  # it ends on the next day


def test_what_ends_in_no_day_that_is_told_has_its_name_and_comes_first(tmp_path: Path) -> None:
    end = MIDNIGHT + 720
    late = [
        attempt(name, MIDNIGHT - 360, end, card, ttft_ns=SECOND)
        for name, card in (("night3", "B"), ("night1", "A"), ("night2", "B"))
    ]
    monday, _ = two_days(shelf(tmp_path, [*late, *busy_evening()]))
    rows = requests(monday, None)
    assert rows["event_id"].to_list()[:4] == ["night", "night1", "night2", "night3"]
    assert rows["ends_later"].to_list() == [True] * 4 + [False] * (len(rows) - 4)


def test_sums_leave_earlier_tries_and_what_ends_later_out(tmp_path: Path) -> None:
    monday, tuesday = two_days(shelf(tmp_path, busy_evening()))
    rows = requests(monday, tuesday)
    told = totals(rows)
    assert (told["attempts"], told["requests"]) == (6, 5)
    assert told["output_tokens"] == 5 * 50
    assert told["requests"] == int(monday.tallies["requests"].sum())
    assert told["output_tokens"] == int(monday.tallies["output_tokens"].sum())
    assert totals(rows.clear())["nano"] is None
    assert totals(rows.filter(event_id="lost"))["nano"] is None


def test_filters_take_what_they_name(tmp_path: Path) -> None:
    books = shelf(tmp_path, busy_evening())
    monday, tuesday = two_days(books)
    rows, zone = requests(monday, tuesday), books.settings.zone

    def names(**wanted: Any) -> set[str]:
        return set(chosen(rows, Wanted(**wanted), zone)["event_id"].to_list())

    assert names() == {"a", "b", "c", "night", "lost", "try1", "try2"}
    assert names(project="p") == {"a", "night"}
    assert names(project="(none)") == {"c", "lost", "try1", "try2"}
    assert names(model="n") == {"b"}
    assert names(card="A", status="ok") == {"a", "night"}
    assert names(session="s1") == {"a"}
    # START is 08:00 UTC, the zone of the rig UTC: the night request arrived at 23:54.
    assert names(from_hour=23) == {"night"}
    assert names(from_hour=8, to_hour=9) == names() - {"night"}
    assert choices(rows)["status"] == ["ok", "timeout", "upstream_error"]
    assert choices(rows)["card"] == ["(none)", "A", "B"]


def test_the_first_rows_by_each_order(tmp_path: Path) -> None:
    rows = requests(*two_days(shelf(tmp_path, busy_evening())))
    assert first(rows, "newest", 2)["event_id"].to_list() == ["night", "try2"]
    assert first(rows, "longest", 1)["event_id"].to_list() == ["night"]
    # Two of 100 nano, by name, then one of 86.
    assert first(rows, "dearest", 3)["event_id"].to_list() == ["b", "night", "a"]
    # What is not known stands last.
    assert first(rows, "dearest", 9)["event_id"].to_list()[-1] == "lost"
    assert first(rows, "most output", 9)["event_id"].to_list()[-1] == "c"


BY = {"newest": "received_ns", "dearest": "nano", "longest": "took_ns",
      "most output": "output_tokens"}  # fmt: skip


@given(
    told=st.lists(st.none() | st.integers(0, 4), max_size=12),
    order=st.sampled_from(ORDERS),
    count=st.integers(1, 6),
)
def test_the_first_rows_are_those_of_all_in_order(
    told: list[int | None], order: str, count: int
) -> None:
    rows = [(value, "test", f"{number:02}") for number, value in enumerate(told)]
    frame = pl.DataFrame(rows, {BY[order]: pl.Int64, "source": pl.String, "event_id": pl.String},
                         orient="row").sample(fraction=1, shuffle=True, seed=len(rows))  # fmt: skip
    whole = sorted(rows, key=lambda row: (row[0] is None, -(row[0] or 0), row[2]))
    assert first(frame, order, count).rows() == whole[:count]


def test_days_without_any_request_are_left_out(tmp_path: Path) -> None:
    books = shelf(tmp_path, busy_evening())
    october = month_of("2026-10", books.settings.zone)
    days = books.days(october.from_ns, october.to_ns)
    assert len(days) == 8
    assert days_with_requests(days) == [dt.date(2026, 10, 5), dt.date(2026, 10, 6)]


def test_one_past_midnight_has_all_it_cost(tmp_path: Path) -> None:
    books = shelf(tmp_path, busy_evening())
    _, tuesday = two_days(books)
    found = opened(books, tuesday, "test", "night")
    assert found is not None
    # 1,080 s alone on a card at 1,000 an hour, 360 of them on Monday.
    assert found.attempt["ns"] == 1080 * SECOND
    assert found.attempt["nano"] == found.attempt["capital_nano"] == 300
    assert found.attempt["cards"] == ["A"]
    assert (found.attempt["first_ns"], found.attempt["then_ns"]) == (SECOND, 1079 * SECOND)


def test_one_stands_among_its_neighbours_on_lanes(tmp_path: Path) -> None:
    readings = [sample("A", at, power_mw=power) for at, power in
                ((-10, 50_000), (0, 50_000), (10, 450_000), (20, 450_000))]  # fmt: skip
    later = [sample("A", at, power_mw=450_000) for at in (300, 310, 320, 330)]
    books = shelf(tmp_path, [*busy_evening(), *readings, *later])
    monday, _ = two_days(books)
    found = opened(books, monday, "test", "a")
    assert found is not None
    bars = {bar["event_id"]: bar for bar in found.bars.iter_rows(named=True)}
    # Window: 180 s before and after; b is on the other card, the tries come too late.
    assert set(bars) == {"a", "c"}
    assert (bars["a"]["is_it"], bars["c"]["is_it"]) == (True, False)
    assert (bars["a"]["lane"], bars["c"]["lane"]) == (0, 1)
    assert found.window == (START - 180 * SECOND, START + 540 * SECOND)
    assert found.left_out == 0
    watts = found.watts.select("from_ns", "mw").rows()
    at = {(from_ns - START) // SECOND: mw for from_ns, mw in watts}
    # Trapezoids: from 50 to 450 W is 250 W on average; the silence up to 300 s is not known.
    assert (at[-10], at[0], at[10], at[20], at[300]) == (50_000, 250_000, 450_000, None, 450_000)


def test_tokens_that_are_not_known_stay_so(tmp_path: Path) -> None:
    untold = attempt("u", 0, 10, input_tokens=None, cache_read_tokens=None)
    odd = attempt("o", 20, 30, input_tokens=10, cache_read_tokens=20)
    keys: dict[str, Any] = {"prefix": ["k1:a"], "prefix_tokens": [80]}
    told = [
        attempt("k", 40, 50, cache_read_tokens=60),
        attempt("first", 60, 70, **keys),
        attempt("again", 80, 90, cache_read_tokens=10, **keys),
    ]
    books = shelf(tmp_path, [untold, odd, *told])
    monday, _ = two_days(books)
    # Without keys nobody knows what was computed before; of 80 that were, a cache had 10.
    expected = {"u": (None, None), "o": (None, None), "k": (40, None), "first": (100, 0),
                "again": (20, 70)}  # fmt: skip
    for name, tokens in expected.items():
        found = opened(books, monday, "test", name)
        assert found is not None
        assert (found.attempt["fresh_tokens"], found.attempt["recomputed_tokens"]) == tokens, name
    assert opened(books, monday, "test", "nobody") is None


CACHED_SHEET = """
[[sheets]]
id = "mine"
[[sheets.periods]]
input = "1"
cache_read = "0.1"
output = "5"
[sheets.cache]
min_prefix_tokens = 1024
granularity_tokens = 128
ttl_seconds = { default = 300 }
"""


def test_single_bills_add_up_to_the_day_s(tmp_path: Path) -> None:
    """Also where the provider's cache remembers, and where two arrive in one instant."""
    sheets = tmp_path / "sheets"
    sheets.mkdir()
    (sheets / "mine.toml").write_text(CACHED_SHEET)
    keyed: dict[str, Any] = {
        "input_tokens": 10_000, "prefix": ["k1:a", "k1:b"], "prefix_tokens": [4096, 9000],
    }  # fmt: skip
    events: list[Event] = [
        attempt("eve", MIDNIGHT - 20, MIDNIGHT - 10, **keyed),
        attempt("t1", MIDNIGHT + 60, MIDNIGHT + 70, **keyed),
        attempt("t2", MIDNIGHT + 3600, MIDNIGHT + 3700, **keyed),
        attempt("t3", MIDNIGHT + 3600, MIDNIGHT + 3650, **keyed),
        attempt("plain", MIDNIGHT + 4000, MIDNIGHT + 4010),
        attempt("untold", MIDNIGHT + 5000, MIDNIGHT + 5010, input_tokens=None),
        attempt("try1", MIDNIGHT + 6000, MIDNIGHT + 6010, request_id="r", status="timeout"),
        attempt("try2", MIDNIGHT + 6010, MIDNIGHT + 6020, request_id="r", attempt_no=2),
    ]
    made = CompareSettings(sheets=["mine"], sheet_folder=str(sheets))
    books = shelf(tmp_path, events, compare=made)
    _, tuesday = two_days(books)
    sheet = Catalogue(books.settings).sheet("mine")
    ((whole,),) = bills(books, [tuesday], [sheet])
    names = tuesday.ended(*NAME).rows()
    assert len(names) == 7
    singles = [alone(books, tuesday, *name, sheet) for name in names]
    assert sum(singles, Bill()) == whole
    told = {name: compared_alone(books, tuesday, "test", name)[0] for _, name in names}
    # t1 finds what was written on the evening before: 9,000 floored to 8,960 at a tenth.
    assert told["t1"]["headline_nano"] == (10_000 - 8960) * 1000 + 8960 * 100 + 50 * 5000
    assert told["t1"]["scenario"] == "simulated"
    # Of the two of one instant the first one writes, the second one finds.
    assert told["t2"]["headline_nano"] == 10_000 * 1000 + 50 * 5000
    assert told["t3"]["headline_nano"] == told["t1"]["headline_nano"]
    assert told["plain"]["scenario"] == "same_hits"
    assert told["untold"]["headline_nano"] is None
    assert told["untold"]["why"] == "input tokens are not known"
    assert told["try1"]["why"] == "another try of this request counts, and is billed"
    assert told["try2"]["why"] is None


def test_the_curve_meets_the_bill_where_the_break_even_says(tmp_path: Path) -> None:
    rows = {"input_tokens": 10**6, "output_tokens": 10_000, "ttft_ns": SECOND}
    minutes = range(0, 86_400, 60)
    events: list[Event] = [
        *(attempt(f"r{at}", at, at + 600, **rows) for at in range(0, 7200, 900)),
        *heartbeats(0, 86_400, ["on-A", "on-B"]),
        *(sample("A", at, power_mw=300_000 if at < 7200 else 40_000) for at in minutes),
        *(sample("B", at, power_mw=40_000) for at in minutes),
    ]
    box = Hardware(name="box", price="3000", in_service=dt.date(2026, 10, 5), life_years=4)
    power = Electricity(from_=dt.date(2026, 1, 1), price_per_kwh="0.20", host_watts=90)
    books = shelf(
        tmp_path,
        events,
        hardware=[box],
        electricity=[power],
        usage=UsageSettings(),
        compare=CompareSettings(sheets=["deepseek/deepseek-v4.1-flash"]),
    )
    document = account(books, day_at(START, books.settings.zone))
    curve = by_hours(document)
    assert curve is not None
    prices = {point["hours"]: point["full_nano_per_mtok"] for point in curve["points"]}
    # As it was it is the full price; and less the longer the day is.
    assert prices[curve["here_hours"]] == document["cost_per_mtok"]["full"]["output"]
    assert list(prices.values()) == sorted(prices.values(), reverse=True)
    assert max(prices) == 24
    (entry,) = document["compare"]
    even = float(entry["break_even"]["hours_per_day"])
    assert entry["break_even"]["verdict"] == "at"
    # own(h) = (total - marginal) × here ÷ h + marginal, over the same tokens, by hand.
    marginal, total = document["marginal_cost_nano"], document["cost_nano"]["total"]
    own = (total - marginal) * curve["here_hours"] / even + marginal
    assert own == pytest.approx(entry["headline_nano"], rel=1e-6)
    assert by_hours(document | {"marginal_cost_nano": None}) is None
