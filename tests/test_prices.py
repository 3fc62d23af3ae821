"""What a request costs on a sheet: published prices, worked out by hand, and two evaluations."""

import datetime as dt
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.prices import cost as reasons
from analytics.prices.bill import bill
from analytics.prices.catalogue import Catalogue
from analytics.prices.cost import Usage, cost
from analytics.prices.sheet import DAYS, Override, Period, Prices, Sheet, When
from collector.clock import to_ns
from collector.settings import Settings

CATALOGUE = Catalogue(Settings())
FLASH = "deepseek/deepseek-v4-flash"
LONG = Usage(1_000_000, 10_000, 900_000)  # a million in, nine tenths of it cached, 10,000 out
MILLION = Usage(1_000_000, 0, 0)


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def asked(usages: list[Usage], instants: list[dt.datetime]) -> pl.DataFrame:
    rows = [
        {"received_ns": to_ns(when), **{f: getattr(usage, f) for f in usage.__dataclass_fields__}}
        for usage, when in zip(usages, instants, strict=True)
    ]
    fields = ["received_ns", *Usage.__dataclass_fields__]
    return pl.DataFrame(rows, schema=dict.fromkeys(fields, pl.Int64))


def both(sheet: Sheet, usage: Usage, when: str | dt.datetime, **terms: str) -> Fraction | str:
    """The exact cost or why there is none; the column's own is held to it."""
    instant = at(when) if isinstance(when, str) else when
    found = cost(sheet, usage, instant, terms)
    (row,) = bill(asked([usage], [instant]), sheet, terms=terms).to_dicts()
    assert (row["nano"], row["why"]) == (found.nano, found.why)
    assert (row["note"] or "") == "; ".join(found.notes)
    return found.why if found.amount is None else found.amount


# Off-peak: 0.1 M at 0.15 + 0.9 M at 0.003 + 0.01 M at 0.60 = 0.015 + 0.0027 + 0.006.
@pytest.mark.parametrize(
    ("when", "amount"),
    [
        ("2026-11-25T02:00Z", "0.0474"),  # a Wednesday morning in Beijing: peak is double
        ("2026-11-25T12:00Z", "0.0237"),
        ("2026-11-28T02:00Z", "0.0237"),  # a Saturday
        ("2026-10-01T02:00Z", "0.0237"),  # a Thursday, China's National Day
        ("2026-10-06T02:00Z", "0.0237"),  # a Tuesday, off in exchange for 20 September
        ("2026-10-10T02:00Z", "0.0237"),  # a Saturday on which China works in exchange
        ("2026-10-08T02:00Z", "0.0474"),  # the first working day after
        ("2026-11-25T00:59:59.999999Z", "0.0237"),  # peak begins at 01:00 UTC, 09:00 in Beijing
        ("2026-11-25T01:00Z", "0.0474"),
        ("2026-11-25T04:00Z", "0.0237"),  # and ends at 04:00
        ("2026-11-25T06:00Z", "0.0474"),
        ("2026-11-25T10:00Z", "0.0237"),
        # 0.1 M at 0.14 + 0.9 M at 0.0028 + 0.01 M at 0.28 = 0.014 + 0.00252 + 0.0028
        ("2026-07-01T02:00Z", "0.01932"),
    ],
)
def test_deepseek_flash_costs_what_its_own_page_says(when, amount):
    assert both(CATALOGUE.sheet(FLASH), LONG, when) == Fraction(amount)


@pytest.mark.parametrize(
    ("when", "per_million"),
    [
        ("2026-08-16T15:59:59Z", "0.14"),
        ("2026-08-16T16:00Z", "0.22"),  # the change was at midnight in Beijing, not in UTC
        ("2026-08-16T16:30Z", "0.22"),
        ("2026-08-22T02:00Z", "0.44"),  # a Saturday, the last with a peak
        ("2026-08-23T02:00Z", "0.22"),  # a Sunday: weekends are off-peak from here on
        ("2026-09-10T03:59:59Z", "0.44"),
        ("2026-09-10T04:00Z", "0.15"),
        ("2026-09-10T06:00Z", "0.30"),
    ],
)
def test_deepseek_flash_changes_at_the_announced_instants(when, per_million):
    assert both(CATALOGUE.sheet(FLASH), MILLION, when) == Fraction(per_million)


