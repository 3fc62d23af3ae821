"""A month by hand, and what must hold of any month."""

import datetime as dt
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from rig.ledger import (
    SECOND,
    START,
    at,
    attempt,
    engine,
    heartbeats,
    ledger,
    sample,
    settings,
)

from analytics.books import keep_books
from analytics.identities import BrokenIdentity, check
from analytics.month import month
from analytics.overview import overview, trend
from analytics.periods import Period, month_of
from analytics.render.report import as_text
from analytics.utilization import Layers, layers, peaks
from collector.events import Event
from collector.settings import (
    ApiPrice,
    CompareSettings,
    Electricity,
    EngineSettings,
    Hardware,
)
from collector.store import Store

HOUR = Period("hour", START, START + 3600 * SECOND)
LATER = START + 7200 * SECOND
PRICE = Hardware(name="box", price="17000", in_service=dt.date(2026, 10, 1), life_years=4)
POWER = Electricity(
    from_=dt.date(2026, 1, 1), price_per_kwh="0.20", host_watts=100, psu_efficiency="0.9"
)
SHEET = ApiPrice(name="sheet", input="0.15", cache_read="0.003", output="0.60")


def hour_of_work() -> list[Event]:
    """A: r1 0–10 s, r2 5–15 s, r3 waits 6–10 s and works to 20 s (two slots). B: r4 20 s."""
    events: list[Event] = [
        attempt("r1", 0, 10, ttft_ns=2 * SECOND),
        attempt("r2", 5, 15, ttft_ns=3 * SECOND),
        attempt("r3", 6, 20, ttft_ns=10 * SECOND),
        attempt("r4", 600, 620, "B", ttft_ns=SECOND, cache_read_tokens=100),
        *heartbeats(0, 3600, ["on-A", "on-B"]),
    ]
    for card in "AB":
        energy = 0
        for second in range(0, 3605, 5):
            events.append(
                sample(card, second, power_mw=30_000, energy_uj_total=energy, counter_epoch="1")
            )
            busy = card == "A" and second < 20
            energy += (230 if busy else 30) * 5 * 10**6
    return events


@pytest.fixture
def hour(tmp_path: Path) -> dict[str, Any]:
    made = settings(
        "A", "B", hardware=[PRICE], electricity=[POWER], compare=CompareSettings(prices=[SHEET])
    )
    return month(ledger(tmp_path / "ledger", hour_of_work()), made, HOUR, LATER)


def test_states_by_hand(hour: dict[str, Any]) -> None:
    # A works 20 s, B 20 s; B stands by for the 4 s that r3 waits. From 0 to 620 s the rig is
    # active on both cards, less what is busy or stranded.
    assert hour["states_ns"] == {
        "busy": 40 * SECOND,
        "off": 0,
        "unknown": 0,
        "other": 0,
        "stranded": 4 * SECOND,
        "headroom": (2 * 620 - 44) * SECOND,
        "idle": 2 * (3600 - 620) * SECOND,
    }
    assert hour["capacity_ns"] == 7200 * SECOND


def test_cost_by_hand(hour: dict[str, Any]) -> None:
    # 1 October 2026 to 1 October 2030 has 1,461 days; the asset loses 17000/35064 an hour.
    # Midnight-based floors of the cumulative amount leave at most a nano per bound.
    assert abs(hour["cost_nano"]["capital"] - 17000 * 10**9 / 35_064) <= 1
    # Cards: 2 × 30 W × 3600 s + 200 W × 20 s; host 100 W × 3600 s; behind a PSU of 90 %.
    assert hour["energy_uj"]["cards"] == (2 * 30 * 3600 + 200 * 20) * 10**6
    assert hour["energy_uj"]["host"] == 360_000 * 10**6
    kwh = (216_000 + 4_000 + 360_000) / 3.6e6 / 0.9
    # Rounded once per card and 15-minute bucket: 2 cards × 4 buckets × 2 lines halves of a nano.
    assert abs(hour["cost_nano"]["energy"] - kwh * 0.20 * 10**9) <= 8


