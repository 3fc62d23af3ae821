"""What-ifs on the compare page, over the worked day of docs/definitions.md as a month."""

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rig.page import PATIENCE_S
from rig.worked_day import write
from streamlit.testing.v1 import AppTest

from analytics.comparison import answered
from analytics.what_if import Levels
from collector.scenarios import Scenario, kept, place, save
from dashboard import scenario_chart, scenario_words, words
from dashboard.palette import DARK, LIGHT, Palette

pytestmark = pytest.mark.usefixtures("forget")

MONTH = "2026-10"
SCRIPT = f"""
from dashboard import loaders
from dashboard.views import compare
compare.page(loaders.settings(), "{MONTH}")
"""
PAGE = (Path(__file__).parent.parent / "docs/definitions.md").read_text(encoding="utf-8")
# From 5 to 31 October the box costs 24 USD a day.
CAPITAL = 27 * 24.0
BILL, MARGINAL = 0.7512, 0.12
PRICE = "USD per million, then"
LOST = "USD more than the API would have cost, at least"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The books of the month with their days built."""
    folder = tmp_path_factory.mktemp("built")
    as_json(write(PAGE, folder, "127.0.0.1:9"))
    return folder


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    config = tmp_path / "rigledger.toml"
    config.write_text(config.read_text(encoding="utf-8").replace(str(built), str(tmp_path)))
    return config


@pytest.fixture
def at(config: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    return visit(config, monkeypatch)


def visit(config: Path, monkeypatch: pytest.MonkeyPatch, **query: str) -> AppTest:
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    at = AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S)
    for name, value in query.items():
        at.query_params[name] = value
    return at.run()


def slider(at: AppTest, name: str) -> Any:
    assert not at.exception
    return at.slider(key=f"{name}_{MONTH}")


def button(at: AppTest, label: str) -> Any:
    return next(each for each in at.button if each.label == label)


def keep(at: AppTest, name: str) -> AppTest:
    at.text_input(key="scenario_name").set_value(name)
    button(at, "Keep it").click()
    return at.run()


def figures(at: AppTest) -> dict[str, str]:
    assert not at.exception
    told = [(m.label, m.value) for m in at.metric]
    return dict(told[-3:])


def rows(at: AppTest) -> list[dict[str, Any]]:
    assert not at.exception
    tables = [table.value for table in at.dataframe if "scenario" in table.value.columns]
    return [] if not tables else tables[0].to_dict("records")


def as_json(config: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answered(config, MONTH, MONTH, [], as_json=True))
    return found


def books(config: Path) -> dict[str, bytes]:
    """The settings and the ledger but for the memory that SQLite's readers share."""
    ledger = config.parent / "ledger"
    found = [config, *(file for file in ledger.rglob("*") if file.is_file())]
    return {str(f): f.read_bytes() for f in found if not f.name.endswith(("-shm", "-wal"))}


def test_at_rest_it_is_the_month_as_measured(at: AppTest, config: Path) -> None:
    found = as_json(config)
    told = figures(at)
    assert told[PRICE] == words.headline(found["per_mtok_nano"]["full"])
    assert told[LOST] == words.headline(-found["sheets"][0]["savings_full_nano"])
    assert slider(at, "hardware_price").value == 35064
    assert slider(at, "price_per_kwh").value == 0.2
    assert dict(at.query_params) == {}
    assert button(at, "Keep it").disabled
    assert all(len(m.help) > 40 for m in at.metric)
    assert all(len(s.help) > 40 for s in at.slider)


