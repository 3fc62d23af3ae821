"""The requests page over a real ledger, without a browser."""

import dataclasses
import datetime as dt
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from rig import month_page, page
from rig.ledger import SECOND, attempt, sample
from rig.page import PATIENCE_S
from streamlit.testing.v1 import AppTest
from test_routing_page import events as decided

from analytics.one_request import Opened, opened
from analytics.periods import day_at, month_of
from analytics.read import Ledger
from analytics.requests import requests, totals
from analytics.shelf import Shelf
from collector.clock import now_ns
from collector.settings import load
from collector.store import Store
from dashboard import lookups, request_charts, request_words, words
from dashboard.palette import DARK, LIGHT, Palette
from dashboard.views import requests as view

pytestmark = pytest.mark.usefixtures("forget")

DAY = "2026-10-05"
SCRIPT = f"""
from dashboard import loaders
from dashboard.views import requests
requests.page(loaders.settings(), "{page.MONTH}")
"""
UTC = ZoneInfo("UTC")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An hour on card A in which three requests share it, and one that failed the day after; the
    days that the page asks for are built."""
    folder = tmp_path_factory.mktemp("built")
    store = Store(folder / "ledger")
    store.append(
        [
            attempt("a", 0, 600, ttft_ns=60 * SECOND, project="p", session="s1"),
            attempt("b", 300, 900, ttft_ns=60 * SECOND, project="q", model="n"),
            attempt("c", 600, 700, project="q", status="client_abort", output_tokens=None),
            attempt("next", 86_400, 86_500, status="upstream_error"),
            *(sample("A", at, power_mw=300_000) for at in range(0, 900, 10)),
        ]
    )
    store.seal()
    store.close()
    config = page.write_settings(folder, page.HARDWARE, page.FREE_POWER, page.PRICES)
    with pytest.MonkeyPatch.context() as patch:
        visit(config, patch)
    page.forget_all()
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


def figures(at: AppTest) -> dict[str, str]:
    assert not at.exception
    return {metric.label: metric.value for metric in at.metric}


def text(at: AppTest) -> str:
    assert not at.exception
    every = [*at.markdown, *at.caption, *at.subheader]
    return "\n".join(element.value.replace("\\", "") for element in every)


def one(config: Path, name: str) -> Opened:
    settings = load(config)
    shelf = Shelf(Ledger(settings.store_path()), settings, now_ns())
    span = month_of(page.MONTH, settings.zone)
    day = next(day for day in shelf.days(span.from_ns, span.to_ns) if day.name == DAY)
    found = opened(shelf, day, "test", name)
    assert found is not None
    return found


def test_a_day_is_listed_with_its_sums(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = visit(config, monkeypatch, day=DAY)
    told = figures(at)
    assert told["requests"] == "3"
    assert told["output tokens"] == "100"
    # Busy for 900 s at 1 USD an hour.
    assert told["USD that day"] == "0.250"
    table = at.dataframe[0].value
    assert [*table["arrived"]] == ["08:10:00", "08:05:00", "08:00:00"]
    assert [*table["status"]] == ["client left", "ok", "ok"]
    assert [*table["took"]] == [100.0, 600.0, 600.0]
    # a is alone for 300 s and shares 300 s with b; b then shares 100 s with c.
    assert [round(cost, 9) for cost in table["cost"]] == [
        round(seconds / 3600, 9) for seconds in (50, 400, 450)
    ]
    assert table["output"].isna().tolist() == [True, False, False]


def test_the_newest_day_with_requests_is_shown_first(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = visit(config, monkeypatch)
    assert at.selectbox[0].options == ["2026-10-06", DAY]
    assert at.selectbox[0].value == "2026-10-06"
    assert [*at.dataframe[0].value["status"]] == ["engine failed"]


def test_filters_come_from_the_address(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = figures(visit(config, monkeypatch, day=DAY, project="q"))
    assert told["requests"] == "2"
    # What an engine did not tell is not counted as none.
    told = figures(visit(config, monkeypatch, day=DAY, status="client left"))
    assert (told["requests"], told["output tokens"]) == ("1", words.UNKNOWN)
    at = visit(config, monkeypatch, day=DAY, project="q", model="m")
    assert figures(at)["requests"] == "1"
    at = visit(config, monkeypatch, day=DAY, project="p", model="n")
    assert "No request of this day is what the filters ask for" in text(at)
    assert figures(at)["USD that day"] == words.UNKNOWN


def test_the_rest_beyond_the_rows_is_counted(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "ROWS", 2)
    at = visit(config, monkeypatch, day=DAY)
    assert len(at.dataframe[0].value) == 2
    assert "The first 2 of 3 rows are shown" in text(at)
    assert figures(at)["requests"] == "3"


def test_one_is_opened_by_its_address(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = visit(config, monkeypatch, day=DAY, request="test/a")
    told = figures(at)
    assert (told["took"], told["waited"], told["to the first token"]) == (
        "10 min", "0.00 s", "60.0 s",
    )  # fmt: skip
    assert told["card time"] == "450.0 s"
    assert (told["new input tokens"], told["cached"]) == ("100", "0")
    # Without keys of its prefixes nobody knows what had been computed before.
    assert told["recomputed"] == words.UNKNOWN
    assert "It cost **0.125 USD**: 0.125 hardware, 0.000 electricity." in text(at)
    assert "It arrived at 08:00:00, ran on on-A and was answered." in text(at)
    (chart,) = at.get("vega_lite_chart")
    assert chart.proto.alt
    bills = at.dataframe[-1].value
    # 100 tokens in at 1, 50 out at 3 USD a million.
    assert bills["no cache"].tolist() == [0.00025]
    assert all(len(metric.help) > 20 for metric in at.metric)


def test_an_opened_request_tells_its_decision_and_its_misses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = month_page.write(tmp_path, told=decided())
    at = visit(config, monkeypatch, day=DAY, request="test/2")
    told, said = figures(at), text(at)
    assert "estimated_wait** chose **on-B**, as the deepest part of this prompt" in said
    assert "In the shadow, round_robin would have chosen on-A." in said
    assert (told["cached, predicted"], told["cached, reported"]) == ("100", "0")
    assert told["against the quickest other"] == "0.50 s later"
    (weighed,) = [frame.value for frame in at.dataframe if "pending" in frame.value]
    assert weighed.to_dict("list") == {
        "engine": ["on-A", "on-B"], "was": ["shadow's", "chosen"], "hit": [60, 0],
        "pending": [5, 0], "in flight": [2, 0], "estimate": [0.04, 0.09],
    }  # fmt: skip
    (missed,) = [frame.value for frame in at.dataframe if "why computed" in frame.value]
    assert missed["why computed"].to_list() == ["computed on another card", "new"]
    assert missed["tokens"].to_list() == [200, 100]
    assert missed["card time"].to_list() == ["6.67 s", "3.33 s"]
    # Whose hit was only estimated says so, wherever it stands.
    at = visit(config, monkeypatch, day=DAY, request="test/4")
    assert [m.value for m in at.metric if m.label == "cached, estimated"] == ["200", "200"]
    # One that told no decision has none.
    said = text(visit(config, monkeypatch, day=DAY, request="test/q2"))
    assert "Why it ran here" not in said


def test_a_name_that_is_not_there_says_so(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("test/nobody", "nonsense", "/", "test/next"):
        at = visit(config, monkeypatch, day=DAY, request=name)
        assert "No request of this name ended on this day" in text(at)


def test_without_requests_it_says_where_to_point_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(tmp_path / "ledger").close()
    at = visit(page.write_settings(tmp_path, page.HARDWARE), monkeypatch)
    assert "No requests in October 2026" in text(at)


def test_figures_are_the_days_own(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(config)
    rows, _ = lookups.of_day(settings, DAY)
    shelf = Shelf(Ledger(settings.store_path()), settings, now_ns())
    span = day_at(int(rows["received_ns"].min()), settings.zone)  # type: ignore[arg-type]
    (day,) = shelf.days(span.from_ns, span.to_ns)
    assert rows.drop("ends_later").equals(requests(day, None).drop("ends_later"))
    told = figures(visit(config, monkeypatch, day=DAY))
    assert told["USD that day"] == words.headline(totals(rows)["nano"])


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_the_time_line_compiles(config: Path, colours: Palette) -> None:
    spec = request_charts.timeline(one(config, "b"), {"A": "card0"}, UTC, colours).to_dict()
    assert isinstance(spec["height"], int)


def test_bars_are_cut_at_the_window_and_split_at_the_first_token(config: Path) -> None:
    found = one(config, "b")
    blocks = list(request_charts.blocks_of(found))
    rows = request_charts.bar_rows(found, blocks)
    mine = [(row["phase"], row["from"], row["to"]) for row in rows if row["is_it"]]
    assert mine == [("prefill", 0.0, 60.0), ("output", 60.0, 600.0)]
    first = [(row["phase"], row["from"], row["to"]) for row in rows if row["who"] == "s1"]
    # 300 s before it came a was there, its first token out; b's window shows half its length.
    assert first == [("prefill", -300.0, -240.0), ("output", -240.0, 300.0)]
    # c told no first token.
    assert [row["phase"] for row in rows if row["who"] == "c"] == ["computing, first token untold"]


def test_power_that_is_not_known_is_hatched(config: Path) -> None:
    found = one(config, "b")
    rows = request_charts.watt_rows(found, list(request_charts.blocks_of(found)))
    assert {row["watts"] for row in rows} == {300.0}
    gap = found.watts[:1].with_columns(mw=None)
    unknown = dataclasses.replace(found, watts=gap)
    (row,) = request_charts.watt_rows(unknown, list(request_charts.blocks_of(unknown)))
    assert (row["watts"], row["text"]) == (None, words.UNKNOWN)


def test_lengths_in_the_unit_that_fits() -> None:
    told = {650_000_000: "0.65 s", 74_760_000_000: "74.8 s", 900 * SECOND: "15 min"}
    assert {ns: request_charts.short(ns) for ns in told} == told
    at_ns = int(dt.datetime(2026, 10, 5, 8, 0, 7, tzinfo=dt.UTC).timestamp()) * SECOND
    assert request_charts.second(at_ns, UTC) == "08:00:07"


def test_money_by_category_adds_up_as_printed() -> None:
    attempt: dict[str, Any] = {
        "nano": 2_370_500, "capital_nano": 1_380_400, "energy_nano": 990_100, "other_nano": 0,
    }  # fmt: skip
    told = request_words.money(attempt, "USD")
    assert told == "It cost **0.00237 USD**: 0.00138 hardware, 0.00099 electricity."
