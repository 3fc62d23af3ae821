"""Tariffs: months through the whole books beside the calendar, series, and refusals."""

import datetime as dt
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig import oracle_tariff
from rig.ledger import SECOND, START, attempt, ledger, settings
from rig.shared import recorded

import rigledger
from analytics.month import month
from analytics.periods import month_of
from analytics.states import buckets_between
from analytics.tariff import prices, rates
from collector.clock import to_ns
from collector.price_series import parse, read
from collector.settings import Electricity, RigSettings, Settings, SettingsError
from collector.settings_file import parse as parse_settings
from collector.settings_power import Window

HOUR = 3600 * SECOND


def tariff(*windows: Window, price: str | None = "0.20", **fields: Any) -> Electricity:
    return Electricity(
        from_=dt.date(2015, 1, 1), price_per_kwh=price, windows=list(windows), **fields
    )


def window(days: str, hours: str, price: str = "0.41") -> Window:
    return Window(days=days, hours=hours, price=price)


NIGHT = window("mon-sun", "1-4")
# Of each month its hours, and the hours in which the window holds, counted on a calendar.
CALENDAR = [
    # 31 nights of 3 hours; the clocks skip 2-3 on 29 March, live through it twice on 25 October.
    ("Europe/Berlin", "2026-03", [NIGHT], "743", "92"),
    ("Europe/Berlin", "2026-10", [NIGHT], "745", "94"),
    # 2-3 is skipped on 8 March; 1-2 comes twice on 1 November.
    ("America/New_York", "2026-03", [NIGHT], "743", "92"),
    ("America/New_York", "2026-11", [NIGHT], "721", "91"),
    # Half an hour: back from 2:00 to 1:30 on 5 April, on from 2:00 to 2:30 on 4 October.
    ("Australia/Lord_Howe", "2026-04", [NIGHT], "720.5", "90.5"),
    ("Australia/Lord_Howe", "2026-10", [NIGHT], "743.5", "92.5"),
    ("Asia/Kathmandu", "2026-12", [NIGHT], "744", "93"),
    # 29 February 2028 is the fifth Tuesday of its month.
    ("UTC", "2028-02", [window("tue", "0-24")], "696", "120"),
    # 22 weekdays of 14 hours; the clocks change on a Sunday.
    ("Europe/Berlin", "2026-03", [window("mon-fri", "7-21")], "743", "308"),
    # 21 working days of 4 hours 30 in October 2026, less none: 22 weekdays less Columbus Day.
    (
        "America/New_York",
        "2026-10",
        [window("holidays", "0-24", "0.20"), window("mon-fri", "16:30-21")],
        *("744", "94.5"),
    ),
    # Thursdays 3, 10, 17, 24 of eight hours, and two of the 31st; the other six are January's.
    ("America/New_York", "2026-12", [window("thu", "22-6")], "744", "34"),
    ("America/New_York", "2027-01", [window("thu", "22-6")], "744", "38"),
]


@pytest.mark.parametrize("case", CALENDAR)
def test_a_month_costs_what_the_calendar_says(tmp_path: Path, case: tuple[Any, ...]) -> None:
    """A host of a kilowatt, busy all month, behind a perfect supply."""
    zone, name, windows, hours, within = case
    named = any("holidays" in each.days for each in windows)
    entry = tariff(*windows, host_watts=1000, holidays="US" if named else None)
    made = settings("A", electricity=[entry], rig=RigSettings(time_zone=zone))
    period = month_of(name, made.zone)
    first = (period.from_ns - START) / SECOND
    events = [
        attempt(f"d{day:02}", first + 86_400 * day - 3600, first + 86_400 * (day + 1), gpus=["A"])
        for day in range(33)
    ]
    document = month(ledger(tmp_path / "ledger", events), made, period, period.to_ns + 10**16)
    assert document["energy_uj"]["host"] == Fraction(hours) * 3_600_000_000_000
    cost = Fraction(within) * 410_000_000 + (Fraction(hours) - Fraction(within)) * 200_000_000
    assert document["cost_nano"]["energy"] == cost
    assert document["quality"]["unpriced_energy_uj"] == 0


