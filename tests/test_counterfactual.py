"""Three bills for the same requests: by hand, and against a second computation, one by one."""

import datetime as dt
from fractions import Fraction
from math import floor
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.oracle_cache import simulate

from analytics.counterfactual import EMBEDS, UNTOLD_TTL_NS, Bill, billed, rules_of
from analytics.prices.cost import NO_OUTPUT, NO_READ, Usage, cost
from analytics.prices.sheet import CachePolicy, Override, Period, Prices, Sheet, When
from collector.clock import from_ns, to_ns

SECOND = 1_000_000_000
NOON = to_ns(dt.datetime(2026, 10, 7, 12, tzinfo=dt.UTC))
SCHEMA = {
    "received_ns": pl.Int64,
    "input_tokens": pl.Int64,
    "prefix": pl.List(pl.String),
    "prefix_tokens": pl.List(pl.Int64),
    "operation": pl.String,
    "is_request": pl.Boolean,
    "output_tokens": pl.Int64,
    "cache_read_tokens": pl.Int64,
    "cache_write_tokens": pl.Int64,
    "reasoning_tokens": pl.Int64,
}
FLAT = Sheet(id="flat", periods=[Period(input="0.15", cache_read="0.003", output="0.60")])
WRITTEN = Period(input="1", cache_read="0.1", cache_write={"default": "1.25"}, output="5")


def with_cache(period: Period = FLAT.periods[0], ratio: str = "1", **policy: Any) -> Sheet:
    return Sheet(id="cached", periods=[period], tokenizer_ratio=ratio, cache=CachePolicy(**policy))


def request(second: float = 0, **changes: Any) -> dict[str, Any]:
    told = {
        "received_ns": NOON + int(second * SECOND),
        "input_tokens": 10_000,
        "prefix": [],
        "prefix_tokens": [],
        "operation": "chat",
        "is_request": True,
        "output_tokens": 500,
        "cache_read_tokens": 4_000,
        "cache_write_tokens": None,
        "reasoning_tokens": None,
    }
    return told | changes


