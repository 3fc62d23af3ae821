"""The provider's cache by hand, and against a second one on random trees of sessions."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.oracle_cache import simulate

from analytics.cache_replay import CacheRules, replay

SECOND = 1_000_000_000
SCHEMA = {
    "received_ns": pl.Int64,
    "input_tokens": pl.Int64,
    "prefix": pl.List(pl.String),
    "prefix_tokens": pl.List(pl.Int64),
}
FIVE_MINUTES = CacheRules(ttl_ns=300 * SECOND, min_prefix_tokens=1024, granularity_tokens=128)


def request(at: float, **prefixes: int) -> dict[str, Any]:
    """A request at so many seconds, with its prefixes by name; ten tokens follow the longest."""
    return {
        "received_ns": int(at * SECOND),
        "input_tokens": max(prefixes.values(), default=0) + 10,
        "prefix": list(prefixes),
        "prefix_tokens": list(prefixes.values()),
    }


def replayed(requests: list[dict[str, Any]], rules: CacheRules) -> list[tuple[int, int] | None]:
    found = replay(pl.DataFrame(requests, schema=SCHEMA, orient="row"), rules)
    return [None if hit is None else (hit, write) for hit, write in found.iter_rows()]


def hits(requests: list[dict[str, Any]], rules: CacheRules) -> list[int]:
    return [answer[0] for answer in replayed(requests, rules) if answer is not None]


def test_a_hit_is_floored_and_prolongs_the_life_of_its_prefix():
    # 2,000 tokens are 15 steps of 128. 300 s is still alive, 301 s is not; 600 s only lives
    # because 300 s used it.
    told = [request(at, a=2000) for at in (0, 300, 600, 901)]
    assert hits(told, FIVE_MINUTES) == [0, 1920, 1920, 0]


def test_without_refresh_a_prefix_lives_from_its_writing():
    rules = CacheRules(ttl_ns=300 * SECOND, refreshed=False)
    # Written at 0, read at 200 and 300, gone at 301 and written again, so 600 is alive.
    told = [request(at, a=2000) for at in (0, 200, 300, 301, 600, 602)]
    assert hits(told, rules) == [0, 2000, 2000, 0, 2000, 0]


def test_a_prefix_below_the_minimum_is_never_cached():
    told = [request(0, a=1023), request(1, a=1023), request(2, a=1024), request(3, a=1024)]
    assert hits(told, FIVE_MINUTES) == [0, 0, 0, 1024]


def test_the_longest_living_prefix_counts_whoever_wrote_it():
    # The second session shares the system prompt, the third only its first turn with the first.
    told = [
        request(0, system=2048, first=4096, second=8192),
        request(10, system=2048, other=6144),
        request(20, system=2048, first=4096, third=5120),
    ]
    assert hits(told, FIVE_MINUTES) == [0, 2048, 4096]


def test_a_whole_unit_is_hit_only_where_an_earlier_prompt_ended():
    rules = CacheRules(ttl_ns=300 * SECOND, unit="request")
    told = [
        request(0, system=2000, first=4000),
        request(1, system=2000, other=6000),  # no earlier prompt was the system prompt alone
        request(2, system=2000, first=4000, more=7000),
        request(3, system=2000),
        request(4, system=2000, third=3000),
    ]
    assert hits(told, rules) == [0, 0, 4000, 0, 2000]


def test_what_is_not_hit_is_written_where_writing_is_billed():
    rules = CacheRules(ttl_ns=300 * SECOND, unit="breakpoint", write_billed=True)
    told = [request(0, a=2001), request(1, a=2001, b=5000), request(2, a=2001, b=5000)]
    assert replayed(told, rules) == [(0, 2001), (2001, 2999), (5000, 0)]


def test_minimum_and_granularity_are_in_the_providers_tokens():
    # 1,100 of ours are 1,210 of theirs: above 1,200, and 12 whole hundreds, 1,090 of ours.
    rules = CacheRules(
        ttl_ns=SECOND, min_prefix_tokens=1200, granularity_tokens=100, ratio_e4=11_000
    )
    assert hits([request(0, a=1100), request(1, a=1100)], rules) == [0, 1090]
    assert hits([request(0, a=1090), request(1, a=1090)], rules) == [0, 0]


def test_requests_without_prefixes_are_unknown_and_impossible_prefixes_left_out():
    odd = request(2, a=2000) | {"input_tokens": 1500}
    told = [request(0, a=2000), request(1) | {"input_tokens": None}, odd]
    assert replayed(told, FIVE_MINUTES) == [(0, 0), None, (0, 0)]


@st.composite
def sessions(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Requests along the branches of a tree of prompts, close together and far apart."""
    parents = [draw(st.integers(0, node)) - 1 for node in range(draw(st.integers(1, 7)))]
    grown = [draw(st.integers(1, 40)) for _ in parents]
    told = []
    for _ in range(draw(st.integers(0, 14))):
        path, node = [], draw(st.integers(-1, len(parents) - 1))
        while node >= 0:
            path.append(node)
            node = parents[node]
        path.reverse()
        lengths = [sum(grown[step] for step in path[: n + 1]) for n in range(len(path))]
        beyond = draw(st.integers(-5, 9))
        told.append(
            {
                "received_ns": draw(st.integers(0, 60)),
                "input_tokens": draw(
                    st.sampled_from([None, max(0, max(lengths, default=0) + beyond)])
                ),
                "prefix": [f"p{step}" for step in path],
                "prefix_tokens": lengths,
            }
        )
    return told