def test_marginal_is_the_energy_above_idle(hour: dict[str, Any]) -> None:
    above = 200 * 20 / 3.6e6 / 0.9 * 0.20 * 10**9  # nano-USD for 200 output tokens
    assert abs(hour["cost_per_mtok"]["marginal"]["output"] - above * 10**6 / 200) <= 5000


def test_api_bill_by_hand(hour: dict[str, Any]) -> None:
    (entry,) = hour["compare"]
    # 3 × (100 × 0.15 + 50 × 0.60) + (100 × 0.003 + 50 × 0.60), per million
    assert entry["same_hits_nano"] == 3 * 45_000 + 30_300
    assert entry["no_cache_nano"] == 4 * 45_000
    assert entry["savings_full_nano"] == 165_300 - hour["cost_nano"]["total"]


def test_a_thousand_tokens_at_peak_cost_the_peak_share(hour: dict[str, Any]) -> None:
    # A puts out 150 tokens in 20 busy seconds, B 50 in 20.
    assert hour["layers"]["peak"]["A"]["tokens_per_second"] == 7.5
    assert hour["layers"]["peak"]["B"]["tokens_per_second"] == 2.5
    assert hour["layers"]["throughput"] == 1.0
    steps = {step["step"]: step["nano_per_mtok"] for step in hour["waterfall_nano_per_mtok"]}
    assert steps["below_peak"] == 0


def random_events(dice: random.Random, count: int = 30) -> list[Event]:
    events: list[Event] = [*heartbeats(0, 3600, ["on-A", "on-B"])]
    for n in range(count):
        start = dice.uniform(0, 3400)
        events.append(
            attempt(
                f"r{n:02}",
                start,
                start + dice.uniform(1, 90),
                dice.choice("AB"),
                ttft_ns=dice.randint(1, 30 * SECOND),
                project=dice.choice("pqr"),
            )
        )
    for card in "AB":
        events += [sample(card, s, power_mw=dice.randint(20_000, 500_000))
                   for s in range(0, 3600, 7)]  # fmt: skip
    return events


