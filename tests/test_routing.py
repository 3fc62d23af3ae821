"""What routing came to: by hand, and against a second computation token by token."""

import datetime as dt
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig import oracle_routing
from rig.ledger import SECOND, START, at, attempt, heartbeats, ledger, settings
from rig.oracle import Books as Oracle

from analytics import herding, misses
from analytics.decisions import rounded_down
from analytics.month import month
from analytics.periods import Period
from analytics.render.report import as_text
from collector.clock import from_ns
from collector.events import Candidate, Event, Route
from collector.settings import EngineSettings, Hardware, RigSettings, Settings

HOUR = Period("hour", START, START + 3_600 * SECOND)
LATER = START + 10**17
# Four years are 1461 days: so many dollars are one nano-dollar a nanosecond.
ONE_A_NS = str(1461 * 86_400)


def rig() -> Settings:
    """Two cards in one pool, each for a nano-dollar a nanosecond."""
    box = {"price": ONE_A_NS, "in_service": dt.date(2026, 10, 1), "life_years": 4}
    return settings("A", "B", hardware=[Hardware(name=c, cards=[c], **box) for c in "AB"])


def routed(path: Path, *events: Event, made: Settings | None = None, **more: Any) -> dict[str, Any]:
    period = more.get("period", HOUR)
    document = month(ledger(path / "ledger", events), made or rig(), period, LATER)
    told: dict[str, Any] = document["routing"]
    return told


def route(chosen: str = "on-A", hit: int | None = 0, regret: int | None = None, **more: Any) -> Any:
    return {
        "route": Route(
            policy="p",
            chosen=chosen,
            hit_tokens=hit,
            regret_ms=regret,
            **{"reason": "home", **more},
        )
    }


# -- decisions


def test_decisions_by_policy_reason_and_card(tmp_path: Path) -> None:
    """Four requests, one without a decision; of the hits two are known on both sides."""
    found = routed(
        tmp_path,
        attempt("1", 0, 10, "A", cache_read_tokens=80, **route(hit=90, regret=-40)),
        attempt("2", 20, 30, "B", cache_read_tokens=5, **route("on-B", 9, 700, reason="spill")),
        attempt("3", 40, 50, "B", cache_read_tokens=None, **route("on-B", 9, 30)),
        attempt("4", 60, 70, "A"),
    )
    assert found["decisions"] == 3
    (policy,) = found["by_policy"]
    figures = {
        "decisions": 3,
        "hits_known": 2,
        "hit_tokens": 99,
        "actual_hit_tokens": 85,
        "regret_known": 3,
        "regretted": 2,
        "regret_ms": 730,
    }
    assert {name: policy[name] for name in figures} == figures
    assert [(r["name"], r["decisions"]) for r in policy["by_reason"]] == [("home", 2), ("spill", 1)]
    assert [(c["name"], c["hit_tokens"]) for c in found["by_card"]] == [("B", 9), ("A", 90)]
    assert found["hits"]["pairs"] == [
        {"predicted_from": 8, "actual_from": 5, "decisions": 1,
         "hit_tokens": 9, "actual_hit_tokens": 5},
        {"predicted_from": 80, "actual_from": 80, "decisions": 1,
         "hit_tokens": 90, "actual_hit_tokens": 80},
    ]  # fmt: skip
    assert found["regret"] == {
        "decisions": 3,
        "regretted": 2,
        "regret_ms": 730,
        "bins": [
            {"from_ms": -32, "decisions": 1, "regret_ms": -40},
            {"from_ms": 16, "decisions": 1, "regret_ms": 30},
            {"from_ms": 512, "decisions": 1, "regret_ms": 700},
        ],
    }
    assert found["over_time"] == [{"at": "2026-10-05T08:00:00+00:00", "requests": {"A": 2, "B": 2}}]


def test_a_shadow_agrees_or_not(tmp_path: Path) -> None:
    waits = [Candidate(engine="on-A", estimate_ms=50), Candidate(engine="on-B", estimate_ms=800)]
    given: dict[str, Any] = {"shadow_policy": "round_robin", "candidates": waits}
    found = routed(
        tmp_path,
        attempt("1", 0, 10, "A", **route(shadow="on-A", **given)),
        attempt("2", 20, 30, "A", **route(shadow="on-B", **given)),
        attempt("3", 40, 50, "A", **route(shadow="gone", **given)),
        attempt("4", 60, 70, "A", **route()),
    )
    assert found["shadow"] == [
        {"policy": "p", "shadow_policy": "round_robin", "decisions": 3, "agreed": 1,
         "estimated": 2, "chosen_ms": 100, "shadow_ms": 850}
    ]  # fmt: skip


