"""The settings page over a real file and a real ledger, without a browser."""

import datetime as dt
import stat
from pathlib import Path
from typing import Any

import pytest
from rig import page as rig
from rig.door import opened
from rig.ledger import engine, sample
from rig.month_page import document
from rig.page import PATIENCE_S
from streamlit.testing.v1 import AppTest

from analytics.month import month
from analytics.periods import month_of
from analytics.preview import figure
from analytics.read import Ledger
from analytics.shelf import Shelf
from collector.clock import from_ns, now_ns
from collector.parcel import pack
from collector.settings import load
from collector.settings_edit import Correct
from collector.settings_fields import tables
from collector.settings_save import read_version, save

pytestmark = pytest.mark.usefixtures("forget")

SCRIPT = "from dashboard.views import settings\nsettings.run(lambda _: None)\n"
LATER = '\n[[electricity]]\nfrom = 2026-11-01\nprice_per_kwh = "0.5"\nhost_watts = 90\n'
CORRECT, SEE = "Correct an entry", "See what it changes"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rig with the days of October built."""
    folder = tmp_path_factory.mktemp("built")
    rig.write_ledger(folder)
    tables = (rig.HARDWARE, LATER, rig.FREE_POWER, rig.PRICES)
    document(rig.write_settings(folder, *tables))
    return folder


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    return rig.copied(built, tmp_path)


@pytest.fixture
def at(config: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    return AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S).run()


def text(at: AppTest) -> str:
    assert not at.exception
    every = [*at.markdown, *at.caption, *at.subheader]
    return "\n".join(shown(element.value) for element in every)


def shown(markdown: str) -> str:
    """What Markdown shows of names, which come escaped."""
    return markdown.replace("\\", "")


def errors(at: AppTest) -> list[str]:
    assert not at.exception
    return [shown(element.value) for element in at.error]


def choose(at: AppTest, table: str, way: str) -> AppTest:
    group = next(b for b in at.get("button_group") if b.label == f"Change {table}")
    group.set_value(way)
    return at.run()


def field(at: AppTest, label: str) -> Any:
    every = [*at.text_input, *at.number_input, *at.date_input, *at.multiselect, *at.selectbox]
    (found,) = [widget for widget in every if widget.label == label]
    return found


def button(at: AppTest, label: str) -> Any:
    return next(b for b in at.button if b.label == label)


def correct_price(at: AppTest, price: str) -> AppTest:
    choose(at, "hardware", CORRECT)
    field(at, "price, USD").set_value(price)
    return button(at, SEE).click().run()


def files(folder: Path) -> dict[str, bytes]:
    """Every file but the memory that SQLite's readers share."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.endswith(("-shm", "-wal"))
    }


def test_the_answer_comes_first(at: AppTest) -> None:
    assert "The rig cost **35,064 USD** and loses **24.0 USD** of its value a day" in text(at)
    assert "a kWh costs **0.5 USD** since 1 November 2026, and the host draws 90 W" in text(at)
    assert "amounts in USD · days in UTC" in text(at)
    assert {m.label: m.value for m in at.metric} == {
        "USD of value lost a day": "24.0",
        "USD per kWh": "0.5",
        "W of host power": "90",
        "active gap": "15 min",
    }
    assert all(len(m.help) > 40 for m in at.metric)


def test_dated_entries_are_listed_oldest_first(at: AppTest) -> None:
    electricity = at.dataframe[1].value
    assert [str(day)[:10] for day in electricity["from"]] == ["2026-10-01", "2026-11-01"]
    assert list(electricity["price_per_kwh"]) == ["0", "0.5"]


def test_forms_come_from_the_declaration(at: AppTest) -> None:
    choose(at, "electricity", "New price from a day on")
    for setting in tables()["electricity"].settings:
        assert field(at, setting.label("USD")).help.startswith(setting.help)
    assert field(at, "host power, W").value == 90
    choose(at, "hardware", "Add what was bought")
    for setting in tables()["hardware"].settings:
        assert field(at, setting.label("USD")).help.startswith(setting.help)


