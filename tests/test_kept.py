"""Charts are made once for what they show, and what visits share stays as it was."""

import copy
from pathlib import Path
from typing import Any

import altair as alt
import pyarrow as pa
import pytest
from rig import month_page, page
from rig import overview_example as example

from collector.settings import load
from dashboard import beside, charts, loaders
from dashboard.palette import DARK, LIGHT
from dashboard.views.kept import kept

pytestmark = pytest.mark.usefixtures("forget")


def test_a_kept_chart_is_the_chart_in_each_theme() -> None:
    steps = example.month()["waterfall_nano_per_mtok"]
    for colours in (LIGHT, DARK, LIGHT):
        with alt.theme.enable("none"):
            made = charts.waterfall(steps, "USD", colours).to_dict()
        told = kept(charts.waterfall)(steps, "USD", colours)
        told["datasets"] = {
            name: pa.ipc.open_stream(sent).read_all().to_pylist()
            for name, sent in told["datasets"].items()
        }
        assert told == made


def test_a_chart_is_made_once_for_what_it_shows() -> None:
    made = []

    def bars(rows: list[dict[str, Any]]) -> alt.Chart:
        made.append(rows)
        return alt.Chart(alt.InlineData(values=rows)).mark_bar().encode(x="at:Q")

    first = kept(bars)([{"at": 1}])
    first["mark"] = "something else"
    assert kept(bars)([{"at": 1}])["mark"] == {"type": "bar"}
    assert made == [[{"at": 1}]]
    assert kept(bars)([{"at": 2}]) != kept(bars)([{"at": 1}])
    assert made == [[{"at": 1}], [{"at": 2}]]


def test_no_page_changes_what_all_visits_share(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = month_page.write(tmp_path)
    settings = load(config)
    told, months = loaders.load_month(settings, page.MONTH)
    compared = beside.load(settings, page.MONTH)
    costs = loaders.load_cost_months(settings, told.month)
    before = copy.deepcopy([told.month, months, compared, costs])
    strips = told.strips.clone()
    for name in ("overview", "cost", "utilization", "compare", "routing"):
        assert not month_page.run(config, name, monkeypatch).exception
    again, _ = loaders.load_month(settings, page.MONTH)
    assert again is told
    assert [told.month, months, compared, costs] == before
    assert told.strips.equals(strips)
