"""Charts show the data they are given, in fixed colours, and every one compiles."""

import ast
import datetime as dt
import itertools
import re
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import altair as alt
import pytest
from rig import overview_example as example

from dashboard import axes, charts, strips
from dashboard.palette import DARK, LIGHT, STATES, STEP_WORDS, Palette

ZONE = ZoneInfo(example.ZONE)
DAY = (example.DAY_NS, example.DAY_NS + 24 * example.HOUR)
NAMES = {"GPU-a": "card0", "GPU-b": "card1", "GPU-c": "card2"}
THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


def drawn(colours: Palette) -> dict[str, alt.LayerChart]:
    month = example.month()
    return {
        "waterfall": charts.waterfall(month["waterfall_nano_per_mtok"], "USD", colours),
        "trend": charts.trend(example.trend(), "2026-11", "USD", colours),
        "cost": charts.cost_split(month["cost_nano"], "USD", colours),
        "strips": strips.day_strips(example.strips(), NAMES, DAY, ZONE, colours),
    }


def lightness(colour: str) -> float:
    """CIE L* of a hex colour."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    y = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return 116 * y ** (1 / 3) - 16 if y > 0.008856 else 903.3 * y


@THEMES
def test_every_chart_compiles_with_a_fixed_height(colours: Palette) -> None:
    for name, chart in drawn(colours).items():
        spec = chart.to_dict()  # validated against the Vega-Lite schema
        assert isinstance(spec["height"], int), name


@THEMES
def test_states_stay_apart_in_grey(colours: Palette) -> None:
    solid = [colours.states[state] for state in STATES if state != "unknown"]
    for one, other in itertools.combinations(solid, 2):
        assert abs(lightness(one) - lightness(other)) >= 3.5, (one, other)
    assert len(set(solid)) == len(solid)


def colours_of(chart: alt.LayerChart) -> dict[str, str]:
    """The colour that a chart gives each name."""
    found: dict[str, str] = {}
    for layer in chart.to_dict()["layer"]:
        scale = layer["encoding"].get("color", {}).get("scale")
        if scale:
            found |= dict(zip(scale["domain"], scale["range"], strict=True))
    return found


@THEMES
def test_a_state_has_one_colour_in_all_charts(colours: Palette) -> None:
    charts_of = drawn(colours)
    in_waterfall = colours_of(charts_of["waterfall"])
    in_strips = colours_of(charts_of["strips"])
    for state in ("stranded", "headroom", "idle", "off", "other"):
        assert in_waterfall[state] == in_strips[state] == colours.states[state]
    assert in_waterfall["at_peak"] == in_strips["busy"]
    assert "unknown" not in in_waterfall | in_strips


@THEMES
def test_unknown_is_hatched_wherever_it_is_drawn(colours: Palette) -> None:
    for name in ("waterfall", "strips"):
        spec = drawn(colours)[name].to_dict()
        fills = [layer["mark"].get("color") for layer in spec["layer"]]
        (hatch,) = [fill for fill in fills if isinstance(fill, dict)]
        shades = {stop["color"] for stop in hatch["stops"]}
        assert shades == {colours.hatch, colours.hatch_ground}, name


def test_the_waterfall_sums_to_the_full_price_in_data_and_in_print() -> None:
    month = example.month()
    rows = charts.waterfall_rows(month["waterfall_nano_per_mtok"])
    *steps, total = rows
    assert sum(row["nano"] for row in steps) == month["cost_per_mtok"]["full"]["output"]
    assert total["nano"] == month["cost_per_mtok"]["full"]["output"]
    printed = [Fraction(row["text"]) for row in steps if not row["text"].startswith("<")]
    assert sum(printed) == Fraction(total["text"]) == Fraction("4.47")
    for before, after in itertools.pairwise(steps):
        assert after["start"] == before["end"]


def test_the_waterfall_leaves_out_what_cost_nothing_and_says_when_cents_hide_something() -> None:
    rows = charts.waterfall_rows(example.month()["waterfall_nano_per_mtok"])
    told = {row["step"]: row["text"] for row in rows}
    assert "unassigned" not in told
    assert told["unknown"] == "<0.01"
    assert {row["label"] for row in rows} <= {*STEP_WORDS.values(), "together"}


def test_a_step_below_zero_keeps_its_label_right_of_the_bar() -> None:
    rows = charts.waterfall_rows(
        [
            {"step": "at_peak", "nano_per_mtok": 5_000_000_000},
            {"step": "below_peak", "nano_per_mtok": -1_000_000_000},
        ]
    )
    below = rows[1]
    assert (below["start"], below["end"], below["right"]) == (5.0, 4.0, 5.0)
    assert below["text"] == "−1.00"


def test_strips_draw_every_nanosecond_once() -> None:
    frame = example.strips()
    rows = strips.strip_rows(frame, NAMES, DAY[0], ZONE)
    assert sum(row["ns"] for row in rows) == frame["ns"].sum() == 3 * (example.NOW_NS - DAY[0])
    cells: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in rows:
        cells.setdefault((row["card"], row["start"]), []).append(row)
    for (card, _), parts in cells.items():
        height = sum(part["high"] - part["low"] for part in parts)
        assert height == pytest.approx(strips.STRIP)
        at = list(NAMES.values()).index(card)
        assert all(at - 1e-9 <= part["low"] < part["high"] <= at + strips.STRIP for part in parts)


def test_strips_leave_time_to_come_blank() -> None:
    rows = strips.strip_rows(example.strips(), NAMES, DAY[0], ZONE)
    assert max(row["end"] for row in rows) == pytest.approx(14 + 20 / 60)


@pytest.mark.parametrize(
    ("day", "at_noon"),
    [
        (dt.date(2026, 11, 29), 12),
        (dt.date(2026, 11, 1), 13),  # the clock went back an hour
        (dt.date(2026, 3, 8), 11),  # and forward
    ],
)
def test_the_strips_axis_is_the_rigs_wall_clock(day: dt.date, at_noon: int) -> None:
    start, end = (
        int(dt.datetime.combine(at, dt.time(), tzinfo=ZONE).timestamp()) * example.NANO
        for at in (day, day + dt.timedelta(days=1))
    )
    ticks = strips.wall_ticks(start, end, ZONE)
    assert ticks[float(at_noon)] == "12:00"
    assert ticks[0.0] == "00:00"
    assert ticks[(end - start) / example.HOUR] == "00:00"


def test_a_month_without_a_price_has_no_bar() -> None:
    months = example.trend()
    months[0] = months[0] | {"full_nano_per_mtok": None, "compare": {"an API": None}}
    own, api = charts.trend_rows(months)
    assert [row["month"] for row in own] == ["Nov ’26"]
    assert [(row["month"], row["text"]) for row in api] == [("Nov ’26", "0.930")]
    spec = charts.trend(months, "2026-11", "USD", LIGHT).to_dict()
    assert spec["layer"][0]["encoding"]["x"]["scale"]["domain"] == ["Oct ’26", "Nov ’26"]


@pytest.mark.parametrize("count", [1, 2, 6, 12])
def test_the_trend_is_as_wide_as_its_months_and_fits_its_column(count: int) -> None:
    months = [example.trend()[0] | {"month": f"2026-{n:02d}"} for n in range(1, count + 1)]
    spec = charts.trend(months, "2026-01", "USD", LIGHT).to_dict()
    assert 62 + 24 * count <= spec["width"] <= 62 + 76 * count
    assert spec["width"] <= 366


@pytest.mark.parametrize("width", [180, 250, 900])
def test_texts_behind_bars_have_room_in_any_window(width: int) -> None:
    """Twelve signs, none of them wider than 7.5 pixels, eight pixels behind the longest bar."""
    low, top = axes.with_texts(-2, 10, ["1.00", "1,234,567.89"]).to_dict()["domain"]
    told = re.fullmatch(r"(\S+) \+ (\S+) / max\((\S+), 1 - (\S+) / width\)", top["expr"])
    assert told is not None
    foot, span, least, taken = map(float, told.groups())
    assert low == foot == -2
    high = foot + span / max(least, 1 - taken / width)
    assert (high - 10) / (high - low) * width == pytest.approx(98)


def test_axes_name_their_unit() -> None:
    for name, axis in (("waterfall", "x"), ("trend", "y")):
        spec = drawn(LIGHT)[name].to_dict()
        titles = {layer["encoding"][axis].get("title") for layer in spec["layer"]}
        assert "USD per million output tokens" in titles, name
    spec = drawn(LIGHT)["strips"].to_dict()
    assert spec["layer"][0]["encoding"]["x"]["axis"]["title"] == f"local time ({example.ZONE})"


def test_charts_know_nothing_of_the_page() -> None:
    room = Path(charts.__file__).parent
    for name in ("charts", "strips", "axes", "palette", "words", "sentences", "meanings"):
        tree = ast.parse((room / f"{name}.py").read_text(encoding="utf-8"))
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in [*node.names, ast.alias(getattr(node, "module", "") or "")]
        }
        assert not any(module.startswith("streamlit") for module in imported), name


def test_other_costs_are_a_part_of_their_own_and_share_a_label() -> None:
    nano = 10**9
    cost = {"total": 200 * nano, "capital": 188 * nano, "energy": 8 * nano, "other": 4 * nano}
    spec = charts.cost_split(cost, "USD", LIGHT).to_dict()
    rows = [row for rows in spec["datasets"].values() for row in rows]
    spans = {row["label"]: (row["start"], row["end"]) for row in rows}
    assert spans == {"hardware": (0, 188), "electricity": (188, 196), "other": (196, 200)}
    assert {row["line"] for row in rows} == {"hardware 94 %", "electricity 4.0 % · other 2.0 %", ""}
