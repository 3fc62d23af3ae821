"""The utilization page: every figure is the month's own, its pictures draw what they are given."""

from pathlib import Path
from typing import Any

import pytest
from rig import month_page as rig
from rig.page import copied
from streamlit.testing.v1 import AppTest

from dashboard import calendars, usage_charts, usage_sentences, words
from dashboard.palette import DARK, LIGHT, STATES, Palette, between, ink_on

pytestmark = pytest.mark.usefixtures("forget")

HOUR = 3600 * 10**9
THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
NAMES = {"GPU-a": "card0", "GPU-b": "card1"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rig.built(rig.write(tmp_path_factory.mktemp("built")), "utilization")


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    return copied(built, tmp_path)


@pytest.fixture
def at(config: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    return rig.run(config, "utilization", monkeypatch)


def test_every_figure_is_the_months_own(at: AppTest, config: Path) -> None:
    month = rig.document(config)
    layers = month["layers"]
    told = {metric.label: metric.value for metric in at.metric}
    assert told == {
        "of the cards busy": words.share(layers["chain"][1]["left"]),
        "Hours": words.share(layers["hours"]),
        "Occupancy": words.share(layers["occupancy"]),
        "Throughput": words.share(layers["throughput"]),
    }
    assert all(len(metric.help) > 40 for metric in at.metric)
    shown = at.dataframe[0].value
    cards = month["groups"]["card"]
    assert shown["card"].to_list() == ["on-A", "on-B"]
    for state in STATES:
        if month["states_ns"][state]:
            hours = [card["states_ns"][state] / HOUR for card in cards]
            assert shown[f"{state}_h"].to_list() == hours, state
    assert shown["cost"].to_list() == [card["cost_nano"] / 1e9 for card in cards]
    for layer in ("hours", "occupancy", "throughput"):
        assert shown[layer].to_list() == [card["layers"][layer] for card in cards]
    gaps = at.table[0].value
    half, twice = (month["active_gap"][gap] for gap in ("half", "twice"))
    assert gaps["headroom"].to_list() == [
        words.hours(ns)
        for ns in (half["headroom_ns"], month["states_ns"]["headroom"], twice["headroom_ns"])
    ]
    assert gaps["gap"].to_list() == ["7.5 min, half", "15 min, as set", "30 min, twice"]


def test_the_answer_by_hand(at: AppTest) -> None:
    # October's 744 hours of two cards; A works 25 minutes, B ten.
    told = rig.text(at)
    assert "Of 1,488 h of card time, 0.58 h were busy" in told
    # A and B work side by side for ten minutes: one of A's, and up to three of B's.
    assert "had requests for 25 min, at most **4 at once**" in told
    assert "how many slots it has nobody told" in told
    # 8:00 to 9:00 UTC on the only Monday with anybody: 35 card minutes of 120 witnessed.
    assert "Busiest: Mon 08:00 to 09:00, **29 %** of the cards' time. " in told


def test_every_chart_has_words_and_the_table_a_file(at: AppTest) -> None:
    charts = at.get("vega_lite_chart")
    assert [bool(chart.proto.alt) for chart in charts] == [True] * 4
    (button,) = at.get("download_button")
    assert button.proto.label == "Every figure as CSV"


def test_a_month_that_nobody_watched_says_so(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = rig.run(config, "utilization", monkeypatch, month="2026-11")
    told = rig.text(at)
    assert "No requests in November 2026" in told
    assert "Nobody watched any hour of the week" in told
    assert "had no request in this period" in told
    assert {metric.label: metric.value for metric in at.metric}["Throughput"] == "unknown"


CHAIN: list[dict[str, Any]] = [
    {"name": "hours", "ratio": 0.25, "left": 0.25, "lost_nano_per_mtok": 3_600_000_000},
    {"name": "occupancy", "ratio": 0.5, "left": 0.125, "lost_nano_per_mtok": 290_000_000},
    {"name": "throughput", "ratio": None, "left": None, "lost_nano_per_mtok": None},
]
POOL: dict[str, Any] = {
    "name": "pool",
    "slots": 2,
    "at_once_ns": {"0": 90 * HOUR, "1": 6 * HOUR, "2": 3 * HOUR, "3": HOUR},
    "unknown_ns": 0,
    "worked_ns": 10 * HOUR,
    "most": 3,
    "over_slots_ns": HOUR,
}


def states(**ns: int) -> dict[str, int]:
    return dict.fromkeys(STATES, 0) | ns


DAYS: list[dict[str, Any]] = [
    {
        "card": "GPU-a",
        "day": "2026-11-01",
        "capacity_ns": 25 * HOUR,
        "states_ns": states(busy=5 * HOUR, idle=19 * HOUR, unknown=HOUR),
    },
    {
        "card": "GPU-b",
        "day": "2026-11-30",
        "capacity_ns": 6 * HOUR,
        "states_ns": states(off=6 * HOUR),
    },
]
MONDAY = states(busy=2 * HOUR, idle=2 * HOUR)
WEEK: list[dict[str, Any]] = [
    {"weekday": 1, "hour": "08", "busy_share": 0.5, "states_ns": MONDAY},
    {"weekday": 7, "hour": "23", "busy_share": 0.0, "states_ns": states(idle=4 * HOUR)},
    {"weekday": 3, "hour": "00", "busy_share": None, "states_ns": states(unknown=4 * HOUR)},
]  # fmt: skip


def drawn(colours: Palette) -> dict[str, dict[str, Any]]:
    charts = {
        "chain": usage_charts.chain(CHAIN, "USD", colours),
        "at_once": usage_charts.at_once(POOL, colours),
        "strips": calendars.month_strips(DAYS, NAMES, "2026-11", colours),
        "week": calendars.week(WEEK, "UTC", colours),
    }
    return {name: chart.to_dict() for name, chart in charts.items()}


@THEMES
def test_charts_compile_with_a_fixed_height_and_name_their_units(colours: Palette) -> None:
    specs = drawn(colours)
    assert all(isinstance(spec["height"], int) for spec in specs.values())
    titles = {
        name: [layer["encoding"][axis].get("title") for layer in spec["layer"] if axis in
               layer["encoding"]]
        for (name, spec), axis in zip(specs.items(), ("x", "y", "x", "x"), strict=True)
    }  # fmt: skip
    assert "of what the cards could put out" in titles["chain"]
    assert "hours" in titles["at_once"]
    strips_axis = specs["strips"]["layer"][0]["encoding"]["x"]["axis"]
    assert strips_axis["title"] == "day of November 2026"
    assert "hour of the day, local time (UTC)" in titles["week"]


@THEMES
def test_unknown_is_hatched_in_both_calendars(colours: Palette) -> None:
    for name in ("strips", "week"):
        fills = [layer["mark"].get("color") for layer in drawn(colours)[name]["layer"]]
        (hatch,) = [fill for fill in fills if isinstance(fill, dict)]
        assert {stop["color"] for stop in hatch["stops"]} == {colours.hatch, colours.hatch_ground}


def test_the_chain_draws_what_is_left_and_leaves_out_what_is_unknown() -> None:
    rows = usage_charts.chain_rows(CHAIN)
    assert [(row["label"], row["before"], row["left"]) for row in rows] == [
        ("in service", 1.0, 1.0),
        ("active", 1.0, 0.25),
        ("busy", 0.25, 0.125),
        ("at peak", 0.125, None),
    ]
    assert [row["text"] for row in rows] == [
        "100 %", "25 % · loses 3.60", "12 % · loses 0.290", "unknown",
    ]  # fmt: skip


def test_requests_at_once_stand_on_their_side_of_the_slots() -> None:
    rows = usage_charts.at_once_rows(POOL)
    assert [(row["requests"], row["hours"], row["side"]) for row in rows] == [
        (1, 6.0, "within"),
        (2, 3.0, "within"),
        (3, 1.0, "beyond"),
    ]
    assert sum(row["ns"] for row in rows) == POOL["worked_ns"]
    unknown = usage_charts.at_once_rows(POOL | {"slots": None})
    assert {row["room"] for row in unknown} == {"unknown"}
    told = usage_sentences.at_once(POOL)
    assert "more than its 2 slots for **1 h**: somebody waited" in told
    assert "not drawn: 3 d 18 h." in told


def test_a_days_parts_fill_its_cell_by_share_of_its_time() -> None:
    rows = calendars.day_rows(DAYS, NAMES)
    first = [row for row in rows if row["card"] == "card0"]
    heights = {row["key"]: row["high"] - row["low"] for row in first}
    assert heights == {
        "busy": pytest.approx(calendars.STRIP * 5 / 25),
        "idle": pytest.approx(calendars.STRIP * 19 / 25),
        "unknown": pytest.approx(calendars.STRIP * 1 / 25),
    }
    assert sum(row["ns"] for row in first) == 25 * HOUR
    assert {row["start"] + calendars.CELL / 2 for row in rows} == {1.0, 30.0}
    (off,) = [row for row in rows if row["card"] == "card1"]
    assert (off["low"], off["high"]) == (pytest.approx(1.0), 1 + calendars.STRIP)


def test_the_week_keeps_unknown_and_never_apart() -> None:
    rows = calendars.week_rows(WEEK)
    assert [(row["weekday"], row["hour"], row["share"], row["short"]) for row in rows] == [
        ("Mon", "08", 0.5, "50"),
        ("Sun", "23", 0.0, ""),
        ("Wed", "00", None, ""),
    ]
    assert rows[1]["when"] == "Sun, 23:00 to 00:00"
    assert usage_sentences.week(WEEK) == (
        "Busiest: Mon 08:00 to 09:00, **50 %** of the cards' time. 1 hour of the week never had a "
        "request."
    )


@THEMES
def test_a_figure_of_the_week_can_be_read_on_any_shade(colours: Palette) -> None:
    for percent in range(101):
        ground = between(colours.states["off"], colours.own, percent / 100)
        ink = ink_on(ground)
        high, low = sorted((luminance(ink), luminance(ground)), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (percent, ground, ink)


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance."""
    parts = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (byte / 255 for byte in bytes.fromhex(colour[1:]))
    ]
    return sum(w * part for w, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


@pytest.mark.parametrize(
    ("state", "why"),
    [("idle", "waits for its owner"), ("other", "something else"), ("off", "is off"),
     ("unknown", "nobody witnessed")],
)  # fmt: skip
def test_hours_are_lost_to_what_they_were(state: str, why: str) -> None:
    month = {
        "states_ns": dict.fromkeys(STATES, 2) | {"busy": 9, state: 3},
        "layers": {"chain": [{"name": "hours", "lost_nano_per_mtok": 5 * 10**9}]},
        "cost_per_mtok": {"full": {"output": 6 * 10**9}},
        "currency": "EUR",
    }
    told = usage_sentences.dearest(month)
    assert told.startswith("Of 6.00 EUR per million output tokens, **5.00** go because ")
    assert why in told
