"""What a sender may write, and what is refused by name."""

import json
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.events import any_event, attempt_json, body, read, sample_json

from collector.decode import Malformed, TooMany
from collector.events import Attempt, Event


@given(st.lists(any_event(), max_size=5), st.booleans())
def test_what_is_written_is_read(events: list[Event], ndjson: bool) -> None:
    parts = [msgspec.json.encode(event) for event in events]
    text = b"\n".join(parts) if ndjson else b"[" + b",".join(parts) + b"]"
    assert read(text, ndjson=ndjson) == (list(enumerate(events)), [])


@given(any_event())
def test_both_readers_agree(event: Event) -> None:
    """json.dumps escapes what is not ASCII, which takes the careful reader."""
    plain = msgspec.json.encode(event)
    escaped = json.dumps([json.loads(plain), {"a": "\\"}]).encode()
    assert read(escaped)[0] == read(b"[" + plain + b"]")[0]


def test_the_interfaces_example_is_read_in_full() -> None:
    (told, refusals) = read(body([attempt_json()]))
    assert refusals == []
    (index, event) = told[0]
    assert index == 0
    assert isinstance(event, Attempt)
    assert event.received_at.isoformat() == "2026-10-03T17:02:11.120345+00:00"
    assert event.cache_write_tokens is None
    assert event.route is not None
    assert event.route.candidates[0].hit_tokens == 19968


def test_one_object_is_a_batch_of_one() -> None:
    assert len(read(json.dumps(sample_json()).encode())[0]) == 1


REFUSED: list[tuple[dict[str, Any], str]] = [
    (attempt_json(received_at="2026-10-03T17:02:11"), "received_at"),  # naive
    (attempt_json(received_at="1999-12-31T23:59:59Z"), "received_at"),
    (attempt_json(received_at="2100-01-01T00:00:00Z"), "received_at"),
    (attempt_json(received_at=1760000000), "received_at"),
    (attempt_json(input_tokens=-1), "input_tokens"),
    (attempt_json(input_tokens=True), "input_tokens"),
    (attempt_json(input_tokens=1.5), "input_tokens"),
    (attempt_json(input_tokens="5"), "input_tokens"),
    (attempt_json(input_tokens=2**63), "input_tokens"),
    (attempt_json(input_tokens=float("nan")), "input_tokens"),
    (attempt_json(input_tokens=float("inf")), "input_tokens"),
    (attempt_json(duration_ns=None), "duration_ns"),
    (attempt_json(event_id=""), "event_id"),
    (attempt_json(event_id="x" * 257), "event_id"),
    (attempt_json(source=""), "source"),
    (attempt_json(status="done"), "status"),
    (attempt_json(kind="invoice"), "kind"),
    (attempt_json(prompt="tell me"), "prompt"),
    (attempt_json(project="a\ud800"), "project"),
    (attempt_json(project="a\0b"), "project"),
    (attempt_json(source="a\0b"), "source"),
    (attempt_json(event_id="a\0b"), "event_id"),
    (attempt_json(gpus=["GPU-0", "\0"]), "gpus[1]"),
    (attempt_json(raw_usage={"a\0": 1}), "raw_usage"),
    (attempt_json(duration_ns=30 * 86_400 * 10**9 + 1), "duration_ns"),
    (attempt_json(dispatch_ns=30 * 86_400 * 10**9 + 1), "dispatch_ns"),
    (attempt_json(wait_ns=30 * 86_400 * 10**9 + 1), "wait_ns"),
    (attempt_json(ttft_ns=30 * 86_400 * 10**9 + 1), "ttft_ns"),
    (attempt_json(input_tokens=2**40 + 1), "input_tokens"),
    (attempt_json(output_tokens=2**40 + 1), "output_tokens"),
    (attempt_json(draft_accepted_tokens=2**40 + 1), "draft_accepted_tokens"),
    (attempt_json(prefix=["a"], prefix_tokens=[2**40 + 1]), "prefix_tokens[0]"),
    (attempt_json(prefix_tokens=[1]), "prefix_tokens"),
    (attempt_json(prefix=["a"] * 1025, prefix_tokens=[1] * 1025), "prefix"),
    (attempt_json(raw_usage={"a": {"b": "text"}}), "raw_usage.a.b"),
    (attempt_json(raw_usage={"a": [1, "text"]}), "raw_usage.a[1]"),
    (attempt_json(raw_usage={"a": 2**63}), "raw_usage.a"),
    (attempt_json(raw_usage={"k" * 65: 1}), "raw_usage"),
    (attempt_json(route={"policy": "p", "chosen": "c", "why": 1}), "route"),
    (sample_json(util_pct=101), "util_pct"),
    (sample_json(temp_c=2**63), "temp_c"),
    (sample_json(scope="room"), "scope"),
    (sample_json(at="yesterday"), "at"),
    ({**sample_json(), "kind": "host", "what": "boot"}, "device"),
    ({k: v for k, v in sample_json().items() if k != "device"}, "device"),
    ({k: v for k, v in sample_json().items() if k != "kind"}, "kind"),
]