def frame(*requests: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(list(requests), schema=SCHEMA, orient="row")


def bill_of(sheet: Sheet, *requests: dict[str, Any]) -> Bill:
    return billed(frame(), frame(*requests), sheet)


def test_without_keys_the_headline_takes_the_hits_as_here():
    found = bill_of(FLAT, request())
    # 10,000 x 0.15 + 500 x 0.60 a million; then 6,000 x 0.15 + 4,000 x 0.003 + 500 x 0.60.
    assert found.no_cache_nano == 1_800_000
    assert found.same_hits_nano == found.headline_nano == 1_212_000
    assert (found.requests, found.priced, found.keyed, found.told) == (1, 1, 0, 1)


def test_with_keys_the_headline_takes_the_replay():
    sheet = with_cache(ttl_seconds={"default": 300}, min_prefix_tokens=1024, granularity_tokens=128)
    keyed = {"prefix": ["a"], "prefix_tokens": [9_000]}
    found = bill_of(sheet, request(0, **keyed), request(300, **keyed), request(601, **keyed))
    # Only the second hits: 70 steps of 128 are 8,960. (1,040 x 0.15 + 8,960 x 0.003 + 300) / 10^6
    assert found.headline_nano == 2 * 1_800_000 + 156_000 + 26_880 + 300_000
    assert found.same_hits_nano == 3 * 1_212_000
    assert found.keyed == 3


def test_what_happened_before_is_remembered_and_not_billed():
    sheet = with_cache(ttl_seconds={"default": 300})
    keyed = {"prefix": ["a"], "prefix_tokens": [9_000]}
    found = billed(frame(request(-299, **keyed)), frame(request(**keyed)), sheet)
    assert (found.requests, found.headline_nano) == (1, 150_000 + 27_000 + 300_000)


def test_written_tokens_are_billed_where_the_provider_bills_them():
    sheet = with_cache(
        WRITTEN, ttl_seconds={"default": 300}, boundary="breakpoint", write_billed=True
    )
    first = request(0, prefix=["a"], prefix_tokens=[8_000])
    second = request(1, prefix=["a", "b"], prefix_tokens=[8_000, 9_500])
    found = bill_of(sheet, first, second)
    # 8,000 written and 2,000 new; then 8,000 read, 1,500 written and 500 new; 500 out each.
    assert found.headline_nano == (10_000 + 2_000 + 2_500 + 800 + 1_875 + 500 + 2_500) * 1000


def test_a_probable_hit_costs_its_expected_bill():
    sheet = with_cache(ttl_seconds={"default": 300}, hit_probability="0.75")
    keyed = {"prefix": ["a"], "prefix_tokens": [10_000]}
    found = bill_of(sheet, request(0, **keyed), request(1, **keyed))
    # A hit costs 30,000 + 300,000, a miss 1,800,000.
    assert found.headline_nano == 1_800_000 + (3 * 330_000 + 1_800_000) // 4


def test_a_provider_without_a_cache_bills_all_input_as_new():
    found = bill_of(with_cache(mode="none"), request())
    assert found.headline_nano == found.no_cache_nano == 1_800_000
    assert found.keyed == 1


def test_no_scenario_bounds_another():
    sheet = with_cache(
        WRITTEN, ttl_seconds={"default": 300}, boundary="breakpoint", write_billed=True
    )
    lost = bill_of(sheet, request(prefix=["a"], prefix_tokens=[9_000], cache_read_tokens=0))
    # Written and never read again: dearer than without a cache.
    assert lost.headline_nano > lost.no_cache_nano == lost.same_hits_nano
    # The engine here forgot what the provider would have kept.
    keyed = {"prefix": ["a"], "prefix_tokens": [9_000], "cache_read_tokens": 0}
    kept = bill_of(sheet, *(request(second, **keyed) for second in range(9)))
    assert kept.headline_nano < kept.same_hits_nano


def test_what_cannot_be_priced_is_counted_by_reason_and_in_no_bill():
    found = bill_of(
        FLAT,
        request(),
        request(cache_read_tokens=None),
        request(output_tokens=None),
        request(operation="embedding"),
        request(is_request=False),
    )
    assert found.unpriced == {NO_READ: 1, NO_OUTPUT: 1, EMBEDS: 1}
    assert (found.requests, found.priced, found.no_cache_nano) == (4, 1, 1_800_000)


def test_a_request_with_keys_needs_no_hits_told_here():
    sheet = with_cache(ttl_seconds={"default": 300})
    mute = request(cache_read_tokens=None, prefix=["a"], prefix_tokens=[9_000])
    found = bill_of(sheet, mute, request(1))
    assert (found.priced, found.keyed, found.told) == (2, 1, 1)
    assert found.headline_nano == 1_800_000 + 1_212_000
    assert found.same_hits_nano == 1_212_000


def test_an_untold_life_is_a_day():
    rules = rules_of(with_cache())
    assert rules is not None
    assert rules.ttl_ns == UNTOLD_TTL_NS == 24 * 3600 * SECOND


counts = st.integers(0, 3000)
policies = st.builds(
    CachePolicy,
    mode=st.sampled_from(["implicit", "explicit", "none"]),
    min_prefix_tokens=st.sampled_from([None, 0, 500]),
    granularity_tokens=st.sampled_from([None, 64]),
    boundary=st.sampled_from(["block", "request_unit", "breakpoint"]),
    ttl_seconds=st.sampled_from([{"default": 30}, {"1h": 3600, "5m": 20}, {}]),
    refresh_on_hit=st.booleans(),
    hit_probability=st.sampled_from(["1", "0.9", "0.3333", "0"]),
    write_billed=st.booleans(),
)
dear_when_long = Override(
    name="long", when=When(input_tokens_above=2000), set=Prices(input="2", output="9")
)
at_peak = Override(
    name="peak", when=When(windows=["12:00-12:01"], days=["wed"]), multiply={"*": "2"}
)
periods = st.sampled_from(
    [
        *FLAT.periods,
        WRITTEN,
        Period(input="0.3", output="1.1", overrides=[dear_when_long, at_peak]),
        Period(input="3", cache_read="0.31", cache_write={"5m": "3.75", "1h": "6"}, output="15"),
    ]
)
sheets = st.builds(
    Sheet,
    id=st.just("any"),
    periods=st.lists(periods, min_size=1, max_size=1),
    tokenizer_ratio=st.sampled_from(["1", "1.17"]),
    cache=st.none() | policies,
)


@st.composite
def told(draw: st.DrawFn) -> dict[str, Any]:
    steps = draw(st.lists(st.integers(0, 800), max_size=3))
    lengths = [sum(steps[: n + 1]) for n in range(len(steps))]
    branch = draw(st.sampled_from("ab"))
    return request(
        draw(st.integers(0, 90)),
        input_tokens=draw(st.none() | counts),
        prefix=["root", f"{branch}1", f"{branch}2"][: len(steps)],
        prefix_tokens=lengths,
        operation=draw(st.sampled_from(["chat", "chat", "chat", "embedding"])),
        is_request=draw(st.sampled_from([True, True, True, False])),
        output_tokens=draw(st.none() | counts),
        cache_read_tokens=draw(st.none() | counts),
        cache_write_tokens=draw(st.none() | st.integers(0, 100)),
    )


def second_bill(requests: list[dict[str, Any]], earlier: int, sheet: Sheet) -> dict[str, Any]:
    """The same from one request to the next, in Fractions; the first `earlier` are not billed."""
    seen = [r for r in requests if r["is_request"] and r["operation"] == "chat"]
    after = [r for r in requests[earlier:] if r["is_request"] and r["operation"] == "chat"]
    rules = rules_of(sheet)
    replayed = simulate(seen, rules) if rules else [None] * len(seen)
    expected = {"priced": 0, "no_cache": 0, "same": 0, "headline": 0}
    for request, reused in list(zip(seen, replayed, strict=True))[len(seen) - len(after) :]:
        free, same = (
            _cost(request, sheet, 0, 0),
            _cost(request, sheet, request["cache_read_tokens"]),
        )
        headline = same
        if sheet.cache and sheet.cache.mode == "none":
            headline = free
        elif reused is not None:
            headline = _weighed(request, sheet, *reused)
        if headline is not None:
            expected["priced"] += 1
            expected["headline"] += headline
            expected["no_cache"] += free or 0
            expected["same"] += same or 0
    return expected


def _weighed(request: dict[str, Any], sheet: Sheet, hit: int, written: int) -> int | None:
    policy = sheet.cache
    assert policy is not None
    likely = Fraction(policy.hit_probability)
    one = _cost(request, sheet, hit, written)
    other = _cost(request, sheet, 0, hit + written if policy.write_billed else 0)
    if one is None or other is None or likely == 1:
        return one if likely == 1 else None
    return floor(likely * one + (1 - likely) * other + Fraction(1, 2))


def _cost(
    request: dict[str, Any], sheet: Sheet, read: int | None, written: int | None = None
) -> int | None:
    usage = Usage(
        input_tokens=request["input_tokens"],
        output_tokens=request["output_tokens"],
        cache_read_tokens=read,
        cache_write_tokens=request["cache_write_tokens"] or 0 if written is None else written,
        reasoning_tokens=None,
    )
    policy = sheet.cache
    ttl = "default"
    if policy and policy.ttl_seconds and "default" not in policy.ttl_seconds:
        ttl = min(policy.ttl_seconds, key=lambda name: policy.ttl_seconds[name])
    return cost(sheet, usage, from_ns(request["received_ns"]), ttl=ttl).nano


@given(st.lists(told(), max_size=8), st.integers(0, 8), sheets)
def test_a_second_computation_agrees_on_any_requests_and_sheet(requests, earlier, sheet):
    requests.sort(key=lambda each: each["received_ns"])
    found = billed(frame(*requests[:earlier]), frame(*requests[earlier:]), sheet)
    expected = second_bill(requests, earlier, sheet)
    assert found.priced == expected["priced"]
    assert found.no_cache_nano == expected["no_cache"]
    assert found.same_hits_nano == expected["same"]
    assert found.headline_nano == expected["headline"]
    assert found.priced + sum(found.unpriced.values()) == found.requests


@given(st.lists(told(), max_size=8), st.integers(0, 8), sheets)
def test_bills_of_any_two_parts_add_up_to_the_whole(requests, cut, sheet):
    requests.sort(key=lambda each: each["received_ns"])
    first, second = frame(*requests[:cut]), frame(*requests[cut:])
    parts = billed(frame(), first, sheet) + billed(first, second, sheet)
    assert parts == bill_of(sheet, *requests)


@given(st.lists(told(), max_size=8))
def test_all_permissive_rules_where_here_is_ideal_bill_the_same_hits(requests):
    """A cache that forgets nothing, and an engine here that hit all that it had seen before."""
    sheet = with_cache(ttl_seconds={"default": 86_400})
    requests = sorted(
        (each | {"input_tokens": 3000, "output_tokens": 10, "is_request": True}
         for each in requests if each["prefix"]),
        key=lambda each: each["received_ns"],
    )  # fmt: skip
    seen: set[str] = set()
    for each in requests:
        pairs = list(zip(each["prefix"], each["prefix_tokens"], strict=True))
        each["cache_read_tokens"] = max((n for name, n in pairs if name in seen), default=0)
        if each["operation"] == "chat":
            seen |= {name for name, n in pairs if n}
    found = bill_of(sheet, *requests)
    assert found.headline_nano == found.same_hits_nano
    assert found.keyed == found.priced


@pytest.mark.parametrize("sheet", [FLAT, with_cache(), with_cache(mode="none")])
def test_no_request_is_no_bill(sheet):
    assert bill_of(sheet) == Bill()


def test_bills_add_up():
    one, other = bill_of(FLAT, request(), request(output_tokens=None)), bill_of(FLAT, request())
    both = bill_of(FLAT, request(), request(output_tokens=None), request())
    assert one + other == both
