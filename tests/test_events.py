"""The contract holds for events made in this program too."""

import datetime as dt
import hashlib
import json
from typing import Any

import msgspec
import pytest
from rig.events import attempt_json, host

from collector.events import DEPTH_MAX, AnyEvent, Attempt, Engine, Host, refuse_text
from collector.identity import mark

NEW_YEAR = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


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


@pytest.mark.parametrize("field", ["source", "event_id"])
def test_no_identity_holds_its_own_separator(field: str) -> None:
    """Else ("a", "b NUL c") and ("a NUL b", "c") would be one event."""
    made = {"source": "s", "event_id": "e", "rig": "r", "what": "boot", "at": NEW_YEAR}
    with pytest.raises(ValueError, match=f"`{field}` holds a NUL character"):
        Host(**made | {field: "a\0b"})


@pytest.mark.parametrize(
    ("field", "most"),
    [
        ("duration_ns", 30 * 86_400 * 10**9),
        ("dispatch_ns", 30 * 86_400 * 10**9),
        ("wait_ns", 30 * 86_400 * 10**9),
        ("ttft_ns", 30 * 86_400 * 10**9),
        ("input_tokens", 2**40),
        ("cache_read_tokens", 2**40),
        ("cache_write_tokens", 2**40),
        ("output_tokens", 2**40),
        ("reasoning_tokens", 2**40),
        ("draft_tokens", 2**40),
        ("draft_accepted_tokens", 2**40),
    ],
)
def test_figures_are_bounded(field: str, most: int) -> None:
    assert getattr(attempt(**{field: most}), field) == most
    with pytest.raises(msgspec.ValidationError, match=field):
        attempt(**{field: most + 1})


def test_a_host_is_away_at_most_ten_years_either_way() -> None:
    told = {"kind": "host", "source": "s", "event_id": "e", "rig": "r", "what": "clock_step"}
    told["at"] = "2026-10-03T17:02:11Z"
    ten_years_ns = 3650 * 86_400 * 10**9
    for sign in (1, -1):
        msgspec.convert(told | {"duration_ns": sign * ten_years_ns}, Host)
        with pytest.raises(msgspec.ValidationError, match="duration_ns"):
            msgspec.convert(told | {"duration_ns": sign * (ten_years_ns + 1)}, Host)


def test_an_engine_without_a_slot_is_none() -> None:
    told = {"kind": "engine", "source": "s", "event_id": "e", "rig": "r", "engine": "card0"}
    told |= {"state": "up", "at": "2026-10-03T17:02:11Z"}
    assert msgspec.convert(told | {"slots": 1}, Engine).slots == 1
    with pytest.raises(msgspec.ValidationError, match="slots"):
        msgspec.convert(told | {"slots": 0}, Engine)


def test_source_and_id_are_told_apart() -> None:
    assert (
        mark(attempt(source="a", event_id="bc")).key != mark(attempt(source="ab", event_id="c")).key
    )


def test_the_order_of_usage_keys_is_no_content() -> None:
    one, two = attempt(raw_usage={"a": 1, "b": 2}), attempt(raw_usage={"b": 2, "a": 1})
    assert mark(one).digest == mark(two).digest


def minimal(**fields: Any) -> Attempt:
    """An attempt of which only what is required, and what is given, is told."""
    told = {"source": "tap", "event_id": "1", "rig": "desk", "engine": "card0", "duration_ns": 1}
    told |= {"received_at": "2026-10-03T17:02:11Z", "status": "ok"}
    return msgspec.convert(told | fields, Attempt, strict=True)


def test_the_digest_stays_what_it_is_for_ever() -> None:
    """Digests are kept for months; a changed one would make every retold event a conflict."""
    event = minimal(
        source="tap",
        event_id="01J",
        revision=2,
        received_at="2026-10-03T19:02:11.5+02:00",
        raw_usage={"b": 1, "a": {"d": None, "c": 2.5}},
        prefix=["k1:9f"],
        prefix_tokens=[2048],
        route={"policy": "p", "chosen": "card0", "candidates": [{"engine": "card0"}]},
    )
    text = (
        b'{"kind":"attempt","source":"tap","event_id":"01J","revision":2,"rig":"desk",'
        b'"engine":"card0","received_at":"2026-10-03T17:02:11.500000Z","duration_ns":1,'
        b'"status":"ok","raw_usage":{"a":{"c":2.5,"d":null},"b":1},"prefix":["k1:9f"],'
        b'"prefix_tokens":[2048],"route":{"policy":"p","chosen":"card0",'
        b'"candidates":[{"engine":"card0"}]}}'
    )
    assert mark(event).digest == hashlib.blake2b(text, digest_size=16).digest()
    assert mark(event).key == b"01J" + hashlib.blake2b(b"tap\x0001J", digest_size=12).digest()


def test_ids_that_begin_alike_are_told_apart_and_lie_together() -> None:
    begin = "019a7d1e-5c3b"
    keys = [mark(minimal(event_id=f"{begin}-{end}")).key for end in "ab"]
    keys += [mark(minimal(source=source, event_id=begin)).key for source in "cd"]
    assert len(set(keys)) == 4
    assert {told[:12] for told in keys} == {begin[:12].encode()}


def test_a_field_told_at_its_default_is_no_other_content() -> None:
    told = minimal(revision=0, attempt_no=1, operation="chat", project=None, gpus=[], prefix=[])
    assert mark(told) == mark(minimal())
    text = msgspec.json.encode({"kind": "attempt", **json.loads(msgspec.json.encode(minimal()))})
    explicit = text[:-1] + b',"operation":"chat","usage_source":"missing","revision":0,"gpus":[]}'
    assert mark(msgspec.json.decode(explicit, type=AnyEvent)) == mark(minimal())