@pytest.mark.parametrize("ndjson", [False, True])
@pytest.mark.parametrize(("item", "field"), REFUSED)
def test_a_bad_event_is_refused_by_field_and_its_neighbours_kept(
    item: dict[str, Any], field: str, ndjson: bool
) -> None:
    lines = [json.dumps(each) for each in (sample_json(1), item, sample_json(2))]
    text = "\n".join(lines) if ndjson else f"[{','.join(lines)}]"
    events, (refusal,) = read(text.encode(), ndjson=ndjson)
    assert [index for index, _ in events] == [0, 2]
    assert refusal.index == 1
    assert refusal.field == field
    assert refusal.error
    if item.get("event_id", "").isprintable() and 0 < len(item.get("event_id", "")) <= 256:
        assert refusal.event_id == item["event_id"]


@pytest.mark.parametrize("spacing", ["", " ", "\n", "\t  "])
def test_a_key_that_stands_twice_is_refused(spacing: str) -> None:
    good = json.dumps(sample_json(1))
    twice = good[:-1] + f', "power_mw"{spacing}: 7}}'
    inside = json.dumps(attempt_json(raw_usage={})).replace("{}", '{"a": 1, "a": 2}')
    events, refusals = read(f"[{good},{twice},{inside}]".encode())
    assert [index for index, _ in events] == [0]
    assert [(r.index, r.field) for r in refusals] == [(1, "power_mw"), (2, "raw_usage")]
    assert [r.event_id for r in refusals] == ["s-1", "01J0000000000"]
    assert [r.kind for r in refusals] == ["sample", "attempt"]


def test_colons_and_quotes_inside_text_are_no_keys() -> None:
    for name in (":", ":a", " :a", 'a":b', "a: b", 'say "x": 1', "\\", "é:"):
        (told, refusals) = read(json.dumps([sample_json(device=name)]).encode())
        assert refusals == []
        assert told[0][1].device == name  # type: ignore[attr-defined]


ODD = ["1.0", "1e3", "-0", "9223372036854775807", "9223372036854775808", "01", "true", "NaN", '"1"']


@pytest.mark.parametrize("number", ODD)
def test_an_odd_number_is_judged_alike_whether_or_not_a_default_is_told(number: str) -> None:
    """A default that is told takes the reader over plain objects."""
    short = json.dumps(sample_json(1)).replace('"power_mw": 1', f'"power_mw": {number}')
    outcomes = []
    for text in (short, short[:-1] + ', "revision": 0}'):
        try:
            outcomes.append(read(f"[{text}]".encode()))
        except Malformed:
            outcomes.append(None)  # type: ignore[arg-type]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("default", ['"revision": 0', '"boot_id": null', '"temp_c":null'])
