"""Events as columns, and the dictionary that explains them."""

import json
from pathlib import Path

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.events import any_event, attempt_json, sample_json

from collector.clock import to_ns
from collector.columns import TIME_FIELD, columns, dictionary, schema, time_column, to_arrow
from collector.events import KIND_OF, KINDS, Attempt, Event, Sample

DICTIONARY = Path(__file__).parents[1] / "data/README.md"


def test_an_attempt_becomes_a_row_with_its_units() -> None:
    event = msgspec.convert(attempt_json(), Attempt)
    (row,) = to_arrow("attempt", [event]).to_pylist()
    assert row["received_at_ns"] == 1791046931_120345000
    assert row["duration_ns"] == 4200000000
    assert row["cache_write_tokens"] is None
    assert row["gpus"] == ["GPU-0"]
    assert row["prefix_tokens"] == [2048, 19968]
    assert json.loads(row["raw_usage"]) == attempt_json()["raw_usage"]
    assert json.loads(row["route"]) == attempt_json()["route"]
    assert "kind" not in row


def test_unknown_stays_null() -> None:
    event = msgspec.convert(sample_json(power_mw=None), Sample)
    (row,) = to_arrow("sample", [event]).to_pylist()
    assert row["power_mw"] is None
    assert row["temp_c"] is None


@given(st.lists(any_event(), min_size=1, max_size=6))
def test_every_field_of_every_event_arrives(events: list[Event]) -> None:
    for kind in KINDS:
        some = [event for event in events if KIND_OF[type(event)] == kind]
        batch = to_arrow(kind, some)
        batch.validate(full=True)
        for event, row in zip(some, batch.to_pylist(), strict=True):
            for column in columns(kind):
                value, stored = getattr(event, column.field), row[column.name]
                if column.form == "instant":
                    assert stored == to_ns(value)
                elif column.form == "json" and value is not None:
                    assert json.loads(stored) == json.loads(msgspec.json.encode(value))
                else:
                    assert stored == value


@pytest.mark.parametrize("kind", KINDS)
def test_units_stand_last_in_names(kind: str) -> None:
    """A column that bears a unit shows it in its name; instants are ns."""
    endings = {"ns": "_ns", "ns since 1970 UTC": "_ns", "mW": "_mw", "B": "_b", "MHz": "_mhz"}
    endings |= {"%": "_pct", "°C": "_c", "tokens": "_tokens"}
    for column in columns(kind):
        if column.unit in endings:
            assert column.name.endswith(endings[column.unit])
    assert schema(kind).field(time_column(kind)).type == pa.int64()
    assert not schema(kind).field(time_column(kind)).nullable
    assert TIME_FIELD[kind] in KINDS[kind].__struct_fields__


@pytest.mark.parametrize("kind", KINDS)
def test_the_dictionary_has_each_column(kind: str) -> None:
    section = (
        DICTIONARY.read_text(encoding="utf-8").partition(f"## {kind}\n")[2].partition("\n## ")[0]
    )
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| `")]
    assert [row[0].strip("| `") for row in rows] == schema(kind).names
    nullable = [field.nullable for field in schema(kind)]
    assert [row[3] for row in rows] == ["unknown" if null else "never" for null in nullable]
    assert all(row[4].strip("| ") for row in rows), "each column has a meaning"


def test_the_dictionary_is_what_the_program_prints() -> None:
    assert DICTIONARY.read_text(encoding="utf-8") == dictionary(), (
        "run: python -m collector.columns > data/README.md"
    )