def test_a_moved_slider_changes_the_figures_and_stands_in_the_address(
    at: AppTest, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = as_json(config)["cost_nano"]["full"] / 1e9
    slider(at, "hardware_price").set_value(0.0).run()
    # A million tokens came out, so the price is the cost.
    then = words.headline(round((full - CAPITAL) * 1e9))
    assert figures(at)[PRICE] == then
    assert at.query_params["hardware_price"] in ("0", ["0"])
    again = visit(config, monkeypatch, hardware_price="0")
    assert slider(again, "hardware_price").value == 0
    assert figures(again)[PRICE] == then
    button(again, "Back to what was measured").click().run()
    assert slider(again, "hardware_price").value == 35064
    assert dict(again.query_params) == {}


@pytest.mark.parametrize(("name", "told"), [("price_per_kwh", "much"), ("hours_per_day", "25")])
def test_what_the_address_asks_for_in_vain_is_left(
    config: Path, monkeypatch: pytest.MonkeyPatch, name: str, told: str
) -> None:
    at = visit(config, monkeypatch, **{name: told})
    assert figures(at)[PRICE] == words.headline(as_json(config)["per_mtok_nano"]["full"])
    assert dict(at.query_params) == {}


def test_scenarios_stand_beside_the_month_and_no_byte_of_the_books_changes(
    at: AppTest, config: Path
) -> None:
    before = books(config)
    full = as_json(config)["cost_nano"]["full"] / 1e9
    save(config, Scenario(name="free", hardware_price="0"))
    slider(at, "hours_per_day").set_value(4.0).run()
    slider(at, "hardware_price").set_value(0.0).run()
    keep(at, "free and busy")
    assert [each.name for each in kept(config)] == ["free", "free and busy"]
    assert kept(config)[1].hours_per_day == "4"
    measured, free, busy = rows(at)
    assert [row["scenario"] for row in (measured, free, busy)] == [
        "as measured",
        "free",
        "free and busy",
    ]
    # Two hours in 27 days, and four of every day.
    times = 4 * 27 / 2
    assert measured["hours"] == pytest.approx(2 / 27)
    assert (measured["cost"], measured["bill"]) == pytest.approx((full, BILL))
    assert free["cost"] == pytest.approx(full - CAPITAL)
    assert busy["cost"] == pytest.approx(full - CAPITAL + MARGINAL * (times - 1))
    assert busy["bill"] == pytest.approx(BILL * times)
    assert busy["saved"] == pytest.approx(busy["bill"] - busy["cost"])
    assert busy["price"] == pytest.approx(busy["cost"] / times)
    assert measured["even"] == "never"
    # Where the bill of an hour has paid for what stands there without the box.
    a_day = (full - CAPITAL - MARGINAL) / 27
    assert float(busy["even"].partition(",")[0]) == pytest.approx(
        a_day / ((BILL - MARGINAL) / 2), abs=0.05
    )
    assert busy["even"] == free["even"]
    assert books(config) == before


def test_one_is_shown_renamed_and_deleted(at: AppTest, config: Path) -> None:
    slider(at, "price_per_kwh").set_value(0.4).run()
    keep(at, "dear power")
    slider(at, "price_per_kwh").set_value(0.5).run()
    assert [row["scenario"] for row in rows(at)] == [
        "as measured",
        "the sliders above",
        "dear power",
    ]
    button(at, "Show on the sliders").click().run()
    assert slider(at, "price_per_kwh").value == 0.4
    assert [row["scenario"] for row in rows(at)] == ["as measured", "dear power"]
    at.text_input(key="scenario_new").set_value("dearer power")
    button(at, "Rename").click().run()
    assert [each.name for each in kept(config)] == ["dearer power"]
    assert at.selectbox(key="scenario").value == "dearer power"
    button(at, "Delete").click().run()
    assert kept(config) == []
    assert rows(at) == []


def test_a_name_that_is_taken_is_told_and_what_was_typed_stays(at: AppTest, config: Path) -> None:
    slider(at, "price_per_kwh").set_value(0.4).run()
    keep(at, "mine")
    slider(at, "price_per_kwh").set_value(0.5).run()
    keep(at, "mine")
    (error,) = at.error
    assert error.value == "There is a scenario 'mine' already; choose another name."
    assert at.text_input(key="scenario_name").value == "mine"
    assert len(kept(config)) == 1
    at.run()
    assert not at.error


def test_a_broken_file_is_one_sentence_and_the_sliders_go_on(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place(config).write_text("[[scenario]]\nname = 3\n", encoding="utf-8")
    at = visit(config, monkeypatch)
    (error,) = at.error
    assert "rigledger.scenarios.toml:2: " in error.value.replace("\\", "")
    slider(at, "hours_per_day").set_value(2.0).run()
    assert figures(at)[PRICE] != words.UNKNOWN
    assert place(config).read_text(encoding="utf-8") == "[[scenario]]\nname = 3\n"


def test_a_slider_reaches_what_is_asked_for() -> None:
    levels = Levels(
        hours_per_day=Fraction("2.34"),
        hardware_price=Fraction(17000),
        price_per_kwh=Fraction("0.6"),
    )
    told = scenario_words.sliders(
        levels, "USD", {"hardware_price": 50_050.5, "hours_per_day": 0.05}
    )
    hours, price, kwh = told
    assert (hours.low, hours.high, hours.start) == (0.05, 24, 2.3)
    assert (price.step, price.high, price.start) == (100, 50_100, 17_000)
    assert (kwh.step, kwh.high, kwh.start) == (0.001, 1.2, 0.6)
    assert hours.moved(2.3) is None
    assert (hours.moved(2.5), price.moved(12_000.0), kwh.moved(0.07)) == ("2.5", "12000", "0.07")


@pytest.mark.parametrize(
    ("price", "step"),
    [("17000", 100), ("35064", 1), ("12345.67", 0.01), ("900", 1), ("0.005", 0.01)],
)
def test_a_slider_of_prices_starts_at_the_price(price: str, step: float) -> None:
    levels = Levels(hours_per_day=Fraction(1), hardware_price=Fraction(price), price_per_kwh=None)
    _, told = scenario_words.sliders(levels, "USD", {})
    assert told.step == step
    assert told.start == pytest.approx(float(price), abs=0.005)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_chart_compiles(colours: Palette) -> None:
    told = [("as measured", 4_750_000_000), ("paid to run", -1_000_000_000)]
    for api in (("an API", 930_000_000), None):
        spec = scenario_chart.prices(told, api, "USD", colours).to_dict()
        assert isinstance(spec["height"], int)
        domain = spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
        assert domain[0] < -1
        assert domain[1]["expr"].startswith("-1.16 + 5.91 / ")