def test_what_nobody_told_is_none_with_its_reason(tmp_path: Path) -> None:
    found = routed(tmp_path, attempt("1", 0, 10, "A"))
    assert found["decisions"] == 0
    parts = ("hits", "regret", "shadow", "misses")
    assert [found[part] for part in parts] == [None] * 4
    assert set(found["unknown"]) == set(parts)
    assert "no request told a routing decision" in found["unknown"]["hits"]
    assert "prefix keys" in found["unknown"]["misses"]


def test_a_decision_told_by_the_router_counts_for_the_taps_attempt(tmp_path: Path) -> None:
    told = attempt("1", 0, 10, "A", request_id="q", cache_read_tokens=None, **route(hit=90))
    router = msgspec.structs.replace(told, source="router")
    tap = attempt("9", 0, 10, "A", request_id="q", cache_read_tokens=60)
    found = routed(tmp_path, router, msgspec.structs.replace(tap, source="tap"))
    assert found["decisions"] == 1
    assert (found["hits"]["hit_tokens"], found["hits"]["actual_hit_tokens"]) == (90, 60)


def test_an_estimated_hit_is_no_hit_that_was(tmp_path: Path) -> None:
    """Of three decisions one's hit is reported, one's estimated, one's told by nobody."""
    guess = {"usage_source": "estimated", "cache_read_tokens": 60}
    found = routed(
        tmp_path,
        attempt("1", 0, 10, "A", cache_read_tokens=80, **route(hit=90, regret=40)),
        attempt("2", 20, 30, "A", **guess, **route(hit=70, regret=900)),
        attempt("3", 40, 50, "B", cache_read_tokens=None, **route("on-B", 9, 5)),
    )
    assert found["estimated"] == {"hits": 1, "regret": 1}
    assert (found["hits"]["decisions"], found["hits"]["hit_tokens"]) == (1, 90)
    assert [pair["actual_hit_tokens"] for pair in found["hits"]["pairs"]] == [80]
    assert {n: found["regret"][n] for n in ("decisions", "regretted", "regret_ms")} == {
        "decisions": 2, "regretted": 2, "regret_ms": 45,
    }  # fmt: skip
    (one, other) = found["by_card"]
    assert (one["name"], one["hits_estimated"], one["regret_estimated"]) == ("A", 1, 1)
    assert (other["hits_estimated"], other["hit_tokens"]) == (0, None)


def test_where_all_hits_are_estimated_none_is_told(tmp_path: Path) -> None:
    guess = {"usage_source": "estimated", "cache_read_tokens": 60}
    found = routed(tmp_path, attempt("1", 0, 10, "A", **guess, **route(hit=70, regret=9)))
    assert (found["hits"], found["regret"]) == (None, None)
    assert found["estimated"] == {"hits": 1, "regret": 1}
    assert "it was estimated" in found["unknown"]["hits"]


@pytest.mark.parametrize(
    ("usage", "cached", "estimated"), [("derived", None, 1), ("engine", 60, 0)]
)
def test_whose_hit_it_is_decides(
    tmp_path: Path, usage: str, cached: int | None, estimated: int
) -> None:
    """A tap that counted the output alone lends its name to no hit that the router estimated."""
    guess: dict[str, Any] = {"usage_source": "estimated", "cache_read_tokens": 55}
    told = attempt("1", 0, 10, "A", request_id="q", **guess, **route(hit=90, regret=5))
    tap = attempt("9", 0, 10, "A", request_id="q", usage_source=usage, cache_read_tokens=cached)
    tellings = (msgspec.structs.replace(a, source=s) for a, s in ((told, "router"), (tap, "tap")))
    found = routed(tmp_path, *tellings)
    assert found["estimated"]["hits"] == estimated
    assert (found["hits"] is None) == bool(estimated)
    if found["hits"]:
        assert found["hits"]["actual_hit_tokens"] == 60


