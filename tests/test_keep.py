"""The month's report as a file that the overview saves."""

from pathlib import Path

import pytest
from rig import page
from rig.ledger import SECOND, START, attempt
from rig.page import PATIENCE_S
from streamlit.testing.v1 import AppTest

import rigledger
from analytics.periods import month_at, month_before
from collector.clock import now_ns
from collector.closed import DamagedClosing
from collector.settings import Settings, load
from collector.store import Store
from dashboard import keep

pytestmark = pytest.mark.usefixtures("forget")

SCRIPT = f"""
from dashboard import loaders
from dashboard.views import overview
overview.page(loaders.settings(), "{page.MONTH}")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rig once the page has built its days."""
    folder = tmp_path_factory.mktemp("built")
    page.write_ledger(folder)
    config = page.write_settings(folder, page.HARDWARE, page.FREE_POWER, page.PRICES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIGLEDGER_CONFIG", str(config))
        assert not AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S).run().exception
    page.forget_all()
    return folder


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    return page.copied(built, tmp_path)


def running(settings: Settings) -> str:
    return month_at(now_ns(), settings.zone).name


def test_the_month_is_the_one_shown_or_the_last_that_is_over(config: Path) -> None:
    settings = load(config)
    last = month_before(month_at(now_ns(), settings.zone), settings.zone).name
    assert keep.month_to_keep(settings, page.MONTH) == page.MONTH
    assert keep.month_to_keep(settings, running(settings)) == last
    assert keep.month_to_keep(settings, "2026-09") is None


def test_where_the_books_begin_this_month_there_is_none_to_keep(tmp_path: Path) -> None:
    settings = load(page.write_settings(tmp_path, page.HARDWARE))
    with Store(settings.store_path()) as store:
        start = (now_ns() - START) // SECOND
        store.append([attempt("r1", start, start + 1, output_tokens=1)])
    assert keep.month_to_keep(settings, running(settings)) is None


def test_the_file_is_what_the_command_prints(
    config: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    arguments = ["--config", str(config), "report", page.MONTH, "--format", "html"]
    assert rigledger.main(arguments) == 0
    printed = capsysbinary.readouterr().out
    assert printed.startswith(b"<!doctype html>")
    assert keep.as_file(config, page.MONTH) == printed


def test_the_overview_offers_it(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    at = AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S).run()
    assert not at.exception
    (button,) = at.get("download_button")
    assert button.proto.label == "Save the report of October 2026 (HTML)"


def test_a_closed_month_that_was_changed_is_told_and_not_offered(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rigledger.main(["--config", str(config), "close", page.MONTH]) == 0
    (file,) = (config.parent / "ledger").rglob(f"{page.MONTH}/*.json")
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b"744", b"743"))
    with pytest.raises(DamagedClosing):
        keep.month_to_keep(load(config), page.MONTH)
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    at = AppTest.from_string(SCRIPT, default_timeout=PATIENCE_S).run()
    assert not at.exception
    assert not at.get("download_button")
    (error,) = at.error
    assert str(file.name) in error.value.replace("\\", "")
