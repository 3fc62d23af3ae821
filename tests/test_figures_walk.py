"""Every figure on every page is one of the JSON, at the place and in the unit that `places` tells.

The pages run over a real ledger and are read from their elements. A figure that no place tells
fails, so that none comes to a page unseen; so does one that a page has lost.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from places import compare, cost, overview, requests, routing, settings, utilization
from rig import month_page, walked, walked_day
from rig.page import PATIENCE_S, forget_all
from rig.walk import Place, expected, shown, strays, untold
from streamlit.testing.v1 import AppTest

DASHBOARD = """
from dashboard.views import settings
settings.run(lambda _: None)
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The rig's settings, beside its ledger; page and JSON see them at one instant."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: walked.NOW_NS)
        yield walked.write(tmp_path_factory.mktemp("rig"))
    forget_all()


@pytest.fixture
def open_page(config: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda name: month_page.run(config, name, monkeypatch)


def agree(at: AppTest, place: Place, told: dict[str, Any]) -> None:
    """The page shows what it should, and nothing else."""
    assert untold(at) == []
    found, meant = shown(at, place), expected(place, told)
    assert found["metrics"] == meant["metrics"]
    assert found["sentences"] == meant["sentences"]
    assert found["tables"] == meant["tables"]
    assert found["charts"].keys() == meant["charts"].keys()
    for alt, rows in meant["charts"].items():
        assert strays(found["charts"][alt], rows) == [], alt


def test_overview(open_page: Any, config: Path) -> None:
    agree(open_page("overview"), overview.PLACE, walked.month(config))


def test_cost(open_page: Any, config: Path) -> None:
    at = open_page("cost")
    for kind, by in {"Cards": "card", "Models": "model", "Projects": "project",
                     "Sessions": "session", "Keys": "key"}.items():  # fmt: skip
        at.segmented_control(key="cost_group").set_value(kind).run()
        agree(at, cost.place(by), walked.by(config, by))


def test_utilization(open_page: Any, config: Path) -> None:
    agree(open_page("utilization"), utilization.PLACE, walked.utilization(config))


def test_routing(open_page: Any, config: Path) -> None:
    agree(open_page("routing"), routing.PLACE, walked.decisions(config))


def test_compare(open_page: Any, config: Path) -> None:
    at = open_page("compare")
    for sheet, place in ((walked.CHEAP, compare.CHEAP), (walked.DEAR, compare.DEAR)):
        at.selectbox(key="sheet").set_value(sheet).run()
        agree(at, place, walked.beside(config, sheet))


def test_requests(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    told = walked_day.day(config)
    for name, place in (("", requests.DAY), (walked_day.REQUEST, requests.OPENED)):
        script = month_page.SCRIPT.format(name="requests", month="2026-10")
        at = AppTest.from_string(script, default_timeout=PATIENCE_S)
        at.query_params["day"] = walked_day.LAST_DAY
        at.query_params["request"] = name
        agree(at.run(), place, told)


def test_settings(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is assumed, and what twice the price of the rig would change."""
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    at = AppTest.from_string(DASHBOARD, default_timeout=PATIENCE_S).run()
    ways = next(each for each in at.get("button_group") if each.label == "Change hardware")
    ways.set_value("Correct an entry")
    at.run()
    (price,) = (each for each in at.text_input if each.label == "price, USD")
    price.set_value("70128")
    next(each for each in at.button if each.label == "See what it changes").click().run()
    after = tmp_path / "rigledger.toml"
    after.write_text(config.read_text().replace('"35064"', '"70128"'), encoding="utf-8")
    found, told = shown(at, settings.PLACE), walked.assumed(config, after)
    # Where settings and sources lie is no figure; nor are their addresses.
    found["tables"] = found["tables"][:3]
    away = ("No collector answers", "These stand in")
    found["sentences"] = [line for line in found["sentences"] if not line.startswith(away)]
    assert found == expected(settings.PLACE, told)