def test_what_is_left_empty_is_not_written(at: AppTest, config: Path) -> None:
    choose(at, "hardware", "Add what was bought")
    field(at, "name").set_value("borrowed card")
    field(at, "in service from").set_value(dt.date(2026, 10, 1))
    field(at, "method").set_value("rented")
    field(at, "hourly rent, USD per hour").set_value("1.25")
    button(at, SEE).click().run()
    button(at, "Save").click().run()
    assert config.read_text().count("[[hardware]]") == 2
    assert (
        '[[hardware]]\nname = "borrowed card"\nin_service = 2026-10-01\nmethod = "rented"\n'
        'rate_per_hour = "1.25"\n'
    ) in config.read_text()
    # 24 of value lost a day, and 24 times 1.25.
    assert "The rig cost **35,064 USD**; with what is rented it takes **54.0 USD** a day" in text(
        at
    )
    table = at.dataframe[0].value
    assert list(table["method"]) == ["straight_line", "rented"]
    assert "market_values" not in table.columns
    assert at.dataframe[0].proto.placeholder == "not set"


def test_an_asset_that_is_valued_by_the_market_loses_its_life(at: AppTest, config: Path) -> None:
    choose(at, "hardware", CORRECT)
    field(at, "method").set_value("market")
    field(at, "life, years").set_value(None)
    values = field(at, "market values, USD")
    values.set_value("2027-10-01 11000, soon 9000")
    button(at, SEE).click().run()
    (error,) = errors(at)
    assert error.startswith("Market values: 'soon' is no date; write dates and amounts, like")
    field(at, "market values, USD").set_value("2027-10-01 11000, 2026-11-01 34000")
    button(at, SEE).click().run()
    # The drop to 34,000 within October, on two million tokens.
    assert "This changes **October 2026** from **372** to **532** USD per million" in text(at)
    button(at, "Save").click().run()
    asset = load(config).hardware[0]
    assert (asset.method, asset.life_years) == ("market", None)
    assert asset.market_values == {"2026-11-01": "34000", "2027-10-01": "11000"}
    assert "# corrected" in config.read_text()
    assert list(at.dataframe[0].value["market_values"]) == ["2026-11-01 34000, 2027-10-01 11000"]


def test_other_costs_are_added_and_shown(at: AppTest, config: Path) -> None:
    assert "None: no internet, space, maintenance or cost of capital is counted." in text(at)
    choose(at, "other_costs", "Add a cost")
    field(at, "name").set_value("space")
    field(at, "from").set_value(dt.date(2026, 10, 1))
    field(at, "per month, USD per month").set_value("20")
    button(at, SEE).click().run()
    # 744 and 20 on two million tokens.
    assert "This changes **October 2026** from **372** to **382** USD per million" in text(at)
    button(at, "Save").click().run()
    (cost,) = load(config).other_costs
    assert (cost.name, cost.per_month, cost.until) == ("space", "20", None)
    assert "All cards share them" in text(at)


def test_a_preview_tells_the_months_by_hand(at: AppTest) -> None:
    correct_price(at, "17532")
    # Half the price: 372 USD for the same two million tokens.
    assert "This changes **October 2026** from **372** to **186** USD per million" in text(at)
    assert 'price = "17532"' in at.code[0].value
    assert "for all the time that the entry covers, past months too" in text(at)


def test_playing_with_values_changes_no_byte(at: AppTest, config: Path) -> None:
    before = files(config.parent)
    correct_price(at, "1")
    correct_price(at, "99999")
    choose(at, "usage", "Change the gap")
    field(at, "active gap").set_value("2h")
    next(b for b in at.button if b.label == SEE and "usage" in str(b.key)).click().run()
    assert "October 2026" in text(at)
    assert files(config.parent) == before


def test_a_saved_change_is_in_the_file_and_one_click_takes_it_back(
    at: AppTest, config: Path
) -> None:
    before = config.read_bytes()
    correct_price(at, "17532")
    button(at, "Save").click().run()
    assert shown(at.success[0].value) == "Saved: hardware box: price 35064 → 17532."
    assert load(config).hardware[0].price == "17532"
    assert "# corrected" in config.read_text()
    assert "loses **12.0 USD**" in text(at)
    button(at, "Undo").click().run()
    assert shown(at.success[0].value) == "Undone: hardware box: price 35064 → 17532."
    assert config.read_bytes() == before
    assert list(at.dataframe[-1].value["what"]) == [
        "undone: hardware box: price 35064 → 17532",
        "hardware box: price 35064 → 17532",
    ]
    assert not [b for b in at.button if b.label == "Undo"]


