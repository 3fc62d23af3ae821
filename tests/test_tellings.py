"""The same attempt told by several sources: by hand, and as it must be whatever else is told."""

import random
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rig.ledger import SECOND, START, attempt, ledger, settings
from rig.oracle_tellings import name, one_each

from analytics.month import month
from analytics.periods import Period
from analytics.record import keep_record
from analytics.tellings import TOKENS, joined
from analytics.timesheet import timesheets
from collector.clock import to_ns
from collector.events import Attempt, Event, Route

HOUR = Period("hour", START, START + 3_600 * SECOND)
LATER = START + 10**15


def told(source: str, name: str, start: float, end: float, **fields: Any) -> Attempt:
    made = attempt(name, start, end, **fields)
    return msgspec.structs.replace(made, source=source)


def account(path: Path, *events: Event) -> dict[str, Any]:
    return month(ledger(path / "ledger", events), settings("A", "B"), HOUR, LATER)


def counts(document: dict[str, Any]) -> tuple[int, int, int, int]:
    """Attempts, requests, output tokens, seconds of card time."""
    tokens = document["tokens"]
    return (
        tokens["attempts"],
        tokens["requests"],
        tokens["output"],
        document["card_time_ns"] // SECOND,
    )


def test_a_response_id_joins_where_no_request_id_does(tmp_path: Path) -> None:
    """The tap gave the request an id of its own; the engine's log knows only its answer's."""
    found = account(
        tmp_path,
        told("tap", "1", 0, 10, request_id="tap-1", response_id="c1", output_tokens=None),
        told("engine_log", "9", 1, 11, response_id="c1", output_tokens=40, project="p"),
        told("engine_log", "10", 20, 25, response_id="c2", output_tokens=7),
    )
    assert counts(found) == (2, 2, 47, 15)
    projects = {group["name"]: group["requests"] for group in found["groups"]["project"]}
    assert projects == {"p": 1, "(none)": 1}


def test_a_callback_that_is_told_no_engine_takes_no_card_time(tmp_path: Path) -> None:
    """A tap knows the card of one of its calls; of the other only the tokens are known."""
    unseen: dict[str, Any] = {"engine": "behind production-stack", "gpus": []}
    found = account(
        tmp_path,
        told("tap", "1", 0, 10, request_id="tap-1", response_id="c1", output_tokens=40),
        told("production_stack", "a", -1, 11, response_id="c1", output_tokens=40, **unseen),
        told("production_stack", "b", 20, 25, response_id="c2", output_tokens=7, **unseen),
    )
    assert counts(found) == (2, 2, 47, 10)
    assert found["quality"]["uncarded_requests"] == 1


def test_ids_join_in_a_chain(tmp_path: Path) -> None:
    """The plugin knows the router's id, the router the tap's answer's; the tap neither's."""
    found = account(
        tmp_path,
        told("tap", "1", 0, 10, response_id="c1", output_tokens=5),
        told("router", "2", 0, 10, response_id="c1", request_id="q", output_tokens=6),
        told("litellm", "3", 0, 11, request_id="q", output_tokens=7),
    )
    assert counts(found) == (1, 1, 5, 10)


def test_a_client_that_knows_nothing_of_a_second_try_tells_of_the_one_that_answered(
    tmp_path: Path,
) -> None:
    none: dict[str, Any] = {"output_tokens": None, "status": "upstream_error"}
    found = account(
        tmp_path,
        told("tap", "1", 0, 12, request_id="q", **none),
        told("tap", "2", 12, 20, card="B", request_id="q", output_tokens=None),
        told("router", "1", 0, 12, request_id="q", attempt_no=1, **none),
        told("router", "2", 12, 20, card="B", request_id="q", attempt_no=2, output_tokens=None),
        told("litellm", "1", -1, 21, engine="on-A", request_id="q", output_tokens=30),
    )
    assert counts(found) == (2, 1, 30, 20)


def test_one_source_tells_of_two_attempts_under_one_id(tmp_path: Path) -> None:
    """A client that sends one id for ever: what overlaps is still two attempts."""
    events = [told("tap", str(n), n, n + 10, request_id="q", response_id="c") for n in range(5)]
    events += [
        told("router", str(n), n + 0.1, n + 9.9, request_id="q", response_id="c") for n in range(5)
    ]
    assert counts(account(tmp_path, *events))[::2] == (5, 250)


@pytest.mark.parametrize(("second", "attempts"), [(9.9, 1), (10.1, 2), (4_000, 2)])
def test_only_what_overlaps_is_the_same(tmp_path: Path, second: float, attempts: int) -> None:
    """An engine counts its answers from 1 again after each start."""
    events = [
        told("tap", "1", 0, 10, response_id="c1", output_tokens=1),
        told("engine_log", "1", second, second + 5, response_id="c1", output_tokens=1),
    ]
    kept = ledger(tmp_path / "ledger", events)
    assert len(joined(kept.frame("attempts", 0, 2**62, ends_after_ns=0))) == attempts