@pytest.mark.parametrize(
    ("name", "when", "amount"),
    [
        # 0.1 M at 0.66 + 0.9 M at 0.022 + 0.01 M at 1.98 = 0.066 + 0.0198 + 0.0198
        ("deepseek/deepseek-v4-pro", "2026-11-25T12:00Z", "0.1056"),
        ("deepseek/deepseek-v4-pro", "2026-11-25T02:00Z", "0.2112"),
        # 0.1 M at 0.435 + 0.9 M at 0.003625 + 0.01 M at 0.87 = 0.0435 + 0.0032625 + 0.0087
        ("deepseek/deepseek-v4-pro", "2026-07-01T02:00Z", "0.0554625"),
        # in yuan: 0.1 M at 1 + 0.9 M at 0.02 + 0.01 M at 4 = 0.1 + 0.018 + 0.04
        ("deepseek/deepseek-flash@CNY", "2026-11-25T12:00Z", "0.158"),
        ("deepseek/deepseek-flash@CNY", "2026-11-25T02:00Z", "0.316"),
        # 0.1 M at 4.5 + 0.9 M at 0.15 + 0.01 M at 13.5 = 0.45 + 0.135 + 0.135
        ("deepseek/deepseek-v4-pro@CNY", "2026-11-25T12:00Z", "0.72"),
    ],
)
def test_deepseeks_other_sheets(name, when, amount):
    assert both(CATALOGUE.sheet(name), LONG, when) == Fraction(amount)


def test_a_model_has_no_price_before_it_was_sold():
    sheet = CATALOGUE.sheet("deepseek/deepseek-flash")
    assert both(sheet, LONG, "2026-09-10T03:59Z") == reasons.NOT_SOLD
    assert both(sheet, LONG, "2026-09-10T05:00Z") == Fraction("0.0237")


def test_what_took_anothers_place_under_its_name_has_its_history():
    assert CATALOGUE.sheet("deepseek/deepseek-v4.1-flash") == CATALOGUE.sheet(FLASH)


def test_a_tier_is_a_cliff_on_all_input_and_begins_above_its_length():
    sheet = CATALOGUE.sheet("anthropic/claude-haiku-5-5")
    assert both(sheet, Usage(100_000, 0), "2026-11-25T12:00Z") == Fraction("0.010")
    assert both(sheet, Usage(100_001, 0), "2026-11-25T12:00Z") == Fraction("0.0500005")
    # Cached tokens count towards the length: 0.05 a million, not 0.01.
    assert both(sheet, Usage(100_001, 0, 100_001), "2026-11-25T12:00Z") == Fraction("0.00500005")


def test_without_a_price_for_cached_input_it_costs_what_input_costs_and_says_so():
    found = cost(CATALOGUE.sheet("deepseek/deepseek-v3.2"), LONG, at("2026-11-25T12:00Z"))
    # 1 M at 0.2288 + 0.01 M at 0.3432
    assert found.amount == Fraction("0.232232")
    assert found.notes == (reasons.READ_AS_INPUT,)
    both(CATALOGUE.sheet("deepseek/deepseek-v3.2"), LONG, "2026-11-25T12:00Z")


def test_a_batch_is_charged_by_its_own_prices():
    sheet = CATALOGUE.sheet("anthropic/claude-haiku-5-5")
    usage = Usage(100_001, 0)
    assert both(sheet, usage, "2026-11-25T12:00Z", processing="batch") == Fraction("0.02500025")
    assert both(sheet, Usage(100_000, 0), "2026-11-25T12:00Z", processing="batch") == Fraction(
        "0.005"
    )
    assert both(sheet, usage, "2026-10-13T12:00Z", processing="batch") == Fraction("0.0500005")


FLAT = Sheet(id="flat", periods=[Period(input="1", cache_read="0.1", output="2")])
BARE = Sheet(id="bare", periods=[Period(input="1")])