@pytest.mark.parametrize("space", ["", " ", "\r"])
def test_a_default_told_first_or_last_hides_no_second_telling(default: str, space: str) -> None:
    name = default.partition(":")[0]
    for pair in (f"{name}{space}:5, {default}", f"{default}, {name}{space}: 5"):
        (refusal,) = read(f"[{json.dumps(sample_json(1))[:-1]}, {pair}}}]".encode())[1]
        assert refusal.field == name.strip('"')


def test_a_line_is_one_event_and_an_event_one_line() -> None:
    one = json.dumps(sample_json(1))
    for text in (one + one, one.replace(", ", ",\n", 1)):
        events, refusals = read(text.encode(), ndjson=True)
        assert not events
        assert refusals


def test_no_space_before_a_colon_hides_a_key_that_stands_twice() -> None:
    """One key more and one spaced key less must not add up to the right number."""
    good = json.dumps(sample_json(1))
    tricky = good.replace('"rig":', '"rig"  :', 1)[:-1] + ', "power_mw": 7}'
    (refusal,) = read(f"[{tricky}]".encode())[1]
    assert refusal.field == "power_mw"
    colon = good[:-1] + ', "device": ":x"}'
    (refusal,) = read(f"[{colon}]".encode())[1]
    assert refusal.field == "device"


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def test_nesting_is_bounded_in_both_readers() -> None:
    for trick in ({}, {"project": "\\"}):
        assert read(body([attempt_json(raw_usage=deep(32), **trick)]))[1] == []
        (refusal,) = read(body([attempt_json(raw_usage=deep(33), **trick)]))[1]
        assert refusal.field.startswith("raw_usage")
        (refusal,) = read(body([attempt_json(raw_usage=deep(300), **trick)]))[1]
        assert refusal.field.startswith("raw_usage")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[1,]",
        b"3",
        b'"x"',
        b"null",
        b"NaN",
        b"\xff",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[" + b"1" * 5000 + b"]",
        b'{"a":1,"a":2}',
    ],
)
def test_what_is_no_json_is_refused_whole(text: bytes) -> None:
    with pytest.raises(Malformed):
        read(text)


def test_a_broken_line_costs_only_itself() -> None:
    text = json.dumps(sample_json(1)).encode() + b"\n{broken\n\n3\n\xff\n" + b"[" * 5000
    events, refusals = read(text, ndjson=True)
    assert len(events) == 1
    assert [refusal.index for refusal in refusals] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("text", "ndjson"),
    [
        (b"1\n" * 5_000_000, True),
        (b"[" + b"1," * 50_000 + b"1]", False),
        (b"[" + b"{}," * 50_000 + b"{}]", False),
        (b"\n".join([json.dumps(sample_json(1)).encode()] * 50_001), True),
        (b"[" + b",".join([json.dumps(sample_json(1)).encode()] * 50_001) + b"]", False),
    ],
)
def test_too_many_events_are_refused_as_a_whole(text: bytes, ndjson: bool) -> None:
    with pytest.raises(TooMany, match="more than 50000 events"):
        read(text, ndjson=ndjson)


def test_lines_without_number_take_no_memory() -> None:
    text = b"1\n" * 5_000_000
    tracemalloc.start()
    try:
        with pytest.raises(TooMany):
            read(text, ndjson=True)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_break_the_reader(text: bytes, ndjson: bool) -> None:
    try:
        events, refusals = read(text, ndjson=ndjson)
    except Malformed:
        return
    assert all(refusal.error for refusal in refusals)
    assert not events


@given(st.recursive(st.none() | st.floats() | st.text(), lambda s: st.dictionaries(st.text(), s)))
def test_any_value_in_place_of_a_usage_object_is_kept_or_named(value: Any) -> None:
    events, refusals = read(body([attempt_json(raw_usage=value)]))
    assert len(events) + len(refusals) == 1
    assert all(refusal.field.startswith("raw_usage") for refusal in refusals)
