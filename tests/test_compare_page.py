"""The compare page over a rig that was worked out on paper, without a browser."""

import json
from pathlib import Path
from typing import Any

import pytest
from rig import page
from rig.page import PATIENCE_S, forget_all
from streamlit.testing.v1 import AppTest

from analytics.comparison import answered
from dashboard import compare_charts, compare_words, even_chart, payback_chart, words
from dashboard.palette import DARK, LIGHT, Palette

pytestmark = pytest.mark.usefixtures("forget")

SHEETS = '\n[compare]\nsheets = ["deepseek/deepseek-v4.1-flash"]\n'
SCRIPT = f"""
from dashboard import loaders
from dashboard.views import compare
compare.page(loaders.settings(), "{page.MONTH}")
"""
THEMES = pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
MORE = "USD more than the API would have cost"
FLASH, FLAT = "deepseek/deepseek-v4.1-flash", "an API"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rig once the page has built its days."""
    folder = tmp_path_factory.mktemp("built")
    page.write_ledger(folder)
    tables = (page.HARDWARE, page.FREE_POWER, page.PRICES, SHEETS)
    with pytest.MonkeyPatch.context() as patch:
        visit(page.write_settings(folder, *tables), patch)
    forget_all()
    return folder


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    return page.copied(built, tmp_path)


def visit(config: Path, monkeypatch: pytest.MonkeyPatch, **query: str) -> AppTest:
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    at = AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def as_json(config: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answered(config, page.MONTH, page.MONTH, [], as_json=True))
    return found


def figures(at: AppTest) -> dict[str, str]:
    assert not at.exception
    return {metric.label: metric.value for metric in at.metric}


def text(at: AppTest) -> str:
    assert not at.exception
    every = [*at.markdown, *at.caption, *at.subheader]
    return "\n".join(element.value.replace("\\", "") for element in every)


def test_the_figures_are_those_worked_out_on_paper(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million tokens in and two million out, 744 USD here, 7 there: 3.50 a million."""
    at = visit(config, monkeypatch, sheet=FLAT)
    told = figures(at)
    assert told["USD per million output tokens, at least"] == page.FULL
    assert told["the same requests at an API"] == page.API
    assert told["USD more than the API would have cost, at least"] == page.LOST
    assert f"{FLAT} would have billed **7.00 USD** for the same requests" in text(at)
    assert "The rig cost at least **744.00 USD**" in text(at)


