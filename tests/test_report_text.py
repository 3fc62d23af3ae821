"""The report as text: bounds are called bounds, parts meet their sum, emptiness is silent."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_markdown import HOUR, NANO, month

from analytics.render.parts import Note, Row, as_lines
from analytics.render.report import as_text
from analytics.render.rounding import in_units


def lines(told: dict[str, Any]) -> list[str]:
    """The text's lines with single spaces."""
    return [" ".join(line.split()) for line in as_text(told).splitlines()]


def section(told: dict[str, Any], heading: str) -> list[str]:
    """The rows below a heading."""
    text = lines(told)
    start = next(index for index, line in enumerate(text) if line.startswith(heading)) + 1
    return text[start : [*text[start:], ""].index("") + start]


@given(st.lists(st.integers(-(10**13), 10**13), max_size=9), st.integers(1, 10**8))
def test_parts_in_units_add_up_and_are_less_than_one_unit_off(
    amounts: list[int], unit: int
) -> None:
    parts = in_units(amounts, unit)
    assert abs(2 * (sum(parts) * unit - sum(amounts))) <= unit
    assert all(abs(p * unit - a) < unit for p, a in zip(parts, amounts, strict=True))


def test_a_cost_that_is_only_a_bound_is_never_called_everything() -> None:
    reasons = ["2.0 h of card time went without an energy reading"]
    told = lines(month(at_least=reasons, marginal_at_least=True))
    assert told[1] == "at least 4.0000 USD per million output tokens"
    assert "everything" not in " ".join(told)
    assert "total, at least 10.00" in told
    assert "full, at least (all cost) 4.0000" in told
    assert "marginal (electricity beyond idle) unknown" in told


def test_what_nobody_has_priced_is_unknown_and_not_zero() -> None:
    nothing = {"output": 0}
    told = lines(
        month(
            at_least=["no hardware price is set", "no electricity price is set"],
            marginal_at_least=True,
            cost_nano={"total": 0, "capital": 0, "energy": 0, "other": 0},
            cost_per_mtok={"full": nothing, "active": nothing, "marginal": {"output": None}},
        )
    )
    assert told[1] == (
        "What a million output tokens cost is unknown:"
        " no hardware price is set; no electricity price is set."
    )
    assert {"hardware unknown", "electricity unknown", "full (all cost) unknown"} <= set(told)


def test_a_part_that_is_known_to_be_nothing_is_zero_beside_one_that_is_not_known() -> None:
    cost = {"total": 9 * NANO, "capital": 0, "energy": 9 * NANO, "other": 0}
    reasons = ["2.0 h of card time went without an energy reading"]
    told = lines(month(at_least=reasons, parts_at_least=["energy"], cost_nano=cost))
    assert {"hardware 0.00", "electricity, at least 9.00", "total, at least 9.00"} <= set(told)


def test_instants_are_those_of_the_rigs_clocks() -> None:
    """Seven hours behind UTC in October: the peak was at nine, and the books were closed on the
    day before."""
    angeles = {**month()["period"], "time_zone": "America/Los_Angeles"}
    peak = {"tokens_per_second": 100.0, "source": "measured", "from": "2026-10-01T16:29:00+00:00"}
    told = lines(
        month(
            period=angeles,
            layers={"hours": None, "occupancy": None, "throughput": None, "peak": {"A": peak}},
            closed={"at": "2026-11-05T03:00:00+00:00"},
            restated=[{"number": 1, "at": "2026-11-06T03:00:00+00:00", "figures": [], "why": []}],
        )
    )
    assert told[0].endswith("America/Los_Angeles · closed 2026-11-04")
    assert "Restatement 1, 2026-11-05" in told
    assert "peak of A 100.0 tok/s measured, 2026-10-01 09:29" in told