@pytest.mark.parametrize(
    ("sheet", "usage", "why"),
    [
        (FLAT, Usage(None, 1), reasons.NO_INPUT),
        (FLAT, Usage(1, None), reasons.NO_OUTPUT),
        (FLAT, Usage(1, 1, None), reasons.NO_READ),
        (FLAT, Usage(1, 1, 2), reasons.IMPOSSIBLE),
        (FLAT, Usage(2, 1, 1, 2), reasons.IMPOSSIBLE),
        (FLAT, Usage(-1, 1), reasons.IMPOSSIBLE),
        (FLAT, Usage(1, 1, 0, 0, 2), reasons.IMPOSSIBLE),
        (BARE, Usage(1, 1), reasons.UNPRICED_OUTPUT),
        (Sheet(id="out", periods=[Period(output="1")]), Usage(1, 1), reasons.UNPRICED_INPUT),
        (
            Sheet(id="w", periods=[Period(input="1", output="1", cache_write={"default": "2"})]),
            Usage(1, 1, 0, None),
            reasons.NO_WRITE,
        ),
        (
            Sheet(id="r", periods=[Period(input="1", output="1", reasoning="2")]),
            Usage(1, 1, 0, 0, None),
            reasons.NO_REASONING,
        ),
    ],
)
def test_what_cannot_be_priced_says_why(sheet, usage, why):
    assert both(sheet, usage, "2026-11-25T12:00Z") == why


def test_what_changes_no_price_need_not_be_known():
    assert both(FLAT, Usage(1_000_000, 0, 0, None, None), "2026-11-25T12:00Z") == 1
    assert both(BARE, Usage(1_000_000, 0, None), "2026-11-25T12:00Z") == 1


def test_amounts_are_rounded_half_up_once_a_request():
    tiny = Sheet(id="tiny", periods=[Period(input="0.0005", output="0")])
    answer = bill(asked([Usage(n, 0) for n in (0, 1, 2, 3)], [at("2026-11-25T12:00Z")] * 4), tiny)
    # 0, 0.5, 1 and 1.5 nano-units
    assert answer["nano"].to_list() == [0, 1, 1, 2]


def test_a_fee_is_charged_once_a_request_whatever_its_tokens():
    sheet = Sheet(id="fee", periods=[Period(input="1", output="1", per_request="0.005")])
    assert both(sheet, Usage(0, 0), "2026-11-25T12:00Z") == Fraction("0.005")


def test_another_tokenizers_tokens_count_by_its_ratio_in_tiers_too():
    long = Override(when=When(input_tokens_above=110), set=Prices(input="3"))
    sheet = Sheet(
        id="wide",
        tokenizer_ratio="1.1",
        periods=[Period(input="1", output="1", per_request="0.5", overrides=[long])],
    )
    assert both(sheet, Usage(100, 0), "2026-11-25T12:00Z") == Fraction("0.50011")
    assert both(sheet, Usage(101, 0), "2026-11-25T12:00Z") == Fraction("0.5003333")


def test_written_input_is_paid_by_its_time_to_live():
    sheet = CATALOGUE.sheet("anthropic/claude-opus-5-5")  # 4 in, writes 5 and for an hour 8
    usage, when = Usage(1_000_000, 0, 0, 500_000), at("2026-11-25T12:00Z")
    assert cost(sheet, usage, when).amount == Fraction("4.5")
    assert cost(sheet, usage, when, ttl="1h").amount == 6
    assert bill(asked([usage], [when]), sheet, ttl="1h")["nano"].to_list() == [6_000_000_000]


def test_a_window_may_pass_midnight_and_its_day_is_that_of_the_instant():
    night = When(windows=["22:00-02:00"], days=["fri"])
    sheet = Sheet(
        id="night",
        periods=[
            Period(input="1", output="1", overrides=[Override(when=night, multiply={"*": "0.5"})])
        ],
    )
    fri, sat = "2026-11-27", "2026-11-28"
    half = [f"{fri}T22:00Z", f"{fri}T01:59Z"]
    whole = [f"{fri}T02:00Z", f"{fri}T21:59Z", f"{sat}T01:00Z", f"{sat}T23:00Z"]
    assert {both(sheet, MILLION, when) for when in half} == {Fraction(1, 2)}
    assert {both(sheet, MILLION, when) for when in whole} == {1}


def test_requests_stay_in_their_order():
    instants = [at(f"2026-{month:02}-25T02:00Z") for month in (11, 7, 9, 8, 11, 7)]
    answer = bill(asked([MILLION] * 6, instants), CATALOGUE.sheet(FLASH))
    assert answer["nano"].to_list() == [nano * 10**7 for nano in (30, 14, 15, 44, 30, 14)]