def test_an_engines_own_counts_come_before_a_nearer_sources_estimate(tmp_path: Path) -> None:
    events = [
        told("tap", "1", 0, 10, request_id="q", input_tokens=1, output_tokens=2,
             cache_read_tokens=None, usage_source="derived", session="s"),
        told("router", "1", 0, 10, request_id="q", input_tokens=11, output_tokens=12,
             cache_read_tokens=4, usage_source="estimated", session="t", ttft_ns=99 * SECOND),
        told("engine_log", "1", 0, 10, request_id="q", input_tokens=21, output_tokens=22,
             cache_read_tokens=None, project="p", ttft_ns=2 * SECOND),
    ]  # fmt: skip
    kept = ledger(tmp_path / "ledger", events)
    (row,) = joined(kept.frame("attempts", 0, 2**62, ends_after_ns=0)).iter_rows(named=True)
    assert (row["source"], row["event_id"], row["usage_source"]) == ("tap", "1", "engine")
    assert (row["input_tokens"], row["output_tokens"], row["cache_read_tokens"]) == (21, 22, 4)
    assert (row["session"], row["project"], row["model"]) == ("s", "p", "m")
    # The tap saw no first token; the router's lies beyond its end and is held to it.
    assert row["first_token_ns"] == row["end_ns"] == START + 10 * SECOND


SCHEMA = {
    **dict.fromkeys(("source", "event_id", "request_id"), pl.String),
    **dict.fromkeys(("shared_request", "shared_response"), pl.String),
    **dict.fromkeys(("engine", "model", "project", "session", "key"), pl.String),
    **dict.fromkeys(("operation", "status", "usage_source", "route"), pl.String),
    **dict.fromkeys(("received_at_ns", "start_ns", "wait_ns"), pl.Int64),
    **dict.fromkeys(("first_token_ns", "end_ns"), pl.Int64),
    **dict.fromkeys(TOKENS, pl.Int64),
    "gpus": pl.List(pl.String),
    "prefix": pl.List(pl.String),
    "prefix_tokens": pl.List(pl.Int64),
    "is_request": pl.Boolean,
}
SOURCES = ["tap", "router", "engine_log", "litellm", "litellm_log", "otlp", "other"]
TELLING = st.fixed_dictionaries(
    {
        "source": st.sampled_from(SOURCES),
        "start": st.integers(0, 20),
        "length": st.integers(0, 8),
        "request_id": st.sampled_from([None, "q", "r"]),
        "response_id": st.sampled_from([None, "c", "d"]),
        "output_tokens": st.sampled_from([None, 3, 4]),
        "usage_source": st.sampled_from(["engine", "derived", "estimated", "missing"]),
        "ttft_ns": st.sampled_from([None, 0, 3 * SECOND]),
        "project": st.sampled_from([None, "p", "q"]),
        "route": st.sampled_from(
            [None, Route(policy="p", chosen="a"), Route(policy="q", chosen="a")]
        ),
    }
)


@hypothesis_settings(max_examples=200, deadline=None)
@given(st.lists(TELLING, max_size=12), st.randoms(use_true_random=False))
def test_tellings_join_as_by_hand(tellings: list[dict[str, Any]], dice: random.Random) -> None:
    events = [
        told(t.pop("source"), str(n), s := t.pop("start"), s + t.pop("length") + n / 1000, **t)
        for n, t in enumerate(map(dict, tellings))
    ]
    dice.shuffle(events)
    found = {(r["source"], r["event_id"]): r for r in joined(frame(events)).iter_rows(named=True)}
    expected = {name(a): a for a in one_each(events)}
    assert found.keys() == expected.keys()
    for key, made in expected.items():
        row = found[key]
        for field in ("output_tokens", "usage_source", "project"):
            assert row[field] == getattr(made, field), (key, field)
        assert row["route"] == (made.route and made.route.policy)
        ttft = None if made.ttft_ns is None else to_ns(made.received_at) + made.ttft_ns
        assert row["first_token_ns"] == ttft


def frame(events: list[Attempt]) -> pl.DataFrame:
    """What the query `attempts` gives for events, each id with them."""
    rows = [msgspec.structs.asdict(e) | _instants(e) for e in events]
    return pl.DataFrame(rows, schema=SCHEMA)


def _instants(event: Attempt) -> dict[str, Any]:
    received = to_ns(event.received_at)
    return {
        "shared_request": event.request_id,
        "shared_response": event.response_id,
        "received_at_ns": received,
        "start_ns": received,
        "first_token_ns": None if event.ttft_ns is None else received + event.ttft_ns,
        "end_ns": received + event.duration_ns,
        "is_request": True,
        "route": event.route and event.route.policy,
    }


@pytest.mark.parametrize(("later_s", "requests"), [(200, 1), (4 * 86_400, 2)])
def test_an_id_that_is_used_again_days_later_is_another_request(
    tmp_path: Path, later_s: float, requests: int
) -> None:
    """Whether both are read at once or each day alone: a kept day must not move."""
    again = 20 + later_s
    events = [
        told("router", "1", 0, 5, request_id="job-7", attempt_no=1, status="upstream_error"),
        told("router", "2", 10, 15, request_id="job-7", attempt_no=2),
        told("router", "3", again, again + 5, request_id="job-7", attempt_no=1),
    ]
    made, later = settings("A", "B"), START + 20 * 86_400 * SECOND
    kept = ledger(tmp_path / "ledger", events)
    whole = Period("week", START - 8 * 3600 * SECOND, START + (7 * 24 - 8) * 3600 * SECOND)
    assert month(kept, made, whole, later)["tokens"]["requests"] == requests
    alone = sum(
        int(day.tallies["requests"].sum())
        for first in range(whole.from_ns, whole.to_ns, 86_400 * SECOND)
        for day in timesheets(keep_record(kept, made, first, first + 86_400 * SECOND, later), made)
    )
    assert alone == requests
