"""The contract holds for events made in this program too."""

import datetime as dt
from typing import Any

import msgspec
import pytest
from rig.events import attempt_json, host

from collector.events import DEPTH_MAX, Attempt, Host, refuse_text
from collector.identity import mark


def attempt(**changes: Any) -> Attempt:
    return msgspec.convert(attempt_json(**changes), Attempt)


def test_events_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        host(1).rig = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("instant", "kept"),
    [
        (dt.datetime(2000, 1, 1, tzinfo=dt.UTC), True),
        (dt.datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC), False),
        (dt.datetime(2099, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC), True),
        (dt.datetime(2100, 1, 1, tzinfo=dt.UTC), False),
        # Midnight in Berlin is still the year before in UTC.
        (dt.datetime(2000, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1))), False),
    ],
)
def test_instants_are_bounded(instant: dt.datetime, kept: bool) -> None:
    made = {"source": "s", "event_id": "e", "rig": "r", "what": "boot", "at": instant}
    if kept:
        assert Host(**made).at == instant
        return
    with pytest.raises(ValueError, match="`at` lies outside"):
        Host(**made)


def test_a_naive_instant_is_refused() -> None:
    naive = dt.datetime(2026, 1, 1)  # noqa: DTZ001 - that is the point
    with pytest.raises(ValueError, match="`at` has no time zone"):
        Host(source="s", event_id="e", rig="r", what="boot", at=naive)


@pytest.mark.parametrize(
    ("usage", "where"),
    [
        ("text", "raw_usage"),
        ({"a": "text"}, "raw_usage.a"),
        ({"a": [{"b": "text"}]}, r"raw_usage.a\[0\].b"),
        ({"a": float("inf")}, "raw_usage.a"),
        ({"a": -(2**63)}, "raw_usage.a"),
        ({"k" * 65: 1}, "raw_usage"),
    ],
)
def test_usage_holds_numbers_only(usage: object, where: str) -> None:
    with pytest.raises(ValueError, match=f"`{where}`"):
        refuse_text(usage, "raw_usage")


def test_usage_may_hold_numbers_at_any_admitted_depth() -> None:
    value: object = 2**63 - 1
    for _ in range(DEPTH_MAX):
        value = [value]
    refuse_text(value, "raw_usage")
    with pytest.raises(ValueError, match="deeper"):
        refuse_text([value], "raw_usage")


def test_each_prefix_needs_its_tokens() -> None:
    with pytest.raises(ValueError, match="prefix_tokens"):
        attempt(prefix=["a", "b"], prefix_tokens=[1])
    assert attempt(prefix=[], prefix_tokens=[]).prefix == []


def test_the_same_event_has_the_same_key_and_content_in_any_zone() -> None:
    utc = attempt(received_at="2026-10-03T17:02:11Z")
    berlin = attempt(received_at="2026-10-03T19:02:11+02:00")
    other = attempt(received_at="2026-10-03T19:02:11Z")
    assert mark(utc) == mark(berlin)
    assert mark(utc).key == mark(other).key
    assert mark(utc).digest != mark(other).digest


def test_source_and_id_are_told_apart() -> None:
    assert (
        mark(attempt(source="a", event_id="bc")).key != mark(attempt(source="ab", event_id="c")).key
    )


def test_the_order_of_usage_keys_is_no_content() -> None:
    one, two = attempt(raw_usage={"a": 1, "b": 2}), attempt(raw_usage={"b": 2, "a": 1})
    assert mark(one).digest == mark(two).digest
