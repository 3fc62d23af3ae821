"""Prefill that some card of the pool had done before: by hand."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rig.ledger import SECOND, START, attempt, ledger, settings

from analytics.books import keep_books
from analytics.month import month
from analytics.periods import Period
from collector.events import Event
from collector.settings import EngineSettings
from collector.store import Store

HOUR = Period("hour", START, START + 3_600 * SECOND)
DAY_S = 86_400
LATER = START + 10**17


def work(path: Path, *events: Event, engines: list[EngineSettings] | None = None) -> dict[str, Any]:
    made = settings("A", "B")
    made.engines.extend(engines or [])
    return month(ledger(path / "ledger", events), made, HOUR, LATER)


def prompt(
    name: str, start: float, card: str, keys: dict[str, int], cached: int | None = 0, **more: Any
) -> Event:
    """A request of 1000 input tokens: ten seconds of prefill, one of decode."""
    fields = {
        "input_tokens": 1000,
        "cache_read_tokens": cached,
        "ttft_ns": 10 * SECOND,
        "prefix": list(keys),
        "prefix_tokens": list(keys.values()),
        **more,
    }
    return attempt(name, start, start + 11, card, **fields)


def kinds(document: dict[str, Any]) -> tuple[int, int]:
    return document["tokens"]["split_new"], document["tokens"]["split_recomputed"]


def test_a_conversation_that_went_to_the_other_card_is_computed_again(tmp_path: Path) -> None:
    """The second request's first 600 tokens are the first one's; its card had cached 100."""
    first = prompt("1", 0, "A", {"s": 100, "t": 600})
    second = prompt("2", 100, "B", {"s": 100, "t": 600, "u": 950}, cached=100)
    found = work(tmp_path, first, second)
    assert kinds(found) == (1000 + 400, 500)
    assert found["tokens"]["cache_read"] == 100
    assert found["card_time_ns"] == 22 * SECOND


def test_time_splits_by_tokens(tmp_path: Path) -> None:
    """Of 900 tokens in ten seconds, 500 had been computed."""
    first = prompt("1", 0, "A", {"s": 100, "t": 600})
    second = prompt("2", 100, "B", {"s": 100, "t": 600, "u": 950}, cached=100)
    kept = ledger(tmp_path / "ledger", [first, second])
    books = keep_books(kept, settings("A", "B"), HOUR.from_ns, HOUR.to_ns, LATER)
    own = books.leaves.filter(card="B", state="busy")
    by_kind = dict(own.group_by("kind").agg(pl.col("ns").sum()).iter_rows())
    assert by_kind == {"recomputed": 5_555_555_556, "new": 4_444_444_444, "output": SECOND}


@pytest.mark.parametrize(
    ("what", "again"),
    [
        ({}, 600),
        ({"cached": 600}, 0),
        ({"cached": 700}, 0),
        ({"cached": None}, 0),
        ({"keys": {"x": 600}}, 0),
        ({"keys": {"s": 100, "x": 600}}, 100),
        ({"start": 5}, 0),
        ({"start": 10}, 0),
        ({"start": 10.1}, 600),
        ({"card": "A"}, 600),
        ({"keys": {"t": 5_000}}, 1000),
    ],
)
def test_known_only_where_it_was_computed_before(
    tmp_path: Path, what: dict[str, Any], again: int
) -> None:
    given: dict[str, Any] = {"start": 100, "card": "B", "keys": {"s": 100, "t": 600}, **what}
    first = prompt("1", 0, "A", {"s": 100, "t": 600})
    assert kinds(work(tmp_path, first, prompt("2", **given)))[1] == again


def test_another_pools_cards_compute_for_themselves(tmp_path: Path) -> None:
    engines = [EngineSettings(name="on-B", url="http://x:1", gpus=["B"], slots=2, pool="other")]
    keys = {"t": 600}
    found = work(tmp_path, prompt("1", 0, "A", keys), prompt("2", 50, "B", keys), engines=engines)
    assert kinds(found)[1] == 0


@pytest.mark.parametrize(
    ("how", "again"),
    [({"ttft_ns": None}, 600), ({"ttft_ns": None, "status": "timeout"}, 0),
     ({"status": "client_abort"}, 600)],
)  # fmt: skip
def test_what_never_came_to_its_first_token_was_not_computed(
    tmp_path: Path, how: dict[str, Any], again: int
) -> None:
    first = prompt("1", 0, "A", {"t": 600}, **how)
    assert kinds(work(tmp_path, first, prompt("2", 100, "B", {"t": 600})))[1] == again


@pytest.mark.parametrize(("days", "again"), [(1.99, 600), (2.01, 0)])
def test_after_two_days_it_counts_as_new(tmp_path: Path, days: float, again: int) -> None:
    first = prompt("1", -days * DAY_S, "A", {"t": 600})
    assert kinds(work(tmp_path, first, prompt("2", 0, "B", {"t": 600})))[1] == again


def test_late_news_of_the_day_before_counts(tmp_path: Path) -> None:
    """A kept day is built again when a telling of the day before arrives."""
    day = Period("day", START - 8 * 3_600 * SECOND, START + 16 * 3_600 * SECOND)
    kept = ledger(tmp_path / "ledger", [prompt("2", 0, "B", {"t": 600})])
    made = settings("A", "B")
    assert kinds(month(kept, made, day, LATER)) == (1000, 0)
    with Store(tmp_path / "ledger") as store:
        store.append([prompt("1", -DAY_S, "A", {"t": 600})])
    assert kinds(month(kept, made, day, LATER)) == (400, 600)