def test_requests_by_card_and_local_day(tmp_path: Path) -> None:
    """08:00 UTC is 17:00 in Tokyo: seven hours later is another day there."""
    made = msgspec.structs.replace(rig(), rig=RigSettings(time_zone="Asia/Tokyo"))
    days = Period("days", at(-17 * 3_600), at(31 * 3_600))
    late = 7 * 3_600
    found = routed(
        tmp_path,
        attempt("1", 0, 10, "A"),
        attempt("2", 20, 30, "B"),
        attempt("3", late - 20, late, "B"),
        attempt("4", late, late + 5, "C"),
        made=made,
        period=days,
    )
    assert found["by_day"] == [
        {"name": "2026-10-05", "requests": {"A": 1, "B": 1}},
        {"name": "2026-10-06", "requests": {"B": 1, "(none)": 1}},
    ]
    assert found["requests_by_card"] == [
        {"name": "B", "requests": 2, "share": 0.5},
        {"name": "(none)", "requests": 1, "share": 0.25},
        {"name": "A", "requests": 1, "share": 0.25},
    ]


def test_what_another_choice_might_have_saved(tmp_path: Path) -> None:
    """Ten seconds of B beside A's queue, and a prompt that A had computed: a dollar a second."""
    found = routed(
        tmp_path,
        *queue(0, 10),
        prompt("1", 100, "A", "ab"),
        prompt("2", 200, "B", "ab"),
        *seen(-30, 600),
    )
    assert found["at_stake"] == {
        "herding_nano": 10 * SECOND,
        "misrouted_nano": 10 * SECOND,
        "nano": 20 * SECOND,
    }
    bare = routed(tmp_path / "bare", *queue(0, 10), *seen(-30, 600))["at_stake"]
    assert (bare["nano"], bare["misrouted_nano"]) == (10 * SECOND, None)


@given(st.integers(-(2**50), 2**50), st.integers(1, 6))
def test_bins_keep_the_leading_digits(number: int, bits: int) -> None:
    found = pl.select(rounded_down(pl.lit(number, dtype=pl.Int64), bits)).item()
    digits = f"{abs(number):b}"
    expected = int(digits[:bits] + "0" * max(0, len(digits) - bits), 2)
    assert found == (expected if number >= 0 else -expected)


# -- herding


def queue(start: float, wait: float, number: int = 0) -> list[Event]:
    """Two requests that compute on A for `wait` seconds, and one that waits for them."""
    name = f"{start}-{number}"
    busy: list[Event] = [attempt(f"{name}-{n}", start, start + wait, wait_ns=0) for n in "ab"]
    waited = {"wait_ns": round(wait * SECOND)}
    return [*busy, attempt(f"{name}-c", start, start + wait + 5, **waited)]


def seen(start: float, end: float) -> list[Event]:
    return heartbeats(start, end, ["on-A", "on-B"])


def test_an_episode_and_a_short_wait(tmp_path: Path) -> None:
    """B stands by for 30 s, and for 4 s: each second costs it a dollar."""
    found = routed(tmp_path, *queue(0, 30), *queue(200, 4), *seen(-30, 600))["herding"]
    assert found == {
        "threshold_ns": 10 * SECOND,
        "stranded_ns": 34 * SECOND,
        "cost_nano": 34 * SECOND,
        "episodes": [
            {
                "pool": "pool",
                "from": "2026-10-05T08:00:00+00:00",
                "to": "2026-10-05T08:00:30+00:00",
                "queued": ["A"],
                "stood_by": ["B"],
                "requests": 1,
                "stranded_ns": 30 * SECOND,
                "cost_nano": 30 * SECOND,
            }
        ],
        "short": {"stretches": 1, "stranded_ns": 4 * SECOND, "cost_nano": 4 * SECOND},
    }


@pytest.mark.parametrize(("seconds", "episodes"), [(9.999999, 0), (10, 1)])
def test_an_episode_takes_as_long_as_a_prompt(
    tmp_path: Path, seconds: float, episodes: int
) -> None:
    found = routed(tmp_path, *queue(0, seconds), *seen(-30, 100))["herding"]
    assert len(found["episodes"]) == episodes
    assert found["short"]["stretches"] == 1 - episodes


def test_midnight_parts_no_episode(tmp_path: Path) -> None:
    """12 s across midnight, 6 on either side: one episode, its request counted once."""
    midnight = 16 * 3_600
    days = Period("days", at(midnight - 86_400), at(midnight + 86_400))
    events = [
        *queue(midnight - 6, 12),
        *queue(midnight + 60, 3),
        *seen(midnight - 60, midnight + 99),
    ]
    found = routed(tmp_path, *events, period=days)["herding"]
    (episode,) = found["episodes"]
    assert (episode["from"], episode["to"]) == (
        "2026-10-05T23:59:54+00:00",
        "2026-10-06T00:00:06+00:00",
    )
    assert (episode["requests"], episode["stranded_ns"]) == (1, 12 * SECOND)
    assert found["short"] == {"stretches": 1, "stranded_ns": 3 * SECOND, "cost_nano": 3 * SECOND}


