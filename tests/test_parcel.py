"""Parcels hold what was told, event by event, however it came in portions."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.events import any_event, body, host, read, sample_json, unpacked

from collector.events import Event
from collector.identity import mark
from collector.parcel import PORTION, Packer, joined, pack

MANY = 2 * PORTION + 1
LAST = MANY - 1
several = st.lists(any_event(), max_size=4)


@given(several)
def test_a_parcel_holds_each_event_and_its_mark(events: list[Event]) -> None:
    packer = Packer()
    for event in events:
        packer.add([event])
    for parcel in (pack(events), packer.parcel()):
        assert unpacked(parcel) == events
        assert list(parcel.marks) == [mark(event) for event in events]
        identities = [parcel.identity(place) for place in range(len(parcel))]
        assert identities == [(event.source, event.event_id) for event in events]


@given(st.lists(several, min_size=1, max_size=4))
def test_joined_parcels_are_as_if_packed_together(parts: list[list[Event]]) -> None:
    events = [event for some in parts for event in some]
    one = joined([pack(some) for some in parts])
    assert unpacked(one) == events
    assert list(one.marks) == [mark(event) for event in events]


@given(several, st.data())
def test_rows_are_those_of_the_places_asked_for(events: list[Event], data: st.DataObject) -> None:
    places = [n for n in range(len(events)) if data.draw(st.booleans())]
    rows = pack(events).rows(places)
    found = {(kind, name) for kind, some in rows.items() for name in some["event_id"].to_pylist()}
    assert found == {(mark(events[n]).kind, events[n].event_id) for n in places}
    assert sum(some.num_rows for some in rows.values()) == len(places)
    assert all(some.num_rows for some in rows.values())


def test_an_event_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(ValueError, match=r"."):
        pack([host(1), host(2, duration_ns=2**70)])


@pytest.mark.parametrize("ndjson", [False, True])
def test_many_events_are_read_in_their_order(ndjson: bool) -> None:
    short = [sample_json(n) for n in range(MANY)]
    text = "\n".join(map(json.dumps, short)).encode() if ndjson else body(short)
    events, refused = read(text, ndjson=ndjson)
    assert refused == []
    assert [(index, event.event_id) for index, event in events] == [
        (n, f"s-{n}") for n in range(MANY)
    ]


@pytest.mark.parametrize("index", [0, PORTION - 1, PORTION, LAST])
@pytest.mark.parametrize("ndjson", [False, True])
def test_a_flaw_is_found_in_every_portion(index: int, ndjson: bool) -> None:
    good = json.dumps(sample_json(index))
    flaws = {
        good[:-1] + ', "power_mw": 7}': "power_mw",
        good[:-1] + ', "util_pct": 101}': "util_pct",
        good[:-1] + ', "unheard": 1}': "unheard",
    }
    for flawed, field in flaws.items():
        told = [json.dumps(sample_json(n)) for n in range(MANY)]
        told[index] = flawed
        text = "\n".join(told) if ndjson else f"[{','.join(told)}]"
        events, (refusal,) = read(text.encode(), ndjson=ndjson)
        assert (refusal.index, refusal.field) == (index, field)
        assert [at for at, _ in events] == [n for n in range(MANY) if n != index]
