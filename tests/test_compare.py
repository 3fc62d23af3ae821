"""Own cost beside price sheets through the whole pipeline: by hand, over time, from the shell."""

import argparse
import datetime as dt
import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rig.ledger import SECOND, attempt, heartbeats, ledger, sample, settings

from analytics import folder
from analytics.cli import add_commands
from analytics.month import account
from analytics.periods import Period, day_at, month_of
from analytics.read import Ledger
from analytics.savings import since_purchase
from analytics.shelf import Shelf
from collector.clock import to_ns
from collector.events import Attempt, Event
from collector.settings import (
    ApiPrice,
    CompareSettings,
    Electricity,
    ExchangeRate,
    Hardware,
    RigSettings,
    Settings,
    UsageSettings,
)

DAY = 86_400
# Seconds after START, Monday 5 October 2026 08:00 UTC, of Wednesday the 14th 00:00 UTC.
WEDNESDAY = 9 * DAY - 8 * 3600
FLASH = "deepseek/deepseek-v4.1-flash"
POWER = Electricity(from_=dt.date(2026, 1, 1), price_per_kwh="0.20")
RIG = Hardware(name="rig", price="17000", in_service=dt.date(2026, 10, 1), life_years=4)
OCTOBER = month_of("2026-10", settings("A").zone)
NOW = to_ns(dt.datetime(2026, 11, 20, tzinfo=dt.UTC))


def rig(*sheets: str, **tables: Any) -> Settings:
    given = {
        "hardware": [RIG],
        "electricity": [POWER],
        "compare": CompareSettings(sheets=[*sheets]),
    }
    return settings("A", **(given | tables))


def work(name: str, at: float, **fields: Any) -> Attempt:
    """Ten seconds of work: a million tokens in, 900,000 of them cached, 10,000 out."""
    given = {"input_tokens": 10**6, "cache_read_tokens": 900_000, "output_tokens": 10_000}
    return attempt(name, at, at + 10, ttft_ns=SECOND, **(given | fields))


def october(path: Path, made: Settings, events: list[Event]) -> dict[str, Any]:
    return account(Shelf(ledger(path, events), made, NOW), OCTOBER)


def test_peak_and_off_peak_are_told_apart_by_the_instant(tmp_path: Path) -> None:
    """0.0474 at peak (Wednesday 02:00 UTC), 0.0237 at 12:00 and on Saturday, by hand."""
    hours = (WEDNESDAY + 2 * 3600, WEDNESDAY + 12 * 3600, WEDNESDAY + 3 * DAY + 2 * 3600)
    events: list[Event] = [work(f"r{at}", at) for at in hours]
    (entry,) = october(tmp_path, rig(FLASH), events)["compare"]
    assert entry["same_hits_nano"] == 47_400_000 + 2 * 23_700_000
    # Without a cache a million in and 10,000 out are 0.312 at peak, 0.156 else.
    assert entry["no_cache_nano"] == (300 + 12 + 2 * (150 + 6)) * 10**6
    # Output alone: 10,000 tokens at 1.20 and 20,000 at 0.60 are 0.80 a million on average.
    assert entry["output_only_nano_per_mtok"] == 800_000_000
    assert entry["sheet"] == FLASH
    assert (entry["priced_requests"], entry["unpriced_requests"]) == (3, 0)


