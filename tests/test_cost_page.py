"""The cost page: every figure is the month's own, and its pictures draw what they are given."""

import csv
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rig import month_page as rig
from rig.page import copied
from streamlit.testing.v1 import AppTest

from analytics.cost_months import cost_entry, cost_months
from analytics.groups import NONE, called
from analytics.month import month
from analytics.periods import month_of
from analytics.read import Ledger
from analytics.render.table import as_wide_table
from collector.settings import load
from dashboard import cost_charts, cost_sentences, words
from dashboard.palette import DARK, LIGHT, Palette

pytestmark = pytest.mark.usefixtures("forget")

NANO = 10**9
THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return rig.built(rig.write(tmp_path_factory.mktemp("built")), "cost")


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    return copied(built, tmp_path)


@pytest.fixture
def at(config: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    return rig.run(config, "cost", monkeypatch)


def test_every_figure_is_the_months_own(at: AppTest, config: Path) -> None:
    document = rig.document(config)
    told = {metric.label: metric.value for metric in at.metric}
    assert told == {
        "USD in all, at least": words.headline(document["cost_nano"]["total"]),
        "busy with requests, USD, at least": words.cents(document["states_cost_nano"]["busy"]),
        "electricity beyond idle, USD, at least": words.cents(document["marginal_cost_nano"]),
        "carried by no request, USD, at least": words.cents(document["unallocated_cost_nano"]),
    }
    assert all(len(metric.help) > 40 for metric in at.metric)
    for kind, by in (("Cards", "card"), ("Projects", "project"), ("Sessions", "session")):
        at.segmented_control(key="cost_group").set_value(kind).run()
        groups = sorted(document["groups"][by], key=lambda g: -cost_charts.three_costs(g)[0])
        shown = at.dataframe[0].value
        assert shown["requests"].to_list() == [group["requests"] for group in groups]
        for column, place in (("full", 0), ("active", 1), ("marginal", 2)):
            nano = [cost_charts.three_costs(group)[place] for group in groups]
            floats = [None if each is None else each / NANO for each in nano]
            told_there = shown[column].astype(object).where(shown[column].notna(), None)
            assert told_there.to_list() == floats, (by, column)
        tokens = "emitted_tokens" if by == "card" else "output_tokens"
        assert shown["output tokens"].to_list() == [group[tokens] for group in groups]


def test_the_answer_by_hand(at: AppTest) -> None:
    # Hardware: 1 USD an hour, 744 of October; two cards share it. A's readings cover two hours:
    # 25 minutes at 400 W, the rest at 60 W, above idle 25/60 × 340 W × 0.20 USD a kWh = 0.0283.
    told = rig.text(at)
    assert "October 2026 cost **at least 744." in told
    assert "744.00 hardware" in told
    assert {m.label: m.value for m in at.metric}["electricity beyond idle, USD, at least"] == "0.03"
    # 25 minutes of A and ten of B at half a dollar an hour each: 0.29, and their electricity.
    assert "The project shop carries most" in told


def test_every_chart_has_words_and_the_table_a_file(at: AppTest) -> None:
    charts = at.get("vega_lite_chart")
    assert [bool(chart.proto.alt) for chart in charts] == [True, True]
    (button,) = at.get("download_button")
    assert button.proto.label == "Every figure as CSV"


def test_a_month_without_requests_still_costs(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = rig.run(config, "cost", monkeypatch, month="2026-11")
    told = {metric.label: metric.value for metric in at.metric}
    assert told["electricity beyond idle, USD"] == "unknown"
    at.segmented_control(key="cost_group").set_value("Projects").run()
    assert "No request ended in this period." in rig.text(at)


def test_months_cost_what_their_documents_say(config: Path) -> None:
    settings = load(config)
    last = month_of("2026-11", settings.zone)
    after = last.to_ns + 10**15
    months = cost_months(Ledger(settings.store_path()), settings, last, after)
    assert [each["month"] for each in months] == ["2026-10", "2026-11"]
    for told in months:
        period = month_of(told["month"], settings.zone)
        document = month(Ledger(settings.store_path()), settings, period, after)
        assert told == cost_entry(document)
    # Four years of 35,064 hours for 35,064 USD: October has 744 hours, November 720.
    assert [each["cost_nano"]["capital"] for each in months] == [744 * NANO, 720 * NANO]


ENTRIES: list[dict[str, Any]] = [
    {
        "month": "2026-09",
        "provisional": False,
        "at_least": True,
        "cost_nano": {"total": 350, "capital": 349, "energy": 0, "other": 1},
    },
    {
        "month": "2026-10",
        "provisional": True,
        "at_least": False,
        "cost_nano": {"total": 90, "capital": 100, "energy": -30, "other": 20},
    },
]


def test_months_stand_upon_each_other_and_what_was_paid_to_us_below_zero() -> None:
    rows, sums = cost_charts.month_rows(ENTRIES)
    drawn = {
        (row["month"], row["part"]): tuple(round(row[end] * NANO) for end in ("low", "high"))
        for row in rows
    }
    assert drawn == {
        ("Sep ’26", "capital"): (0, 349),
        ("Sep ’26", "other"): (349, 350),
        ("Oct ’26", "capital"): (0, 100),
        ("Oct ’26", "energy"): (0, -30),
        ("Oct ’26", "other"): (100, 120),
    }
    for entry, where in zip(ENTRIES, sums, strict=True):
        parts = [row["nano"] for row in rows if row["month"] == where["month"]]
        assert sum(parts) == entry["cost_nano"]["total"]
    assert [where["short"][-1] == "+" for where in sums] == [True, False]


GROUPS: list[dict[str, Any]] = [
    {"name": "shop", "full_cost_nano": 5 * NANO, "busy_cost_nano": 2 * NANO,
     "marginal_cost_nano": NANO, "marginal_at_least": False},
    {"name": "notes", "full_cost_nano": 3 * NANO, "busy_cost_nano": NANO,
     "marginal_cost_nano": None, "marginal_at_least": True},
]  # fmt: skip


@THEMES
def test_three_prices_on_one_bar_and_unknown_is_hatched(colours: Palette) -> None:
    rows = cost_charts.price_rows(GROUPS)
    assert [(row["full"], row["active"], row["marginal"]) for row in rows] == [
        (5.0, 2.0, 1.0),
        (3.0, 1.0, None),
    ]
    assert rows[1]["marginal_text"] == "unknown"
    spec = cost_charts.three_prices(rows, "USD", colours).to_dict()
    marks = [layer["mark"] for layer in spec["layer"]]
    assert [mark["type"] for mark in marks] == ["bar", "tick"] * 3 + ["bar", "text"]
    hatch = {stop["color"] for stop in marks[6]["color"]["stops"]}
    assert hatch == {colours.hatch, colours.hatch_ground}
    # Whatever is known is drawn, and nothing that is not.
    kept = [layer["transform"][0]["filter"] for layer in spec["layer"][:7]]
    assert kept[4] == "datum.marginal !== null" and kept[6] == "datum.marginal === null"
    assert spec["layer"][0]["encoding"]["x"]["title"] == "USD"


@THEMES
def test_the_months_chart_compiles_and_names_its_unit(colours: Palette) -> None:
    spec = cost_charts.months(ENTRIES, "2026-10", "USD", colours).to_dict()
    assert spec["layer"][0]["encoding"]["y"]["title"] == "USD a month"
    shades = spec["layer"][0]["encoding"]["color"]["scale"]["range"]
    assert len(set(shades)) == 3


def test_a_wide_table_has_every_figure_of_every_row() -> None:
    told = as_wide_table(
        [
            {"name": "=shop", "full_cost_nano": 1, "card_time_ns": {"new": 5}, "ratio": None},
            {"name": "notes", "full_cost_nano": -2, "waterfall_nano_per_mtok": {"idle": 7}},
        ],
        "EUR",
    )
    head, first, second = csv.reader(io.StringIO(told))
    assert head == [
        "name", "full_cost, EUR", "card_time.new, s", "ratio",
        "waterfall.idle, EUR per million tokens",
    ]  # fmt: skip
    assert first == ["'=shop", "0.000000001", "0.000000005", "", ""]
    assert second[:2] == ["notes", "-0.000000002"]
    assert Decimal(second[4]) == Decimal(7).scaleb(-9)


@pytest.mark.parametrize(
    ("uj", "text"),
    [(0, "0 kWh"), (3_600_000_000, "0.00 kWh"), (4 * 3_600_000_000_000, "4.00 kWh"),
     (132 * 3_600_000_000_000, "132 kWh")],
)  # fmt: skip
def test_energy_in_words(uj: int, text: str) -> None:
    assert cost_sentences.kwh(uj) == text


def test_what_was_drawn_without_a_card_in_words() -> None:
    kwh_uj = 3_600_000_000_000
    energy = {"cards": 0, "host": 4 * kwh_uj, "unassigned": kwh_uj, "unknown_ns": 0}
    assert cost_sentences.energy({"energy_uj": energy}) == (
        "Energy: 0 kWh the cards, 4.00 kWh the host, 1.00 kWh of it while no card was in service."
    )


def test_energy_that_no_card_told_is_not_known_in_words() -> None:
    energy = {"cards": None, "host": 3_600_000_000_000, "unassigned": 0, "unknown_ns": 3600}
    assert cost_sentences.energy({"energy_uj": energy}) == (
        "Energy: the cards' is not known, 1.00 kWh the host."
    )


def test_who_carries_most_in_words() -> None:
    document = {
        "currency": "USD",
        "at_least": [],
        "cost_nano": {"total": 10 * NANO},
        "unallocated_cost_nano": 2 * NANO,
    }
    told = cost_sentences.who(document, "project", GROUPS, {})
    assert told == (
        "The project shop carries most: **5.00 USD**, 50 % of everything, of which 2.00 while it "
        "worked. 2.00 USD belong to no project."
    )


def test_what_told_no_project_is_called_so() -> None:
    document = {"currency": "USD", "at_least": [], "cost_nano": {"total": 10 * NANO}}
    unlabelled = [group | {"name": NONE} for group in GROUPS[:1]]
    told = cost_sentences.who(document | {"unallocated_cost_nano": 0}, "project", unlabelled, {})
    assert told == (
        "Requests that told no project carry most: **5.00 USD**, 50 % of everything, of which 2.00 "
        "while they were computed."
    )
    assert called("project", NONE) == "no project told"
    assert called("project", "shop") == "shop"