def pieces(made: Settings, from_ns: int, to_ns: int) -> dict[int | None, int]:
    """ns at each price of a span."""
    (entry,) = made.electricity
    found: dict[int | None, int] = defaultdict(int)
    bounds = buckets_between(from_ns, to_ns).tolist()
    for start, end in pairwise(bounds):
        for ns, price in prices(entry, made, {}, start, end):
            found[price] += ns
    return found


clocks = st.builds("{}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
kinds = st.sampled_from(["mon-fri", "sat,sun", "fri-mon", "wed", "holidays", "mon-sun"])
spans = st.tuples(clocks, clocks).filter(lambda pair: pair[0] != pair[1])
shifting = st.sampled_from(
    [
        *[("Europe/Berlin", dt.date(2026, 3, 29)), ("Europe/Berlin", dt.date(2026, 10, 25))],
        *[("Australia/Lord_Howe", dt.date(2026, 4, 5)), ("America/New_York", dt.date(2026, 3, 8))],
        *[("Asia/Kathmandu", dt.date(2026, 12, 31)), ("UTC", dt.date(2028, 2, 29))],
    ]
)


@given(
    shifting,
    st.integers(-1, 1),
    st.lists(st.tuples(kinds, spans), max_size=4),
    st.sampled_from([None, "0.2"]),
)
def test_windows_partition_the_day(
    place: tuple[str, dt.date], days: int, drawn: list[Any], outside: str | None
) -> None:
    zone, changing = place
    day = changing + dt.timedelta(days=days)
    windows = [window(k, f"{a}-{b}", f"0.3{n}") for n, (k, (a, b)) in enumerate(drawn)]
    made = Settings(
        rig=RigSettings(time_zone=zone),
        electricity=[tariff(*windows, price=outside, holidays="US")],
    )
    start, end = made.midnight_ns(day), made.midnight_ns(day + dt.timedelta(days=1))
    found = pieces(made, start, end)
    assert sum(found.values()) == end - start
    expected: dict[int | None, int] = defaultdict(int)
    for at in range(start, end, 60 * SECOND):
        price = oracle_tariff.price_at(made, at)
        expected[None if price is None else int(price * 10**9)] += 60 * SECOND
    assert found == expected


# -- series

LINES = """instant,price_per_kwh
2026-10-05T10:00+02:00,0.30
2026-10-05T11:00+02:00,-0.05
2026-10-05T13:00+02:00,0.10
"""


def test_a_missing_hour_has_no_price_and_a_negative_one_pays() -> None:
    entry = Electricity(from_=dt.date(2026, 1, 1), series="s")
    found = rates(
        Settings(electricity=[entry]),
        {"s": parse(LINES, "s")},
        buckets_between(START - HOUR, START + 6 * HOUR).tolist(),
    )
    # START is 8:00 UTC, 10:00 in the file's zone.
    kwh = 3_600_000_000_000
    told = [found[START + n * HOUR].money_nano(kwh) for n in range(-1, 5)]
    assert told == [0, 300_000_000, -50_000_000, 0, 100_000_000, 0]
    assert [found[START + n * HOUR].unpriced_uj(kwh) for n in (0, 2)] == [0, kwh]


def test_a_change_within_a_bucket_splits_it_by_time() -> None:
    text = "instant,price_per_mwh\n2026-10-05T08:00Z,100\n2026-10-05T08:05Z,400\n"
    entry = Electricity(from_=dt.date(2026, 1, 1), series="s", psu_efficiency="0.8", overhead="1.2")
    bounds = [START, START + 900 * SECOND]
    rate = rates(Settings(electricity=[entry]), {"s": parse(text, "s")}, bounds)[START]
    # 5 min at 0.1, 5 min at 0.4 (a step holds as long as the one before), 5 min at no price.
    # (0.1 + 0.4) ÷ 3 × 1.2 ÷ 0.8
    assert rate.money_nano(3_600_000_000_000) == 250_000_000
    assert rate.unpriced_uj(3_600_000_000_000) == 1_200_000_000_000


def test_prices_by_the_hour_go_over_into_quarter_hours() -> None:
    rows = ["2026-10-05T06:00Z,1", "2026-10-05T07:00Z,2", "2026-10-05T08:00Z,3"]
    rows += ["2026-10-05T08:15Z,4", "2026-10-05T08:30Z,5"]
    made = parse("\n".join(["at,price_per_kwh", *rows]), "s")
    lengths = [b - a for a, b in zip(made.starts_ns, made.ends_ns, strict=True)]
    assert lengths == [HOUR, HOUR, 900 * SECOND, 900 * SECOND, 900 * SECOND]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "s.csv:1: no price column; name the columns"),
        ("instant,price\n", "s.csv:1: no price column"),
        ("instant,price_per_kwh\n2026-10-25 02:00,1\n", "s.csv:2: .* does not say in which zone"),
        ("instant,price_per_kwh\nyesterday,1\n", "s.csv:2: 'yesterday' is no instant"),
        ("instant,price_per_kwh\n\n2026-10-25T02:00Z,NaN\n", "s.csv:3: 'NaN' is no price"),
        ("instant,price_per_kwh\n2026-10-25T02:00Z\n", "s.csv:2: '' is no price"),
        ("instant,price_per_kwh\n2026-10-25T02:00Z,1e99\n", "s.csv:2: '1e99' is no price"),
        (
            "at,price_per_kwh\n2026-10-25T02:00Z,1\n2026-10-25T04:00+02:00,1\n",
            "s.csv:3: 2026-10-25T04:00.* is told twice",
        ),
    ],
)
def test_a_series_that_cannot_be_used_is_refused_with_its_line(text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        parse(text, "s.csv")


def test_a_series_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no such file.*; correct series"):
        read(tmp_path / "prices.csv")


def test_two_years_of_the_german_spot_market(tmp_path: Path) -> None:
    """A kilowatt from 2016-01-04 on costs the sum of the hours' prices, negative ones too."""
    lines = recorded("epf-hourly-prices/DE.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    told = tmp_path / "de.csv"
    told.write_text(
        "\n".join(["instant,price_per_mwh", *(f"{at}+00:00,{price}" for at, price in rows)])
    )
    instants = [dt.datetime.fromisoformat(f"{at}+00:00") for at, _ in rows]
    start, end = to_ns(instants[0]), to_ns(instants[-1]) + HOUR
    entry = Electricity(from_=dt.date(2015, 1, 1), series=str(told))
    bounds = buckets_between(start, end).tolist()
    found = rates(Settings(electricity=[entry]), {str(told): read(told)}, bounds)
    quarter = 900_000_000_000  # µJ of a kilowatt in a quarter hour
    missing = (end - start) // HOUR - len(rows)
    assert sum(rate.unpriced_uj(quarter) for rate in found.values()) == missing * 4 * quarter
    assert sum(float(price) < 0 for _, price in rows) > 200
    expected = sum(Fraction(price) for _, price in rows) / 1000 * 10**9
    total = sum(rate.money_nano(quarter) for rate in found.values())
    assert abs(total - expected) <= len(found) / 2


def test_other_prices_in_a_series_build_the_kept_days_again(tmp_path: Path) -> None:
    told = tmp_path / "prices.csv"
    entry = Electricity(from_=dt.date(2026, 1, 1), series=str(told), host_watts=1000)
    made = settings("A", electricity=[entry])
    kept = ledger(tmp_path / "ledger", [attempt("r", 0, 3600)])
    period = month_of("2026-10", made.zone)
    cost = []
    for price in ("0.25", "0.5", "-0.125"):
        told.write_text(f"instant,price_per_kwh\n2026-10-05T08:00Z,{price}\n")
        document = month(kept, made, period, period.to_ns + 10**16)
        cost.append(document["cost_nano"]["energy"])
    assert (tmp_path / "ledger" / "derived" / "2026-10-05").is_dir()
    assert cost == [250_000_000, 500_000_000, -125_000_000]


MISSING = """[[hardware]]
name = "box"
price = "100"
in_service = 2026-10-01
life_years = 4
[[electricity]]
from = 2026-10-01
series = "prices.csv"
"""


def test_a_report_without_its_prices_says_where_they_are_missed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RIGLEDGER_DATA", raising=False)
    ledger(tmp_path / "data", [attempt("r", 0, 10)])
    Path("rigledger.toml").write_text(MISSING)
    assert rigledger.main(["report", "2026-10"]) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path}/prices.csv: no such file or directory; correct series" in told
    assert rigledger.main(["doctor"]) == 1
    assert "prices.csv: no such file or directory" in capsys.readouterr().out
    Path("prices.csv").write_text("instant,price_per_kwh\n2026-10-05T08:00Z,0.2\n")
    assert rigledger.main(["report", "2026-10"]) == 0


# -- refusals

HEAD = "[[electricity]]\nfrom = 2026-10-01\n"
REFUSED = [
    ("", 1, "electricity.price_per_kwh", "missing; add it in quotes"),
    ('windows = [{days = "mon-fri", price = "1"}]', 1, "price_per_kwh", "holds on sat at 0:00"),
    (
        'price_per_kwh = "0.2"\nwindows = [{days = "mon-day", price = "1"}]',
        *(4, "windows.days", "'mon-day' names no days"),
    ),
    (
        'price_per_kwh = "0.2"\nwindows = [{hours = "16-16", price = "1"}]',
        *(4, "windows.hours", "no stretch of the day"),
    ),
    (
        'price_per_kwh = "0.2"\nwindows = [{hours = "25-26", price = "1"}]',
        *(4, "windows.hours", "like \"16-21\""),
    ),
    (
        'price_per_kwh = "0.2"\nwindows = [{days = "holidays", price = "1"}]',
        *(1, "holidays", "nothing says whose"),
    ),
    ('price_per_kwh = "0.2"\nholidays = "US"', 4, "holidays", "no window names them"),
    ('price_per_kwh = "0.2"\nholidays = "XX"', 4, "holidays", "known for 'XX'"),
    ('price_per_kwh = "0.2"\nseries = "p.csv"', 3, "price_per_kwh", "leave out either series"),
    ('price_per_kwh = "0.2"\noverhead = "0.9"', 4, "overhead", "a factor from 1 to 3"),
    ('price_per_kwh = "0.2"\ncarbon_g_per_kwh = -1', 4, "carbon_g_per_kwh", ">= 0"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "key", "word"), REFUSED)
def test_a_tariff_that_contradicts_itself_is_refused(
    text: str, line: int, key: str, word: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        parse_settings(HEAD + text + "\n", "rig.toml")
    told = str(refused.value)
    assert told.startswith(f"rig.toml:{line}: ")
    assert key in told.split(": ")[1]
    assert word in told


METER = '[[meters]]\nname = "plug"\nkind = "{}"\nurl = "http://192.0.2.1"\n'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (METER.format("kasa"), "3: meters.kind: .*shelly, tasmota, home_assistant"),
        (METER.format("shelly") * 2, "6: meters.name: two meters are called 'plug'"),
        (METER.format("home_assistant"), "1: meters.power_entity: missing"),
        (METER.format("shelly") + 'token_file = "t"\n', "5: .*token_file: a shelly has none"),
        (METER.format("shelly") + "until = 1999-01-01\n", "5: meters.until: .*not after"),
    ],
)
def test_a_meter_that_cannot_be_is_refused(text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        parse_settings(text, "rig.toml")


def test_zones_are_those_of_the_rig() -> None:
    made = Settings(rig=RigSettings(time_zone="Asia/Kathmandu"), electricity=[tariff(NIGHT)])
    day = dt.datetime(2026, 12, 1, 1, tzinfo=ZoneInfo("Asia/Kathmandu"))
    begins = to_ns(day.astimezone(dt.UTC))
    assert pieces(made, begins - 900 * SECOND, begins) == {200_000_000: 900 * SECOND}
    assert pieces(made, begins, begins + 3 * HOUR) == {410_000_000: 3 * HOUR}