def test_every_figure_equals_the_json(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = as_json(config)
    for sheet in found["sheets"]:
        at = visit(config, monkeypatch, sheet=sheet["sheet"])
        told = figures(at)
        values = {label.partition(",")[0]: value for label, value in told.items()}
        assert values["USD per million output tokens"] == words.headline(
            found["per_mtok_nano"]["full"]
        )
        lost = -sheet["savings_full_nano"]
        assert values["USD more than the API would have cost"] == words.headline(lost)
        assert values["USD saved against marginal"] == words.change(sheet["savings_marginal_nano"])
        for axis, (label, _) in compare_words.AXES.items():
            meet = sheet["break_even"]
            assert values[label] == compare_words.axis_figure(meet, axis), axis
        (line,) = (one for one in found["since_purchase"] if one["sheet"] == sheet["sheet"])
        saved = line["months"][-1]["saved_full_sum_nano"]
        assert f"**{words.headline(-saved)} USD** lost against full cost" in text(at)
        forget_all()
    table = at.dataframe[0].value
    for figure, column in (
        ("no_cache_nano", "no cache"),
        ("same_hits_nano", "same hits"),
        ("savings_full_nano", "saved, full"),
    ):
        assert [*table[column]] == [sheet[figure] / words.NANO for sheet in found["sheets"]]


@pytest.mark.parametrize(
    ("kind", "nano", "bound", "label", "figure"),
    [
        ("full", 12_340_000_000, "at least", "USD saved against full, at least", "+12.3"),
        ("full", -7_000_000_000, "at least", f"{MORE}, at most", "7.00"),
        ("full", -7_000_000_000, "at most", f"{MORE}, at least", "7.00"),
        ("full", -7_000_000_000, "open", f"{MORE}, as far as known", "7.00"),
        ("full", -7_000_000_000, "exactly", MORE, "7.00"),
        ("full", 0, "exactly", "USD saved against full", "0.00"),
        (
            "marginal",
            -328_000_000_000,
            "exactly",
            "USD more in electricity than the API would have cost",
            "328",
        ),
        ("marginal", None, None, "USD saved against marginal", words.UNKNOWN),
    ],
)
def test_a_loss_is_told_as_what_the_rig_cost_more(
    kind: str, nano: int | None, bound: str | None, label: str, figure: str
) -> None:
    sheet = {f"savings_{kind}_nano": nano, f"savings_{kind}_bound": bound}
    assert compare_words.saved_tile(sheet, kind, "USD") == (label, figure)


def test_the_sheet_is_taken_from_the_address(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert visit(config, monkeypatch).selectbox[0].value == FLASH
    assert visit(config, monkeypatch, sheet=FLAT).selectbox[0].value == FLAT
    assert visit(config, monkeypatch, sheet="no such one").selectbox[0].value == FLASH


def test_every_number_explains_itself_and_every_chart_has_words(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = visit(config, monkeypatch)
    assert len(at.metric) == 11
    for metric in at.metric:
        assert len(metric.help) > 40, metric.label
    charts = at.get("vega_lite_chart")
    assert all(chart.proto.alt for chart in charts)


def test_without_sheets_it_says_how_to_choose_them(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = config.parent
    at = visit(page.write_settings(folder, page.HARDWARE), monkeypatch)
    assert "rigledger prices list" in text(at)
    shown = [code.value for code in at.code]
    assert any("[compare]" in lines for lines in shown)
    # What it tells to add is valid, and is then compared with.
    page.write_settings(folder, page.HARDWARE, "\n", *(f"\n{one}\n" for one in shown))
    forget_all()
    at = visit(config, monkeypatch)
    assert figures(at)["the same requests at deepseek/deepseek-v4.1-flash"] != words.UNKNOWN
    assert len(at.selectbox[0].options) == 3


def test_what_cannot_be_priced_is_listed(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = '\n[compare]\nsheets = ["nobody/no-such-sheet"]\n'
    at = visit(page.write_settings(config.parent, page.HARDWARE, gone), monkeypatch)
    assert figures(at)["the same requests at nobody/no-such-sheet"] == words.UNKNOWN
    assert "1 request could not be priced: " in text(at)


def comparison() -> dict[str, Any]:
    """Two sheets, one with a simulated cache and one that nothing could be priced at."""
    even = {"verdict": "at", "hours_per_day": "6.5", "bounds": {"hours_per_day": "exactly"}}
    return {
        "currency": "USD",
        "cost_nano": {"full": 400_000_000_000, "marginal": 8_000_000_000},
        "by_hours": {
            "here_hours": 2.0,
            "points": [
                {"hours": 1.0, "full_nano_per_mtok": 8_000_000_000},
                {"hours": 2.0, "full_nano_per_mtok": 4_100_000_000},
                {"hours": 24.0, "full_nano_per_mtok": 500_000_000},
            ],
        },
        "sheets": [
            {
                "sheet": "one", "no_cache_nano": 90_000_000_000, "same_hits_nano": 20_000_000_000,
                "simulated_nano": 30_000_000_000, "scenario": "simulated",
                "headline_nano": 30_000_000_000, "headline_nano_per_mtok": 1_300_000_000,
                "break_even": even, "unpriced_requests": 0, "priced_requests": 7,
            },
            {
                "sheet": "other", "no_cache_nano": None, "same_hits_nano": None,
                "simulated_nano": None, "scenario": "same_hits", "headline_nano": None,
                "headline_nano_per_mtok": None, "break_even": None, "unpriced_requests": 7,
                "priced_requests": 0,
            },
        ],
    }  # fmt: skip


def months() -> list[dict[str, Any]]:
    """Two months, the second without a bill that is known."""
    told = [("2026-10", -300_000_000_000, 12_000_000_000, True),
            ("2026-11", -300_000_000_000, 12_000_000_000, False)]  # fmt: skip
    return [
        {
            "month": month,
            "saved_full_sum_nano": full,
            "saved_marginal_sum_nano": marginal,
            "saved_full_sum_bound": "open",
            "saved_marginal_sum_bound": "at least",
            "saved_full_nano": full if is_known else None,
            "saved_marginal_nano": marginal if is_known else None,
        }
        for month, full, marginal, is_known in told
    ]


def test_who_saves_at_least_a_loss_loses_at_most_it_and_what_is_not_known_is_no_zero() -> None:
    told = months()
    told[-1] |= {"saved_full_sum_bound": "at least", "saved_marginal_sum_nano": None}
    assert compare_words.payback(told, "one", "USD").startswith(
        "Beside one, since October 2026: **300 USD** lost against full cost at most, and what was"
        " saved against marginal cost is not known."
    )
    nothing = [month | {"saved_full_sum_nano": None} for month in told[-1:]]
    assert payback_chart.payback_rows(nothing) == []
    payback_chart.payback(nothing, "USD", LIGHT).to_dict()


@THEMES
def test_every_chart_compiles_with_a_fixed_height(colours: Palette) -> None:
    found = comparison()
    charts = {
        "bills": compare_charts.bills(found, "one", colours),
        "payback": payback_chart.payback(months(), "USD", colours),
        "even": even_chart.even(found["by_hours"], found["sheets"][0], "USD", colours),
        "without a bill": even_chart.even(found["by_hours"], found["sheets"][1], "USD", colours),
    }
    for name, chart in charts.items():
        spec = chart.to_dict()  # validated against the Vega-Lite schema
        assert isinstance(spec["height"], int), name


def test_a_dot_for_each_bill_that_is_known_and_the_headline_filled() -> None:
    rows = compare_charts.bill_rows(comparison())
    assert [(row["sheet"], row["bill"], row["amount"], row["is_headline"]) for row in rows] == [
        ("one", "no cache", 90.0, False),
        ("one", "same hits", 20.0, False),
        ("one", "simulated cache", 30.0, True),
    ]


def test_a_log_scale_says_so_and_never_holds_what_is_not_above_zero() -> None:
    def scale(found: dict[str, Any]) -> tuple[str, str]:
        layer = compare_charts.bills(found, "one", LIGHT).to_dict()["layer"][1]
        x = layer["encoding"]["x"]
        return x["scale"]["type"], x["title"]

    assert scale(comparison()) == ("log", "USD for the period (log scale)")
    negative = comparison() | {"cost_nano": {"full": 400_000_000_000, "marginal": -1_000_000}}
    assert scale(negative) == ("linear", "USD for the period")


def test_a_month_that_is_not_known_is_hollow_and_told() -> None:
    rows = payback_chart.payback_rows(months())
    assert [row["is_known"] for row in rows] == [True, False, True, False]
    assert [row["amount"] for row in rows] == [-300.0, -300.0, 12.0, 12.0]
    told = compare_words.payback(months(), "one", "USD")
    assert "**300 USD** lost against full cost as far as known" in told
    assert "**12.0 USD** saved against marginal cost at least" in told
    assert "In 1 month no saving is known" in told