@pytest.mark.parametrize("seed", range(5))
def test_order_and_repetition_change_nothing(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    events = random_events(dice)
    made = settings("A", "B", hardware=[PRICE], electricity=[POWER])
    once = month(ledger(tmp_path / "once", events), made, HOUR, LATER)
    twice = events + dice.sample(events, 40)
    dice.shuffle(twice)
    assert month(ledger(tmp_path / "twice", twice), made, HOUR, LATER) == once


@pytest.mark.parametrize("seed", range(3))
def test_a_period_is_the_sum_of_its_parts(tmp_path: Path, seed: int) -> None:
    events = random_events(random.Random(seed))
    kept = ledger(tmp_path / "ledger", events)
    made = settings("A", "B", hardware=[PRICE], electricity=[POWER])
    middle = START + 1800 * SECOND
    leaf = ["line", "card", "bucket_ns", "state", "request", "kind"]
    whole = _money(keep_books(kept, made, START, HOUR.to_ns, LATER), leaf).sort(leaf)
    parts = pl.concat(
        _money(keep_books(kept, made, low, high, LATER), leaf)
        for low, high in ((START, middle), (middle, HOUR.to_ns))
    ).sort(leaf)
    assert whole.equals(parts)


@pytest.mark.parametrize("seed", range(4))
def test_splitting_a_request_moves_no_total_and_others_by_a_unit(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    events = random_events(dice, 12)
    start = 1000.0
    made = settings("A", "B", hardware=[PRICE], electricity=[POWER])
    one = attempt("x", start, start + 60)
    two = [attempt("x1", start, start + 25), attempt("x2", start + 25, start + 60)]
    before = keep_books(ledger(tmp_path / "one", [*events, one]), made, *_span(), LATER)
    after = keep_books(ledger(tmp_path / "two", [*events, *two]), made, *_span(), LATER)
    assert before.money["nano"].sum() == after.money["nano"].sum()
    assert before.leaves["ns"].sum() == after.leaves["ns"].sum()
    figures = [_by_request(books) for books in (before, after)]
    for key in figures[0].keys() & figures[1].keys():
        assert abs(figures[0][key] - figures[1][key]) <= 1, key


def _span() -> tuple[int, int]:
    return HOUR.from_ns, HOUR.to_ns


def _by_request(books: Any) -> dict[tuple[Any, ...], int]:
    names = dict(books.rows.select("request", "event_id").iter_rows())
    leaf = ["line", "card", "bucket_ns", "state", "request", "kind"]
    return {
        (*key[:4], names.get(key[4], ""), key[5]): nano
        for *key, nano in _money(books, leaf).iter_rows()
    }


def _money(books: Any, leaf: list[str]) -> pl.DataFrame:
    """What the leaves cost by line, with their names."""
    return books.money.join(books.leaves, on="leaf").select(*leaf, "nano")


def test_unknown_is_not_zero(tmp_path: Path) -> None:
    events: list[Event] = [
        attempt("told", 0, 10),
        attempt("mute", 20, 30, input_tokens=None, output_tokens=None, cache_read_tokens=None),
        *heartbeats(0, 1800, ["on-A"]),
    ]
    made = settings("A", hardware=[PRICE], compare=CompareSettings(prices=[SHEET]))
    found = month(ledger(tmp_path / "ledger", events), made, HOUR, LATER)
    assert found["tokens"]["missing_usage"] == 1
    assert found["compare"][0]["unpriced_requests"] == 1
    # The last word of the witness is at 1790 s and holds for 30 s.
    assert found["states_ns"]["unknown"] == (3600 - 1820) * SECOND
    assert found["energy_uj"]["unknown_ns"] == 3600 * SECOND
    assert found["cost_per_mtok"]["marginal"]["output"] is None
    assert found["compare"][0]["same_hits_nano"] == 45_000
    assert any("without an output count" in flag for flag in found["quality"]["flags"])
    assert any("energy reading" in reason for reason in found["at_least"])
    assert any("no electricity price" in reason for reason in found["at_least"])


def test_nothing_known_is_no_bill_and_no_saving(tmp_path: Path) -> None:
    events: list[Event] = [attempt("r", 0, 10, cache_read_tokens=None)]
    made = settings("A", hardware=[PRICE], compare=CompareSettings(prices=[SHEET]))
    (entry,) = month(ledger(tmp_path / "ledger", events), made, HOUR, LATER)["compare"]
    assert entry["unpriced_requests"] == 1
    for figure in ("no_cache_nano", "same_hits_nano", "savings_full_nano"):
        assert entry[figure] is None


def test_a_bill_of_a_weak_currency_fits(tmp_path: Path) -> None:
    # 240,000 a million for 180,000 input tokens, 600,000 for 200 of output.
    sheet = ApiPrice(name="idr", input="240000", cache_read="24000", output="600000")
    events: list[Event] = [attempt("r", 0, 10, input_tokens=180_000, output_tokens=200)]
    made = settings("A", compare=CompareSettings(prices=[sheet]))
    (entry,) = month(ledger(tmp_path / "ledger", events), made, HOUR, LATER)["compare"]
    assert entry["same_hits_nano"] == (43_200 + 120) * 10**9


FAILED: dict[str, Any] = {"status": "upstream_error", "input_tokens": None, "output_tokens": None}


@pytest.mark.parametrize(
    ("first", "second", "bill"),
    [
        ({"status": "upstream_error"}, {"output_tokens": 20}, 27_000),
        ({"output_tokens": 20}, FAILED, 27_000),  # it answered, and was asked again all the same
        (FAILED, {"status": "client_closed", "output_tokens": 20}, 27_000),
        (FAILED, FAILED, None),
    ],
)
def test_a_request_tried_twice_is_billed_once(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], bill: int | None
) -> None:
    """The try that counts is the one that succeeded, else the one that told its tokens."""
    events: list[Event] = [
        attempt("first", 0, 10, request_id="q", attempt_no=1, **first),
        attempt("second", 10, 20, request_id="q", attempt_no=2, **second),
    ]
    made = settings("A", compare=CompareSettings(prices=[SHEET]))
    found = month(ledger(tmp_path / "ledger", events), made, HOUR, LATER)
    assert (found["tokens"]["requests"], found["tokens"]["attempts"]) == (1, 2)
    assert found["compare"][0]["same_hits_nano"] == bill  # 100 x 150 + 20 x 600
    assert found["states_ns"]["busy"] == 20 * SECOND


def test_an_attempt_told_by_two_sources_counts_once(tmp_path: Path) -> None:
    told = attempt("a", 0, 10, request_id="q", output_tokens=None)
    again = msgspec.structs.replace(told, source="router", event_id="b", output_tokens=77)
    near = msgspec.structs.replace(told, source="tap", event_id="c")
    kept = ledger(tmp_path / "ledger", [told, again, near])
    found = month(kept, settings("A"), HOUR, LATER)
    assert found["tokens"]["requests"] == 1
    assert found["tokens"]["output"] == 77
    assert found["card_time_ns"] == 10 * SECOND


def test_a_card_that_no_setting_names_has_neither_capacity_nor_cost(tmp_path: Path) -> None:
    events: list[Event] = [attempt("r", 0, 10), attempt("lost", 0, 10, "Z", engine="on-Z")]
    made = settings("A", hardware=[PRICE])
    found = month(ledger(tmp_path / "ledger", events), made, HOUR, LATER)
    assert found["capacity_ns"] == 3600 * SECOND
    assert found["card_time_ns"] == 10 * SECOND
    assert found["quality"]["uncarded_requests"] == 1
    assert found["tokens"]["requests"] == 2


def test_requests_before_their_card_was_in_service_have_tokens_and_no_cost(tmp_path: Path) -> None:
    """The box came on 20 October; what ran on its card on the 5th is told."""
    box = msgspec.structs.replace(PRICE, in_service=dt.date(2026, 10, 20))
    events: list[Event] = [attempt("early", 0, 10), attempt("r", 15 * 86_400, 15 * 86_400 + 10)]
    made = settings("A", hardware=[box])
    october = month_of("2026-10", made.zone)
    found = month(ledger(tmp_path / "ledger", events), made, october, at(60 * 86_400))
    assert found["tokens"]["requests"] == 2
    assert found["card_time_ns"] == 10 * SECOND
    assert found["quality"]["uncarded_requests"] == 1
    assert any("name as in service" in flag for flag in found["quality"]["flags"])


def test_energy_before_the_first_price_is_at_least(tmp_path: Path) -> None:
    late = Electricity(from_=dt.date(2027, 1, 1), price_per_kwh="0.20")
    made = settings("A", "B", hardware=[PRICE], electricity=[late])
    found = month(ledger(tmp_path / "ledger", hour_of_work()), made, HOUR, LATER)
    assert found["cost_nano"]["energy"] == 0
    assert found["cost_per_mtok"]["marginal"]["output"] is None
    assert any("times without an electricity price" in reason for reason in found["at_least"])


def test_a_price_by_kind_rests_on_the_requests_that_could_be_split(tmp_path: Path) -> None:
    split: list[Event] = [attempt("s", 0, 10, ttft_ns=2 * SECOND)]
    whole: list[Event] = [attempt("w", 100, 110)]
    made = settings("A", hardware=[PRICE])
    one = month(ledger(tmp_path / "one", split), made, HOUR, LATER)
    two = month(ledger(tmp_path / "two", split + whole), made, HOUR, LATER)
    figures = [m["cost_per_mtok"]["active"]["by_kind"] for m in (one, two)]
    assert figures[0] == figures[1]


def test_an_engine_that_moves_does_not_rewrite_its_past(tmp_path: Path) -> None:
    made = settings("A", "B", hardware=[PRICE])
    moved = EngineSettings(
        name="on-B", url="http://x:1", gpus=["C"], slots=8, pool="p2", from_=dt.date(2026, 10, 6)
    )
    events = [
        *heartbeats(0, 3600, ["on-A", "on-B"]),
        attempt("r1", 0, 10, ttft_ns=SECOND, gpus=[]),
        attempt("r2", 0, 10, ttft_ns=SECOND, gpus=[]),
        attempt("r3", 0, 20, ttft_ns=SECOND, gpus=[]),
        attempt("b", 90_000, 90_010, "B", gpus=[], engine="on-B"),
    ]
    kept = ledger(tmp_path / "ledger", events)
    before = month(kept, made, HOUR, LATER)
    made.engines.append(moved)
    assert month(kept, made, HOUR, LATER) == before
    assert before["states_ns"]["stranded"] == 10 * SECOND
    tuesday = Period("day", START + 16 * 3600 * SECOND, START + 40 * 3600 * SECOND)
    after = month(kept, made, tuesday, tuesday.to_ns)
    assert list(after["layers"]["peak"]) == ["A", "C"]


def test_a_month_without_requests_has_cost_but_no_price(tmp_path: Path) -> None:
    made = settings("A", hardware=[PRICE])
    kept = ledger(tmp_path / "ledger", heartbeats(0, 3600, ["on-A"]))
    found = month(kept, made, HOUR, LATER)
    assert found["cost_per_mtok"]["full"]["output"] is None
    assert found["waterfall_nano_per_mtok"] is None
    assert found["cost_nano"]["total"] > 0
    assert found["unallocated_cost_nano"] == found["cost_nano"]["total"]


def test_money_without_a_card_in_service_is_unassigned(tmp_path: Path) -> None:
    made = settings(hardware=[PRICE])
    found = month(ledger(tmp_path / "ledger", []), made, HOUR, LATER)
    assert found["states_cost_nano"]["unassigned"] == found["cost_nano"]["total"] > 0


def test_an_engine_known_to_be_down_is_off_until_its_witness_falls_silent(tmp_path: Path) -> None:
    events = [
        engine("on-A", 60, "down"),
        engine("on-A", 120, "up"),
        engine("on-A", 600, "down"),
        *heartbeats(0, 900, ["on-A"]),
    ]
    found = month(ledger(tmp_path / "ledger", events), settings("A"), HOUR, LATER)
    assert found["states_ns"]["off"] == (60 + 320) * SECOND
    assert found["states_ns"]["unknown"] == (3600 - 920) * SECOND


def test_a_foreign_load_is_other_use(tmp_path: Path) -> None:
    events: list[Event] = [*heartbeats(0, 3600, ["on-A"])]
    for second in range(0, 3600, 5):
        playing = 1000 < second <= 1500
        events.append(
            sample(
                "A",
                second,
                power_mw=300_000 if playing else 30_000,
                util_pct=90 if playing else 3,
                foreign_processes=1,
            )
        )
    found = month(ledger(tmp_path / "ledger", events), settings("A"), HOUR, LATER)
    assert found["states_ns"]["other"] == 500 * SECOND


def test_a_split_model_credits_each_card_its_share(tmp_path: Path) -> None:
    events = [attempt("r", 0, 100, gpus=["A", "B"], output_tokens=1000, ttft_ns=0)]
    kept = ledger(tmp_path / "ledger", [*events, *heartbeats(0, 3600, ["on-A", "on-B"])])
    found = month(kept, settings("A", "B"), HOUR, LATER)
    assert found["states_ns"]["busy"] == 200 * SECOND
    assert found["layers"]["peak"]["A"]["tokens_per_second"] == 5.0
    assert found["layers"]["throughput"] == 1.0
    assert found["tokens"]["output"] == 1000


def test_peak_is_the_best_sixty_busy_seconds(tmp_path: Path) -> None:
    # 100 s at 2 tok/s, then, an hour's half later, 30 s at 10 and 40 s at 4 tok/s.
    events = [
        attempt("slow", 0, 100, output_tokens=200, ttft_ns=0),
        attempt("fast", 1800, 1830, output_tokens=300, ttft_ns=0),
        attempt("fair", 1900, 1940, output_tokens=160, ttft_ns=0),
    ]
    books = keep_books(ledger(tmp_path / "ledger", events), settings("A"), *_span(), LATER)
    peak = peaks(books.cards, books.rows, *_span())["A"]
    assert peak.utok_per_s == 7_000_000  # 30 s × 10 and 30 s × 4, over 60
    assert (peak.from_ns, peak.to_ns) == (at(1800), at(1930))


def test_layers_multiply_to_the_tokens(hour: dict[str, Any], tmp_path: Path) -> None:
    made = settings("A", "B")
    books = keep_books(ledger(tmp_path / "l", hour_of_work()), made, *_span(), LATER)
    ns = books.leaves.group_by("card", "state").agg(pl.col("ns").sum())
    found = layers(ns, peaks(books.cards, books.rows, *_span()), 200)
    assert isinstance(found, Layers)
    assert found.hours * found.occupancy * found.throughput * found.rated_capacity == 200


def test_a_broken_identity_is_not_published(hour: dict[str, Any]) -> None:
    nothing = Layers(None, None, None, Fraction(0))
    check(hour, [("nothing", nothing, 1)], 0)
    with pytest.raises(BrokenIdentity, match="negative"):
        check(hour, [], -1)
    halved = Layers(Fraction(1, 2), Fraction(1), Fraction(1), Fraction(10))
    check(hour, [("halved", halved, 5)], 0)
    with pytest.raises(BrokenIdentity, match="of halved"):
        check(hour, [("halved", halved, 6)], 0)


BREAKS = {
    "Σ states = capacity": ["states_ns", "idle"],
    "Σ states' cost = total": ["states_cost_nano", "off"],
    "Σ waterfall = full price": ["waterfall_nano_per_mtok", 0, "nano_per_mtok"],
    r"priced \+ unpriced at sheet": ["compare", 0, "priced_requests"],
    r"full cost \+ saved at sheet": ["compare", 0, "savings_full_nano"],
    r"marginal cost \+ saved at sheet": ["compare", 0, "savings_marginal_nano"],
    "at half the gap": ["active_gap", "half", "idle_ns"],
    "Σ unallocated by state": ["unallocated_by_state_nano", "idle"],
    "by project, busy cost": ["groups", "project", 0, "busy_cost_nano"],
    "by key, full cost": ["groups", "key", 0, "full_cost_nano"],
    "by model, cost of headroom": ["groups", "model", 0, "states_cost_nano", "headroom"],
    "by session, card time": ["groups", "session", 0, "card_time_ns", "output"],
    "by session, output": ["groups", "session", 0, "output_tokens"],
    r"by model, m: waterfall": ["groups", "model", 0, "waterfall_nano_per_mtok", "idle"],
    "by card, A: waterfall": ["groups", "card", 0, "waterfall_nano_per_mtok", "idle"],
    "by card, B: busy time": ["groups", "card", 1, "unattributed_ns"],
    "by day, tokens put out": ["groups", "day", 0, "emitted_tokens"],
    "by day, capacity": ["groups", "day", 0, "capacity_ns"],
    "by hour, cost of stranded": ["groups", "hour", 0, "states_cost_nano", "stranded"],
    "by hour, requests": ["groups", "hour", 0, "requests"],
}


@pytest.mark.parametrize("what", BREAKS)
def test_whatever_is_off_by_one_is_not_published(hour: dict[str, Any], what: str) -> None:
    *way, last = BREAKS[what]
    part: Any = hour
    for step in way:
        part = part[step]
    part[last] += 1
    with pytest.raises(BrokenIdentity, match=what):
        check(hour, [], 0)


def test_a_refused_telling_is_counted_where_it_would_have_stood(tmp_path: Path) -> None:
    first = attempt("r", 0, 10)
    kept = ledger(tmp_path / "ledger", [first])
    with Store(tmp_path / "ledger") as store:
        other = msgspec.structs.replace(first, output_tokens=7)
        assert store.append([other, first]).conflicts == [0]
        assert store.append([other]).conflicts == [0]
    told = month(kept, settings("A"), HOUR, LATER)
    assert told["tokens"]["output"] == 50
    assert told["quality"]["conflicts"] == 2
    assert any(flag.startswith("refused: 2 tellings") for flag in told["quality"]["flags"])
    after = Period("after", HOUR.to_ns, HOUR.to_ns + 3_600 * SECOND)
    assert month(kept, settings("A"), after, LATER)["quality"]["conflicts"] == 0


UNTOLD = {"input_tokens": None, "cache_read_tokens": None, "output_tokens": None}


def test_tokens_that_no_attempt_told_are_unknown_and_not_zero(tmp_path: Path) -> None:
    events = [attempt("r", 0, 10, ttft_ns=SECOND, **UNTOLD), *heartbeats(0, 3600, ["on-A"])]
    made = settings("A", hardware=[PRICE])
    found = month(ledger(tmp_path / "ledger", events), made, HOUR, LATER)
    counts = {"requests": 1, "attempts": 1, "missing_usage": 1}
    counts |= {name: 1 for name in found["tokens"] if name.startswith("missing_")}
    assert found["tokens"] == dict.fromkeys(found["tokens"]) | counts
    assert found["layers"]["throughput"] is found["waterfall_nano_per_mtok"] is None
    assert found["cost_per_mtok"]["full"] == {
        "output": None,
        "all": None,
        "by_kind": {"new": None, "recomputed": None, "output": None},
    }
    told = as_text(found)
    untold = "1 request · output tokens unknown · input tokens unknown, their cached part unknown"
    assert untold in told
    assert "is unknown: no request told how many it put out" in told


def test_what_some_attempt_told_is_a_sum_and_of_no_attempt_there_is_none(tmp_path: Path) -> None:
    some = [attempt("r", 0, 10, ttft_ns=SECOND, **UNTOLD), attempt("s", 20, 30, ttft_ns=SECOND)]
    found = month(ledger(tmp_path / "some", some), settings("A"), HOUR, LATER)
    assert [found["tokens"][name] for name in ("input", "cache_read", "output")] == [100, 0, 50]
    assert (found["tokens"]["split_new"], found["tokens"]["split_output"]) == (100, 50)
    none = month(ledger(tmp_path / "none", []), settings("A"), HOUR, LATER)
    assert set(none["tokens"].values()) == {0}


def test_overview_strips_are_the_months_leaves(tmp_path: Path) -> None:
    made = settings("A", "B", hardware=[PRICE], electricity=[POWER])
    kept = ledger(tmp_path / "ledger", hour_of_work())
    october = month_of("2026-10", made.zone)
    now = START + 3600 * SECOND
    found = overview(kept, made, october, now)
    assert found.strips_day == "2026-10-05"
    assert found.strips["ns"].sum() == 2 * 9 * 3600 * SECOND
    last = found.month["last_day"]
    assert last["name"] == "2026-10-05"
    assert len(last["quarters"]) == 9 * 4
    for row in found.month["groups"]["card_day"]:
        if row["day"] != last["name"]:
            continue
        told = [each["states_ns"][row["card"]] for each in last["quarters"]]
        sums = {state: sum(each.get(state, 0) for each in told) for state in row["states_ns"]}
        assert sums == row["states_ns"]
    (entry,) = trend(kept, made, october, now)
    assert entry["full_nano_per_mtok"] == found.month["cost_per_mtok"]["full"]["output"]


def test_a_month_read_from_the_shelf_is_the_month_built(tmp_path: Path) -> None:
    made = settings("A", "B", hardware=[PRICE], electricity=[POWER])
    kept = ledger(tmp_path / "ledger", hour_of_work())
    october = month_of("2026-10", made.zone)
    built = month(kept, made, october, october.to_ns + 10**15)
    root = tmp_path / "ledger" / "derived"
    days = {f"2026-10-{day:02}" for day in range(1, 32)}
    assert {each.name for each in root.iterdir()} == {"time", *days}
    assert {each.name for each in (root / "time").iterdir()} == days
    assert month(kept, made, october, october.to_ns + 10**15) == built