def test_own_cache_of_the_provider_needs_prefixes_and_rules(tmp_path: Path) -> None:
    """Four minutes apart the provider remembers, an hour apart it does not."""
    sheets = tmp_path / "sheets"
    sheets.mkdir()
    (sheets / "mine.toml").write_text(
        """
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
    )
    made = rig(compare=CompareSettings(sheets=["mine"], sheet_folder=str(sheets)))
    keyed = {"prefix": ["k1:a"], "prefix_tokens": [500_000], "cache_read_tokens": 0}
    # The last second of Tuesday, then Wednesday: the day before is remembered.
    at = (WEDNESDAY - 1, WEDNESDAY + 239, WEDNESDAY + 4000)
    events: list[Event] = [work(f"r{second}", second, **keyed) for second in at]
    (entry,) = october(tmp_path / "books", made, events)["compare"]
    hit = 500_000 // 128 * 128
    assert entry["scenario"] == "simulated"
    assert entry["no_cache_nano"] == entry["same_hits_nano"] == 3 * 1_050_000_000
    assert entry["simulated_nano"] == 3 * 1_050_000_000 - hit * 900
    assert entry["simulated_requests"] == 3


def test_another_currency_counts_at_the_rate_of_the_day(tmp_path: Path) -> None:
    euro = RigSettings(currency="EUR")
    rates = {
        "USD/EUR": [
            ExchangeRate(from_=dt.date(2026, 10, 6), rate="0.9"),
            ExchangeRate(from_=dt.date(2026, 10, 14), rate="0.8"),
        ]
    }
    made = rig(FLASH, rig=euro, currencies=rates)
    # On the 5th there is no rate yet, on the 13th 0.9, on the 14th 0.8.
    at = (6 * 3600, WEDNESDAY - 9 * 3600, WEDNESDAY + 12 * 3600)
    events: list[Event] = [work(f"r{second}", second) for second in at]
    (entry,) = october(tmp_path, made, events)["compare"]
    assert entry["currency"] == "EUR"
    assert entry["same_hits_nano"] == 21_330_000 + 18_960_000  # 0.0237 x 0.9 and x 0.8
    assert entry["rate"] == [
        {"from": "2026-10-06", "rate": "0.9"},
        {"from": "2026-10-14", "rate": "0.8"},
    ]
    (why,) = entry["unpriced"]
    assert (why["requests"], entry["unpriced_requests"]) == (1, 1)
    assert "2026-10-06" in why["why"]
    assert entry["savings_full_bound"] == "open"  # energy was never read


def test_a_sheet_that_is_not_there_prices_nothing_and_says_so(tmp_path: Path) -> None:
    (entry,) = october(tmp_path, rig("deepseek/deepseek-flsh"), [work("r", 0)])["compare"]
    assert entry["headline_nano"] is None
    assert entry["savings_full_nano"] is None
    (why,) = entry["unpriced"]
    assert why["requests"] == 1
    assert "deepseek/deepseek-flash" in why["why"]


def drawing(second: int, until: int, watts: int, busy_watts: int, busy: set[int]) -> list[Event]:
    """A reading of the counter each 5 s: idle watts, and the busy ones after the named seconds."""
    events: list[Event] = []
    energy = 0
    for at in range(second, until + 5, 5):
        events.append(
            sample("A", at, power_mw=watts * 1000, energy_uj_total=energy, counter_epoch="1")
        )
        energy += (busy_watts if at in busy else watts) * 5 * 10**6
    return events


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """An hour in which the rig works 10 s every 100 s, from 0 to 1,810 s."""
    starts = range(0, 1900, 100)
    events: list[Event] = [work(f"r{at}", at) for at in starts]
    events += heartbeats(0, 3600, ["on-A"])
    events += drawing(0, 3600, 30, 530, {at + more for at in starts for more in (0, 5)})
    period = Period("hour", to_ns(dt.datetime(2026, 10, 5, 8, tzinfo=dt.UTC)), 0)
    period = Period("hour", period.from_ns, period.from_ns + 3600 * SECOND)
    books = ledger(tmp_path_factory.mktemp("hour"), events)
    return account(Shelf(books, rig(FLASH), NOW), period)


def test_break_even_of_a_measured_hour_by_hand(hour: dict[str, Any]) -> None:
    """19 requests of 10 s: 190 s busy in a window of 1,810 s of the hour."""
    assert hour["states_ns"]["busy"] == 190 * SECOND
    assert hour["states_ns"]["headroom"] == 1620 * SECOND
    (entry,) = hour["compare"]
    # 5 October is a holiday in China: off-peak at 08:00 UTC, 0.0237 each.
    bill = 19 * 23_700_000
    assert entry["headline_nano"] == bill
    # Above idle: 500 W x 190 s at 0.20.
    marginal = Fraction(500 * 190 * 200_000_000, 3_600_000)
    assert abs(hour["marginal_cost_nano"] - marginal) <= 4
    total = hour["cost_nano"]["total"]
    # Both grow with the hours of the window, 1,810 s of the hour or 12.07 hours a day.
    scale = (total - marginal) / (bill - marginal)
    share = Fraction(1810, 3600) * scale
    meet = entry["break_even"]
    assert meet["verdict"] == "at"
    assert abs(Fraction(meet["hours_per_day"]) - 24 * share) < Fraction(1, 10**6)
    assert abs(Fraction(meet["utilization"]) - scale * 190 / 3600) < Fraction(1, 10**7)
    assert abs(meet["tokens_per_day"] - 24 * 190_000 * scale) < 2
    # The capital that an hour may cost: the bill less the energy.
    energy = hour["cost_nano"]["energy"]
    price = Fraction(17000) * (bill - energy) / (total - energy)
    assert abs(Fraction(meet["hardware_price"]) - price) < Fraction(1, 10**4)
    # 30 Wh idle and 26.4 Wh above: what is left of the bill after capital, for a kWh.
    kwh = Fraction(30 * 3600 + 500 * 190, 3_600_000)
    left = (bill - hour["cost_nano"]["capital"]) / kwh / 10**9
    assert (meet["verdicts"]["price_per_kwh"] == "never") == (left < 0)
    if left >= 0:
        assert abs(Fraction(meet["price_per_kwh"]) - left) < Fraction(1, 10**6)


def test_an_always_on_rented_card_breaks_even_at_nine_percent(tmp_path: Path) -> None:
    """6.8445 an hour, 5,000 a month, power included. An hour at its peak of 2,000 tokens a second
    is 7.2 million tokens, 76.05 at an API's 10.5625 a million; 9 % of that is 6.8445. It worked
    one hour of this day, 4.2 %, so the API would have been cheaper, and 2.16 hours are even."""
    made = settings(
        "A",
        hardware=[
            Hardware(
                name="card",
                method="rented",
                rate_per_hour="6.8445",
                in_service=dt.date(2026, 10, 1),
            )
        ],
        electricity=[Electricity(from_=dt.date(2026, 1, 1), price_per_kwh="0", host_watts=0)],
        usage=UsageSettings(peak_output_tokens_per_second={"A": 2000}),
        compare=CompareSettings(
            prices=[ApiPrice(name="an API", input="0", cache_read="0", output="10.5625")]
        ),
    )
    events: list[Event] = [attempt("r", 0, 3600, ttft_ns=0, output_tokens=7_200_000)]
    events += heartbeats(-8 * 3600, 16 * 3600, ["on-A"], every=25)
    for second in range(-8 * 3600, 16 * 3600 + 300, 300):
        busy = 0 <= second < 3600
        events.append(sample("A", second, power_mw=500_000 if busy else 20_000))
    day = day_at(OCTOBER.from_ns + 4 * DAY * SECOND, made.zone)
    found = account(Shelf(ledger(tmp_path, events), made, NOW), day)
    assert found["cost_nano"]["total"] == 24 * 6_844_500_000
    (entry,) = found["compare"]
    assert entry["headline_nano"] == 76_050_000_000
    assert entry["savings_full_nano"] == 76_050_000_000 - 164_268_000_000
    meet = entry["break_even"]
    assert (meet["verdict"], meet["utilization"], meet["hours_per_day"]) == ("at", "0.09", "2.16")
    assert meet["tokens_per_day"] == 15_552_000
    assert meet["hardware_price"] is None
    assert meet["payback_months"] is None


def test_the_apis_output_price_alone_flatters_it(tmp_path: Path) -> None:
    """The golden rig beside DeepSeek off-peak: its bill holds the input, which the quote leaves
    out. Eight tokens in, seven of them cached, for one out."""
    told = {"input_tokens": 80_000, "cache_read_tokens": 70_000, "output_tokens": 10_000}
    events: list[Event] = [work(f"r{n}", WEDNESDAY + 12 * 3600 + 60 * n, **told) for n in range(3)]
    (entry,) = october(tmp_path, rig(FLASH), events)["compare"]
    assert entry["output_only_nano_per_mtok"] == 600_000_000
    # 1 x 0.15 + 7 x 0.003 + 0.60 a million output tokens.
    assert entry["headline_nano_per_mtok"] == 771_000_000
    assert entry["no_cache_nano"] == 3 * 10_000 * (8 * 150 + 600)


def test_savings_are_the_bill_less_own_cost(hour: dict[str, Any]) -> None:
    (entry,) = hour["compare"]
    assert entry["savings_full_nano"] == entry["headline_nano"] - hour["cost_nano"]["total"]
    assert entry["savings_marginal_nano"] == entry["headline_nano"] - hour["marginal_cost_nano"]
    here = entry["here_or_there"]
    assert here["here_nano_per_mtok"] < here["there_nano_per_mtok"]
    assert here["cheaper"] == "here"


def test_savings_add_up_over_months_and_days(tmp_path: Path) -> None:
    events: list[Event] = [work(f"r{n}", n * 1.37 * DAY) for n in range(25)]
    made = rig(FLASH, "deepseek/deepseek-v4-pro")
    books = ledger(tmp_path, events)
    shelf = Shelf(books, made, NOW)
    lines = since_purchase(shelf, made.compare.sheets)
    whole = Period("all", OCTOBER.from_ns, NOW)
    entries = account(shelf, whole)["compare"]
    for line, entry in zip(lines, entries, strict=True):
        assert [month["month"] for month in line["months"]] == ["2026-10", "2026-11"]
        assert sum(month["bill_nano"] for month in line["months"]) == entry["headline_nano"]
        assert line["months"][-1]["saved_full_sum_nano"] == entry["savings_full_nano"]
        # Nobody read its energy, and most of the time nobody told whether there was a request.
        assert entry["savings_full_bound"] == "at most"
        assert line["months"][-1]["saved_full_sum_bound"] == "open"
    cuts = [OCTOBER.from_ns + day * DAY * SECOND for day in (0, 11, 20, 31)]
    parts = [account(shelf, Period("part", *cut))["compare"][0] for cut in pairwise(cuts)]
    october = lines[0]["months"][0]
    assert sum(part["savings_full_nano"] for part in parts) == october["saved_full_nano"]
    assert sum(part["priced_requests"] for part in parts) == october["requests"] == 20


def test_what_nobody_watched_leaves_the_payback_open(tmp_path: Path) -> None:
    """Bought on 1 September and watched from 5 October on."""
    box = msgspec.structs.replace(RIG, in_service=dt.date(2026, 9, 1))
    shelf = Shelf(ledger(tmp_path, [work("r", 0)]), rig(FLASH, hardware=[box]), NOW)
    (line,) = since_purchase(shelf, [FLASH])
    september = line["months"][0]
    assert (september["month"], september["requests"]) == ("2026-09", 0)
    assert september["bill_nano"] is None
    # 30 of the 1,461 days of the four years; what was drawn for its requests nobody knows.
    assert september["saved_full_sum_nano"] == -(17_000 * 10**9 * 30 // 1_461)
    assert september["marginal_nano"] is september["saved_marginal_sum_nano"] is None
    assert september["saved_marginal_sum_bound"] == "open"
    assert september["saved_full_sum_bound"] == "open"  # its electricity is not known either


def test_bills_of_finished_days_are_kept_until_there_is_news(tmp_path: Path) -> None:
    made = rig(FLASH)
    books = ledger(tmp_path, [work("a", 0), work("b", WEDNESDAY)])
    first = account(Shelf(books, made, NOW), OCTOBER)["compare"]
    (kept,) = (tmp_path / "derived" / "bills").iterdir()
    assert len(list(kept.iterdir())) == 31
    place = kept / "2026-10-05"
    found = folder.read(place, (), holds=lambda _: True)
    assert found is not None
    told = found[0]
    told["bill"]["headline_nano"] += 7
    assert folder.put(place, {}, told)
    changed = account(Shelf(Ledger(tmp_path), made, NOW), OCTOBER)["compare"]
    assert changed[0]["headline_nano"] == first[0]["headline_nano"] + 7  # it was read, not made
    late = ledger(tmp_path, [work("late", 20)])
    news = account(Shelf(late, made, NOW), OCTOBER)["compare"]
    assert news[0]["headline_nano"] == first[0]["headline_nano"] + 23_700_000
    assert folder.put(place, {}, {"of": "another form"})
    assert account(Shelf(Ledger(tmp_path), made, NOW), OCTOBER)["compare"] == news
    # Other assumptions about the rig change no bill; another sheet has a folder of its own.
    account(Shelf(Ledger(tmp_path), rig("deepseek/deepseek-v4-pro"), NOW), OCTOBER)
    assert len(list((tmp_path / "derived" / "bills").iterdir())) == 2


def test_a_kept_bill_of_which_a_figure_was_damaged_is_made_again(tmp_path: Path) -> None:
    made = rig(FLASH)
    books = ledger(tmp_path, [work("a", 0)])
    first = account(Shelf(books, made, NOW), OCTOBER)["compare"]
    (sheet,) = (tmp_path / "derived" / "bills").iterdir()
    (facts,) = (sheet / "2026-10-05").iterdir()
    right = facts.read_bytes()
    nano = str(first[0]["headline_nano"]).encode()
    assert right.count(nano) > 0
    # A bit of a figure's last digit: still a number, in a file that still can be read.
    facts.write_bytes(right.replace(nano, nano[:-1] + bytes([nano[-1] ^ 1])))
    assert account(Shelf(books, made, NOW), OCTOBER)["compare"] == first
    assert facts.read_bytes() == right


def run(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path)
    add_commands(parser.add_subparsers())
    args = parser.parse_args(arguments)
    return args.run(args)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("RIGLEDGER_DATA", raising=False)
    ledger(tmp_path / "data", [work("r", WEDNESDAY), work("s", WEDNESDAY + 60, output_tokens=None)])
    file = tmp_path / "rigledger.toml"
    file.write_text(
        """
[[hardware]]
name = "rig"
price = "17000"
in_service = 2026-10-01
life_years = 4
[[engines]]
name = "on-A"
url = "http://127.0.0.1:1"
gpus = ["A"]
[compare]
sheets = ["deepseek/deepseek-flash"]
"""
    )
    return str(file)


def test_the_command_tells_what_was_asked(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--config", config, "compare", "--from", "2026-10-14", "--to", "2026-10-15"]
    assert run(*flags, "--sheet", FLASH, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    (entry,) = told["sheets"]
    assert (entry["sheet"], entry["same_hits_nano"]) == (FLASH, 23_700_000)
    assert told["period"]["name"] == "2026-10-14 to 2026-10-15"
    # Two days of 17,000 over 1,461; a floor of a nano at either end.
    assert abs(told["cost_nano"]["full"] - 2 * 17_000 * 10**9 // 1461) <= 1
    assert told["since_purchase"][0]["months"][0]["month"] == "2026-10"
    assert run(*flags) == 0
    text = capsys.readouterr().out
    assert "At deepseek/deepseek-flash, in USD" in text
    assert "1 request could not be priced: output tokens are not known" in text
    # Not all requests are in the bill, and the electricity is not known.
    assert "lost, full, as far as known" in text


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--sheet", "deepseek/deepseek-flsh"], "deepseek/deepseek-flash"),
        (["--from", "October"], "write it as YYYY-MM"),
        (["--from", "2026-02-30"], "write it as YYYY-MM-DD"),
        (["--from", "2026-10-02", "--to", "2026-10-01"], "lies before"),
        (["--to", "2026-10-01"], "--from"),
        (["--from", "2999-01"], "has not begun"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(
    config: str, capsys: pytest.CaptureFixture[str], flags: list[str], told: str
) -> None:
    assert run("--config", config, "compare", *flags) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert told in printed.err
    assert printed.err.count("\n") == 1