def test_printed_parts_meet_the_printed_total() -> None:
    third = NANO // 3
    told = month(
        cost_nano={"total": 2 * third, "capital": third, "energy": third, "other": 0},
        states_ns={"busy": HOUR // 3, "idle": HOUR // 3, "off": HOUR // 3 + 1},
        states_cost_nano={"busy": third, "idle": third - 5, "off": 0, "unassigned": 5},
        capacity_ns=HOUR,
    )
    assert section(told, "Cost in")[:3] == ["hardware 0.34", "electricity 0.33", "total 0.67"]
    assert section(told, "Card-hours") == [
        "busy 0.33 h 0.34",
        "idle 0.33 h 0.33",
        "off 0.34 h 0.00",
        "no card in service 0.00",
        "= 1.00 h 0.67",
    ]


def test_projects_and_what_no_request_carries_meet_the_totals() -> None:
    projects = [
        {
            "name": f"p{n}",
            "groups": 1,
            "requests": 1,
            "busy_cost_nano": NANO // 4,
            "full_cost_nano": NANO // 2,
        }
        for n in range(12)
    ]
    told = month(
        groups={"project": projects},
        unattributed_cost_nano=1 * NANO,
        unallocated_cost_nano=4 * NANO,
    )
    rows = section(told, "By project")
    assert rows[-4:] == [
        "2 more 2 requests 0.50 1.00",
        "of no request 1.00 4.00",
        "= 4.00 10.00",
        "--format json tells the dearest 1,000 one by one",
    ]
    money = [[float(part) for part in re.findall(r"\d+\.\d\d", row)] for row in rows[:-1]]
    assert [round(sum(column), 2) for column in zip(*money[:-1], strict=True)] == money[-1]


def test_sections_without_anything_to_say_are_left_out() -> None:
    told = month(
        cost_nano={"total": 0, "capital": 0, "energy": 0, "other": 0},
        capacity_ns=0,
        states_ns={"busy": 0, "idle": 0},
        states_cost_nano={"busy": 0, "idle": 0, "unassigned": 0},
        tokens={"requests": 0, "attempts": 0, "input": 0, "cache_read": 0, "output": 0},
        cost_per_mtok={n: {"output": None} for n in ("full", "active", "marginal")},
        waterfall_nano_per_mtok=None,
        layers={"hours": None, "occupancy": None, "throughput": None, "peak": {}},
        groups={"project": []},
    )
    headings = [block.splitlines()[0] for block in as_text(told).split("\n\n")]
    assert headings == ["desk · 2026-10 · UTC", "Cost in USD", "To doubt"]


def test_another_gap_is_told_where_it_would_matter() -> None:
    half = {"gap_ns": 450 * NANO, "headroom_ns": 0, "idle_ns": 3 * HOUR, "hours": 0.25}
    twice = {"gap_ns": 1800 * NANO, "headroom_ns": HOUR, "idle_ns": 2 * HOUR, "hours": 0.5}
    gaps = {"half": half | {"occupancy": 1.0}, "twice": twice | {"occupancy": None}}
    assert section(month(active_gap=gaps), "With another active gap") == [
        "7.5 min 25.0 % 100.0 % 0.00 h 3.00 h",
        "30 min 50.0 % unknown 1.00 h 2.00 h",
    ]


@pytest.mark.parametrize("unpriced", [0, 7])
def test_a_bill_that_nobody_can_write_is_unknown(unpriced: int) -> None:
    why = [{"why": "output tokens are not known", "requests": unpriced}] if unpriced else []
    entry = {"sheet": "an API", "headline_nano": None, "break_even": None, "unpriced": why}
    rows = section(month(compare=[entry]), "The same requests")
    more = ["7 requests could not be priced output tokens are not known"] if unpriced else []
    assert rows == ["an API unknown", *more]


def test_a_price_over_tokens_that_not_all_were_told_is_at_most() -> None:
    told = month()
    told["quality"]["missing_output"] = 2
    assert lines(told)[1] == (
        "at most 4.0000 USD per million output tokens (2 requests told no output)"
    )
    told["at_least"] = ["something is unknown"]
    assert "as far as cost and tokens are known (2 requests told no output)" in lines(told)[1]


def test_what_no_engine_told_of_its_cache_is_no_zero() -> None:
    told = month()
    told["tokens"]["cache_read"] = None
    assert "their cached part unknown" in lines(told)[2]
    assert " of them cached" not in as_text(told)


def test_what_some_requests_did_not_tell_of_the_cache_is_said() -> None:
    told = month()
    told["tokens"]["cache_read"] = 0
    told["quality"]["missing_cached"] = 1
    assert lines(told)[2].endswith("9,000 input tokens, 0 of them cached, unknown for 1 request")


def test_requests_without_a_project_are_called_so() -> None:
    told = month()
    told["groups"]["project"][0]["name"] = "(none)"
    assert any(row.startswith("no project told") for row in section(told, "By project"))


def test_figures_stand_in_columns_however_long_their_labels_are() -> None:
    long = "a price sheet with a name of forty characters"
    rows = [Row("energy", ("1.00", "2.00")), Row(long, ("13.00", "4.00")), Note("a remark")]
    first, second, note = as_lines([rows]).splitlines()
    assert second.startswith(f"  {long} ")
    assert [len(line) for line in (first, second)] == [len(second)] * 2
    assert first.index("1.00") == second.index("3.00")
    assert note == "  a remark"
