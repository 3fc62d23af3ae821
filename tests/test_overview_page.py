"""The overview page over real ledgers, without a browser."""

import shutil
import time
from pathlib import Path

import pytest
from rig import page
from rig.ledger import attempt
from rig.page import PATIENCE_S
from streamlit.testing.v1 import AppTest

from collector.demo.rig import RIG
from collector.store import Store

pytestmark = pytest.mark.usefixtures("forget")

APP = Path(__file__).parent.parent / "dashboard" / "app.py"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger of which the page has built the days."""
    folder = tmp_path_factory.mktemp("built")
    page.write_ledger(folder)
    config = page.write_settings(folder, page.HARDWARE, page.FREE_POWER, page.PRICES)
    with pytest.MonkeyPatch.context() as patch:
        Show(folder, folder, patch).run(config, page.MONTH)
    page.forget_all()
    return folder / "ledger"


@pytest.fixture
def show(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Show":
    return Show(built, tmp_path, monkeypatch)


class Show:
    """Runs the pages on settings and a ledger in one folder."""

    def __init__(self, built: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.built, self.folder = built, folder
        self.monkeypatch = monkeypatch

    def __call__(
        self, *tables: str, month: str | None = page.MONTH, ledger: bool = True, name: str = "desk"
    ) -> AppTest:
        config = page.write_settings(self.folder, *tables, name=name)
        if ledger:
            shutil.copytree(self.built, self.folder / "ledger", dirs_exist_ok=True)
        return self.run(config, month)

    def run(self, config: Path, month: str | None) -> AppTest:
        self.monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
        at = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
        if month:
            at.query_params["month"] = month
        return at.run()


def figures(at: AppTest) -> dict[str, str]:
    assert not at.exception
    return {metric.label: metric.value for metric in at.metric}


def text(at: AppTest) -> str:
    assert not at.exception
    return "\n".join(element.value for element in [*at.markdown, *at.caption, *at.subheader])


def test_the_answer_is_the_one_worked_out_on_paper(show: Show) -> None:
    at = show(page.HARDWARE, page.FREE_POWER, page.PRICES)
    told = figures(at)
    assert told["USD per million output tokens, at least"] == page.FULL
    assert told["the same requests at an API"] == page.API
    assert told["USD more than the API would have cost, at least"] == page.LOST
    assert told["output tokens"] == "2 million"
    assert told["requests"] == "1"
    assert "would have cost at least **737 USD less** than the rig did" in text(at)
    assert "a bill of 7.00 USD with the cache hits the rig had, 7.00 without any" in text(at)
    told = "October 2026 cost **at least 744.00 USD**: 744.00 hardware and electricity unknown."
    assert told in text(at)


def test_what_is_not_known_is_not_shown_as_zero(show: Show) -> None:
    at = show(page.HARDWARE, page.PRICES)
    told = figures(at)
    assert told["USD per million output tokens, at least"] == page.FULL
    assert "at least 744.00 USD**: 744.00 hardware and electricity not priced." in text(at)
    assert told["USD saved against marginal"] == "unknown"
    assert told["marginal price per million"] == "unknown"


def test_tokens_that_a_model_never_told_are_unknown_in_its_row(show: Show) -> None:
    page.write_ledger(show.folder)
    mute = attempt("r2", 7200, 7300, model="mute", output_tokens=None)
    with Store(show.folder / "ledger") as store:
        store.append([mute])
    at = show(page.HARDWARE, ledger=False)
    assert not at.exception
    (table,) = (each for each in at.dataframe if "output" in each.value)
    rows = dict(zip(table.value["name"], table.value["output"].isna(), strict=True))
    assert rows == {"m": False, "mute": True}
    assert table.proto.placeholder == "unknown"


def test_every_number_explains_itself_and_every_chart_has_words(show: Show) -> None:
    at = show(page.HARDWARE, page.FREE_POWER, page.PRICES)
    assert len(at.metric) == 11
    for metric in at.metric:
        assert len(metric.help) > 40, metric.label
    charts = at.get("vega_lite_chart")
    assert len(charts) == 4
    assert all(chart.proto.alt for chart in charts)


def test_time_without_a_witness_is_told(show: Show) -> None:
    at = show(page.HARDWARE, page.FREE_POWER, page.PRICES)
    assert "it is booked as unknown" in text(at)
    assert "nothing witnessed this time" in "\n".join(html.body for html in at.get("html"))


def test_without_a_ledger_it_says_how_to_start(show: Show) -> None:
    at = show(page.HARDWARE, ledger=False)
    assert "No ledger yet" in text(at)
    assert "rigledger up" in at.code[0].value
    assert not at.metric


def test_without_requests_it_says_where_to_point_clients(show: Show) -> None:
    at = show(page.HARDWARE, month=None)
    assert "No requests in" in text(at)
    assert "[[taps]]" in at.code[0].value
    assert "USD per million output tokens" not in figures(at)


def test_without_prices_it_says_what_to_add(show: Show) -> None:
    at = show()
    labels = [expander.label for expander in at.expander]
    assert [label.partition(":")[0] for label in labels] == [
        "No hardware price set",
        "No electricity price set",
        "No API prices set",
    ]
    shown = [code.value for code in at.code]
    for table in ("[[hardware]]", "[[electricity]]", "[[compare.prices]]"):
        assert any(table in lines for lines in shown), table


def test_the_lines_it_tells_to_add_are_valid(show: Show) -> None:
    lines = "\n".join(code.value for code in show().code)
    config = page.write_settings(show.folder, f"\n{lines}\n")
    told = figures(show.run(config, page.MONTH))
    assert told["requests"] == "1"


def test_settings_that_cannot_be_used_are_one_sentence(show: Show) -> None:
    at = show('\n[[hardware]]\nname = "box"\nprice = 17000\n', ledger=False)
    assert not at.exception
    (error,) = at.error
    assert "rigledger.toml:" in error.value
    assert "price" in error.value


def test_a_damaged_ledger_is_one_sentence_with_its_remedy(show: Show) -> None:
    (show.folder / "ledger").mkdir()
    (show.folder / "ledger" / "manifest.sqlite").write_bytes(b"no database" * 1000)
    at = show(page.HARDWARE, ledger=False)
    assert not at.exception
    (error,) = at.error
    assert "cannot be read" in error.value
    assert "check that this user may read" in error.value


def test_the_demo_is_labelled_and_nothing_else(show: Show) -> None:
    assert "DEMO" in text(show(page.HARDWARE, name=RIG))
    assert "DEMO" not in text(show(page.HARDWARE, ledger=False, name="desk"))


def test_the_month_is_kept_in_the_address(show: Show) -> None:
    at = show(page.HARDWARE)
    assert at.selectbox[0].value == at.query_params["month"] == page.MONTH
    running = at.selectbox[0].options[0]
    assert running == time.strftime("%B %Y", time.gmtime())
    at.selectbox[0].select_index(0).run()
    assert at.query_params["month"] == time.strftime("%Y-%m", time.gmtime())