def test_without_requests_there_is_an_empty_bill():
    answer = bill(asked([], []), FLAT)
    assert answer.schema == {"nano": pl.Int64, "why": pl.String, "note": pl.String}
    assert answer.is_empty()


prices = st.decimals(0, 999, places=9).map(str)
maybe = st.none() | prices
some = st.builds(
    Prices,
    input=maybe,
    cache_read=maybe,
    cache_write=st.dictionaries(st.sampled_from(["default", "1h"]), prices),
    output=maybe,
    reasoning=maybe,
    per_request=maybe,
)
clock = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
windows = st.tuples(clock, clock | st.just("24:00")).filter(lambda w: w[0] != w[1]).map("-".join)
zones = st.sampled_from(["UTC", "Asia/Shanghai", "Australia/Lord_Howe", "America/New_York"])
countries = st.none() | st.sampled_from(["CN", "US"])
conditions = st.builds(
    When,
    input_tokens_above=st.none() | st.integers(0, 200),
    windows=st.lists(windows, max_size=2),
    tz=zones,
    days=st.lists(st.sampled_from(DAYS), max_size=5),
    dates=st.lists(st.dates(dt.date(2026, 1, 1), dt.date(2026, 12, 31)), max_size=2),
    except_dates=st.lists(st.dates(dt.date(2026, 1, 1), dt.date(2026, 12, 31)), max_size=2),
    holidays=countries,
    except_holidays=countries,
    day_tz=st.none() | zones,
    terms=st.dictionaries(st.just("tier"), st.sampled_from(["flex", "fast"])),
)
factors = st.dictionaries(st.sampled_from(["*", "input", "cache_write"]), st.just("1.5"))
overrides = st.builds(Override, when=conditions, set=some, multiply=factors)
instants = st.integers(0, 370 * 24 * 60).map(
    lambda minutes: at("2025-12-30T00:00Z") + dt.timedelta(minutes=minutes)
)


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    starts = sorted(draw(st.sets(instants, max_size=2)))
    lists = [draw(some) for _ in (None, *starts)]
    return Sheet(
        id="any",
        tokenizer_ratio=draw(st.sampled_from(["1", "1.25", "0.9"])),
        periods=[
            Period(
                from_=start,
                **{name: getattr(given, name) for name in given.__struct_fields__},
                overrides=draw(st.lists(overrides, max_size=3)),
            )
            for start, given in zip(
                [draw(st.none() | st.just(dt.datetime(2025, 12, 29, tzinfo=dt.UTC))), *starts],
                lists,
                strict=True,
            )
        ],
    )


counts = st.none() | st.integers(-1, 300) | st.integers(0, 2**40)
usages = st.builds(Usage, counts, counts, counts, counts, counts)
tame = st.builds(
    lambda fresh, read, write, out: Usage(fresh + read + write, out, read, write),
    *[st.integers(0, 300)] * 4,
)


@given(
    sheets(),
    st.lists(st.tuples(usages | tame, instants), max_size=6),
    st.sampled_from(["flex", ""]),
)
def test_one_by_one_and_as_a_column_a_request_costs_the_same(sheet, asked_for, tier):
    requests, times = [u for u, _ in asked_for], [t for _, t in asked_for]
    terms = {"tier": tier} if tier else {}
    answer = bill(asked(requests, times), sheet, terms=terms, ttl="1h")
    single = [cost(sheet, u, t, terms, "1h") for u, t in asked_for]
    assert answer["nano"].to_list() == [found.nano for found in single]
    assert answer["why"].to_list() == [found.why for found in single]
    assert answer["note"].to_list() == ["; ".join(found.notes) or None for found in single]


@pytest.mark.parametrize(
    ("tokens", "amount"),
    [
        (32_000, "0.032"),
        (32_001, "0.0576018"),
        (128_001, "0.384003"),
        (256_001, "1.536006"),
    ],
)
def test_qwen_coder_plus_has_four_lengths(tokens, amount):
    sheet = CATALOGUE.sheet("dashscope/qwen3-coder-plus")
    assert both(sheet, Usage(tokens, 0), "2026-11-25T12:00Z") == Fraction(amount)