def test_a_new_entry_leaves_those_before_it(at: AppTest, config: Path) -> None:
    before = config.read_text()
    choose(at, "electricity", "New price from a day on")
    field(at, "price, USD per kWh").set_value("0.31")
    button(at, SEE).click().run()
    told = next(line for line in text(at).splitlines() if "October 2026" in line)
    assert told.startswith("**October 2026** (372 USD)")
    assert "This changes" not in told
    button(at, "Save").click().run()
    assert len(load(config).electricity) == 3
    rest = config.read_text()
    assert all(line in rest.splitlines() for line in before.splitlines())


@pytest.mark.parametrize(
    ("price", "sentence"),
    [
        ("-5", "Price: '-5' is not possible here; write a decimal amount, like"),
        ("35,064", "Price: '35,064' is not possible here; write a decimal amount"),
        ("35064", "Nothing is different from what the file says"),
    ],
)
def test_an_impossible_value_is_refused_in_the_fields_own_words(
    at: AppTest, config: Path, price: str, sentence: str
) -> None:
    before = config.read_bytes()
    correct_price(at, price)
    (error,) = errors(at)
    assert error.startswith(sentence)
    assert not [b for b in at.button if b.label == "Save"]
    assert config.read_bytes() == before


def test_another_writer_is_told_and_what_was_typed_stays(at: AppTest, config: Path) -> None:
    correct_price(at, "17532")
    other = Correct(("hardware", 0, "life_years"), 8)
    save(read_version(config), [other], from_ns(now_ns()))
    button(at, "Save").click().run()
    (error,) = errors(at)
    assert "changed meanwhile, nothing was saved" in error
    assert "life_years is now 8 (was 4)" in error
    assert load(config).hardware[0].price == "35064"
    assert field(at, "price, USD").value == "17532"
    field(at, "life, years").set_value(8)
    button(at, SEE).click().run()
    button(at, "Save").click().run()
    asset = load(config).hardware[0]
    assert (asset.price, asset.life_years) == ("17532", 8)


def test_a_broken_file_is_told_with_its_line(config: Path, monkeypatch: Any) -> None:
    config.write_text("[rig]\nname = \n")
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    at = AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S).run()
    assert "rigledger.toml:2: " in errors(at)[0]
    assert not at.button
    assert config.read_text() == "[rig]\nname = \n"


def test_the_first_save_makes_the_file(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    monkeypatch.delenv("RIGLEDGER_CONFIG", raising=False)
    at = AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S).run()
    assert "No hardware price is set, so **the rig itself counts as free**" in text(at)
    assert "energy is not priced" in text(at)
    choose(at, "electricity", "New price from a day on")
    field(at, "price, USD per kWh").set_value("0.2")
    button(at, SEE).click().run()
    assert "There is no ledger yet, so no month changes." in text(at)
    button(at, "Save").click().run()
    made = tmp_path / "rigledger.toml"
    assert stat.S_IMODE(made.stat().st_mode) == 0o600
    assert load(made).electricity[0].price_per_kwh == "0.2"


def test_the_sources_tell_their_health(config: Path, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    events = [
        engine("on-A", 0, "down"),
        sample("A", 0, power_mw=1000),
    ]
    with opened(tmp_path / "other") as served:
        served.door.committer.submit(pack(events)).result(30)
        door = f'\n[collector]\nlisten = "127.0.0.1:{served.port}"\n'
        rig.write_settings(config.parent, rig.HARDWARE, rig.FREE_POWER, door)
        at = AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S).run()
    assert "The collector keeps events; 1 engine down and 1 card without a reading." in text(at)
    sources = next(f.value for f in at.dataframe if "health" in f.value.columns)
    down, read = sources["health"]
    assert down == "○ down"
    assert read.startswith("○ read ")


def test_without_a_collector_it_says_what_to_start(at: AppTest, config: Path) -> None:
    rig.write_settings(config.parent, '\n[collector]\nlisten = "127.0.0.1:9"\n')
    at.run()
    assert "No collector answers at http://127.0.0.1:9" in text(at)
    assert any(each.value.endswith("start `rigledger up`.") for each in at.markdown)


def test_the_figures_of_a_preview_are_those_of_the_month(config: Path) -> None:
    settings = load(config)
    ledger, period = Ledger(settings.store_path()), month_of(rig.MONTH, settings.zone)
    now = now_ns()
    told = month(ledger, settings, period, now)
    found = figure(Shelf(ledger, settings, now, keeps=False), period)
    assert found.cost_nano == told["cost_nano"]["total"] == 744 * 10**9
    assert found.full_nano_per_mtok == told["cost_per_mtok"]["full"]["output"] == 372 * 10**9