def test_another_pools_queue_is_not_its_own(tmp_path: Path) -> None:
    made = rig()
    made.engines[1] = EngineSettings(
        name="on-B", url="http://x:1", gpus=["B"], slots=2, pool="other"
    )
    found = routed(tmp_path, *queue(0, 30), *seen(-30, 100), made=made)["herding"]
    assert (found["episodes"], found["stranded_ns"]) == ([], 0)


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=8), st.data())
def test_stretches_cut_at_midnights_are_the_same(
    spans: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Whatever days they are cut into: the same episodes, and nothing is lost."""
    whole, at_s = [], 0
    for pause, length in spans:
        whole.append((at_s + pause, at_s + pause + length))
        at_s += pause + length
    cuts = sorted(data.draw(st.sets(st.integers(1, max(at_s, 1)), max_size=4)))
    bounds = [0, *cuts, at_s + 1]
    days = []
    for low, high in pairwise(bounds):
        parts = [(max(a, low), min(b, high), a < low) for a, b in whole if a < high and b > low]
        days.append({"told": [_stretch(*part) for part in parts], "short": _NOTHING})
    found = herding.herding(days)
    long = [(a, b) for a, b in whole if b - a >= 10]
    assert [(e["from"], e["to"], e["requests"]) for e in found["episodes"]] == [
        (from_ns(at(a)).isoformat(), from_ns(at(b)).isoformat(), 1) for a, b in long
    ]
    parts = [*found["episodes"], found["short"]]
    assert sum(part["cost_nano"] for part in parts) == sum(7 * (b - a) for a, b in whole)
    assert found["short"]["stretches"] == len(whole) - len(long)


_NOTHING = {"stretches": 0, "stranded_ns": 0, "nano": 0}


def _stretch(a: int, b: int, carried: bool) -> dict[str, Any]:
    return {
        "pool": "p",
        "from_ns": at(a),
        "to_ns": at(b),
        "queued": ["A"],
        "stood_by": ["B"],
        "requests": 1,
        "carried_in": int(carried),
        "stranded_ns": (b - a) * SECOND,
        "nano": 7 * (b - a),
    }


# -- misses


def prompt(
    name: str, start: float, card: str, keys: str, cached: int | None = 0, **more: Any
) -> Event:
    """A request of 100 tokens a message: ten seconds of prefill, one of decode."""
    fields = {
        "input_tokens": 100 * len(keys),
        "cache_read_tokens": cached,
        "ttft_ns": 10 * SECOND,
        "prefix": [keys[: n + 1] for n in range(len(keys))],
        "prefix_tokens": [100 * (n + 1) for n in range(len(keys))],
        "session": "s",
        **more,
    }
    return attempt(name, start, start + 11, card, **fields)


def tokens(found: dict[str, Any]) -> dict[str, int]:
    causes = found["misses"]["causes"]
    return {cause: sums["tokens"] for cause, sums in causes.items() if sums["tokens"]}


def test_whoever_had_it_last_tells_misrouted_from_evicted(tmp_path: Path) -> None:
    """`ab` went A, B, A, A: sent past A's cache, then past B's, then lost by A."""
    found = routed(
        tmp_path,
        prompt("1", 0, "A", "ab"),
        prompt("2", 100, "B", "abc"),
        prompt("3", 200, "A", "abcd"),
        prompt("4", 300, "A", "abcde", cached=150),
    )
    # 2: ab misrouted, c new. 3: abc misrouted, d new. 4: 150..400 evicted, e new.
    assert tokens(found) == {"misrouted": 200 + 300, "evicted": 250, "new": 200 + 100 * 3}
    causes = found["misses"]["causes"]
    # Prefill of 2 is ten seconds for 300 tokens, of 3 for 400, of 4 for 350; a dollar a second.
    assert causes["misrouted"]["ns"] == 6_666_666_667 + 7_500_000_000
    assert causes["evicted"]["ns"] == 7_142_857_143
    assert causes["evicted"]["cost_nano"] == 7_142_857_143
    assert [row["name"] for row in found["misses"]["by_card"]] == ["A", "B"]


def test_one_request_may_miss_for_both_reasons(tmp_path: Path) -> None:
    """A had a and b, B had c after them: of 400 tokens in ten seconds, by tokens."""
    found = routed(
        tmp_path,
        prompt("1", 0, "B", "abc"),
        prompt("2", 100, "A", "ab", session="t"),
        prompt("3", 200, "A", "abcd"),
    )
    assert tokens(found) == {"misrouted": 200 + 100, "evicted": 200, "new": 300 + 100}
    causes = found["misses"]["causes"]
    assert causes["evicted"]["ns"] == 5_000_000_000
    assert causes["misrouted"]["ns"] == 10_000_000_000 + 2_500_000_000


LONG = "abcdefgh"


@pytest.mark.parametrize(
    ("second", "more", "rewritten", "broke"),
    [
        ("abcdefghijklmn", {"cached": 800}, None, None),  # it goes on
        ("abXYZUVW", {"cached": 200}, 600, (2, 2)),  # broken after two messages of eight
        ("abXYZUVW", {"cached": 0}, 600, (2, 2)),  # and lost what had stood
        ("abXYZUVWQQ", {"cached": 200}, 600, (2, 2)),  # two more than there had been
        ("XYZUVW", {}, 600, (0, 0)),  # not even the beginning is left
        ("abXYZUV", {}, None, None),  # five more: as many as a new one begins with
        ("abXYZUVW", {"session": "t"}, None, None),
        ("abXYZUVW", {"session": None}, None, None),
        ("abXYZUVWRST", {"cached": 500}, 300, (5, 4)),  # the engine knew more
    ],
)
def test_a_rewritten_history(
    tmp_path: Path,
    second: str,
    more: dict[str, Any],
    rewritten: int | None,
    broke: tuple[int, int] | None,
) -> None:
    found = routed(tmp_path, prompt("1", 0, "A", LONG), prompt("2", 100, "A", second, **more))
    assert tokens(found).get("rewritten") == rewritten
    breaks = [(row["message"], row["tenth"]) for row in found["misses"]["breaks"]]
    assert breaks == ([broke] if broke else [])


def test_a_branch_from_where_a_prompt_ended_is_no_rewriting(tmp_path: Path) -> None:
    found = routed(
        tmp_path,
        prompt("0", 0, "A", "ab"),
        prompt("1", 100, "A", LONG, cached=200),
        prompt("2", 200, "A", "abXYZUVW", cached=200),
    )
    assert "rewritten" not in tokens(found)


def test_a_card_whose_engine_tells_no_keys_has_no_causes(tmp_path: Path) -> None:
    bare = {"prefix": [], "prefix_tokens": []}
    found = routed(tmp_path, prompt("1", 0, "A", "ab"), prompt("2", 100, "B", "ab", **bare))
    assert tokens(found) == {"new": 200, "untold": 200}
    first, second = found["misses"]["by_card"]
    assert first["causes"]["evicted"]["tokens"] == 0
    assert second["name"] == "B"
    assert [cause for cause, sums in second["causes"].items() if sums] == ["untold"]


@given(st.integers(-(10**12), 10**12), st.integers(0, 2**40), st.integers(1, 2**40))
def test_a_leafs_two_parts_are_the_largest_remainder(amount: int, first: int, other: int) -> None:
    frame = pl.DataFrame({"ns": [amount], "first": [first], "whole": [first + other]})
    found = frame.select(misses.part("ns")).item()
    whole = first + other
    floors = amount * first // whole, amount * other // whole
    left = amount - sum(floors)
    takes = left and amount * first % whole >= amount * other % whole
    assert found == floors[0] + int(bool(takes))


# -- everything at once


def conversations(dice: random.Random) -> list[Event]:
    """Prompts that go on, fork, are rewritten, lose their cache or tell nothing of it."""
    made: list[Event] = []
    histories: list[str] = [""]
    for n in range(dice.randint(6, 24)):
        told = dice.choice(histories)[: dice.choice([20, 20, 2, 4])]
        keys = told + "".join(dice.choice("abxy") for _ in range(dice.choice([1, 2, 7, 9])))
        histories.append(keys)
        size = 7 * len(keys) + dice.choice([0, 0, 3])
        start, length = dice.choice([n * 60.0, 20.0 * n]), dice.uniform(1, 90)
        fields = {
            "input_tokens": dice.choice([size, size, size, None]),
            "prefix_tokens": [7 * (place + 1) for place in range(len(keys))],
            "cached": dice.choice([0, 0, 7 * len(told), 5, None]),
            "session": dice.choice(["s", "s", "t", None]),
            "ttft_ns": dice.choice([SECOND, 3 * SECOND + n, None]),
            "status": dice.choice(["ok", "ok", "ok", "client_abort"]),
            "wait_ns": dice.choice([None, 0, dice.randint(0, 40 * SECOND)]),
        }
        if dice.random() < 0.15:
            fields |= {"prefix": [], "prefix_tokens": []}
        card = dice.choice("AAB")
        fields |= decided(dice, card)
        event = prompt(f"r{n:02}", start + n / 1000, card, keys, **fields)
        made.append(_until(event, start + n / 1000, length))
    return made


def decided(dice: random.Random, card: str) -> dict[str, Any]:
    """A decision, if any, that tells more or less of itself; its hit may be estimated alone."""
    usage = {"usage_source": dice.choice(["engine", "engine", "derived", "estimated"])}
    if dice.random() < 0.2:
        return usage
    believed = [Candidate(engine=f"on-{c}", hit_tokens=dice.choice([None, 7])) for c in "AB"]
    told = route(
        f"on-{card}",
        dice.choice([None, 0, 7, 21]),
        dice.choice([None, -30, 0, 400]),
        actual_hit_tokens=dice.choice([None, None, 14]),
        candidates=dice.choice([[], believed]),
    )
    return {**usage, **told}


def _until(event: Any, start: float, length: float) -> Event:
    ended: Event = msgspec.structs.replace(event, duration_ns=at(start + length) - at(start))
    return ended


@pytest.mark.parametrize("seed", range(8))
def test_routing_equals_the_second_computation(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    events = [*conversations(dice), *seen(-30, 1800)]
    made = rig()
    found = routed(tmp_path, *events, made=made)
    second = Oracle(events, made, HOUR.from_ns, HOUR.to_ns, LATER)
    expected = oracle_routing.misses(second)
    if found["misses"] is not None:
        for cause, sums in found["misses"]["causes"].items():
            own = expected[cause]
            told = {name: sums[name] for name in ("tokens", "ns", "cost_nano")}
            assert told == {name: own[name] for name in told}, cause
    counted = oracle_routing.decisions(second)
    figures = list(next(iter(counted.values())))
    for card in found["by_card"]:
        assert {n: card[n] or 0 for n in figures} == counted.pop(card["name"])
    assert not counted
    (day,) = found["by_day"]
    assert day == {"name": "2026-10-05", "requests": oracle_routing.requests(second)}
    stretches = oracle_routing.stranded(second)
    long = [each for each in stretches if each[1] - each[0] >= 10 * SECOND]
    episodes = found["herding"]["episodes"]
    assert [(e["from"], e["to"], e["stranded_ns"]) for e in episodes] == [
        (from_ns(a).isoformat(), from_ns(b).isoformat(), ns) for a, b, ns, _ in long
    ]
    for episode, (*_, nano) in zip(episodes, long, strict=True):
        assert abs(episode["cost_nano"] - nano) < 2 * len(second.segments["A"])
    assert found["herding"]["stranded_ns"] == sum(ns for _, _, ns, _ in stretches)


def test_the_text_has_a_few_lines(tmp_path: Path) -> None:
    kept = ledger(
        tmp_path / "ledger",
        [*queue(0, 30), *seen(-30, 600), prompt("1", 100, "A", "ab", **route(regret=7_200_000)),
         prompt("2", 200, "B", "ab")],
    )  # fmt: skip
    lines = as_text(month(kept, rig(), HOUR, LATER)).splitlines()
    start = lines.index("Routing, and what it cost in USD") + 1
    assert [" ".join(line.split()) for line in lines[start : lines.index("", start)]] == [
        "decisions 1 home 100 %",
        "cached, predicted and found 0 tokens 0 tokens",
        "might have been quicker 1 decision 2.00 h",
        "queued beside idle cards 1 episode 0.01 h 30.00",
        "computed on another card 200 tokens 0.00 h 10.00",
    ]


def test_without_a_decision_the_text_is_silent(tmp_path: Path) -> None:
    kept = ledger(tmp_path / "ledger", [attempt("1", 0, 10)])
    assert "Routing" not in as_text(month(kept, rig(), HOUR, LATER))