rules_of_any_kind = st.builds(
    CacheRules,
    ttl_ns=st.integers(0, 30),
    min_prefix_tokens=st.integers(0, 30),
    granularity_tokens=st.integers(1, 9),
    unit=st.sampled_from(["block", "breakpoint", "request"]),
    refreshed=st.booleans(),
    write_billed=st.booleans(),
    ratio_e4=st.sampled_from([10_000, 10_000, 7_500, 13_000]),
)


@given(sessions(), rules_of_any_kind)
def test_a_second_cache_agrees_on_random_trees(told, rules):
    assert replayed(told, rules) == simulate(told, rules)


@given(sessions(), rules_of_any_kind.filter(lambda rules: rules.refreshed), st.integers(0, 60))
def test_what_happened_a_lifetime_ago_does_not_matter(told, rules, now):
    """Where use prolongs life and any use writes, a replay may begin one time to live earlier."""
    told.sort(key=lambda request: request["received_ns"])
    late = [request for request in told if request["received_ns"] >= now]
    since = [request for request in told if request["received_ns"] >= now - rules.ttl_ns]
    if rules.unit != "request":
        whole, part = replayed(told, rules), replayed(since, rules)
        assert part[len(since) - len(late) :] == whole[len(told) - len(late) :]


@given(sessions())
def test_a_cache_that_forgets_nothing_hits_all_that_was_there_before(told):
    rules = CacheRules(ttl_ns=10**9)
    seen: set[str] = set()
    expected = []
    for request in sorted(told, key=lambda each: each["received_ns"]):
        request["input_tokens"] = None
        pairs = zip(request["prefix"], request["prefix_tokens"], strict=True)
        if request["prefix"]:
            expected.append(max((tokens for name, tokens in pairs if name in seen), default=0))
        seen |= set(request["prefix"])
    told.sort(key=lambda each: each["received_ns"])
    assert hits(told, rules) == expected


@pytest.mark.parametrize("unit", ["block", "breakpoint", "request"])
def test_no_request_is_no_answer(unit):
    assert replayed([], CacheRules(ttl_ns=1, unit=unit)) == []
    assert replayed([request(0)], CacheRules(ttl_ns=1, unit=unit, refreshed=False)) == [None]
