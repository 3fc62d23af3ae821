"""The newcomer's way but for the clone: pages, another price, last month's report, by clicks."""

import datetime as dt
from contextlib import closing
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from newcomer import Change, Watch, digits, lost_nano, walk
from rig import page as rig
from rig.browser import Visit, chromium, served
from rig.ports import free_port

import rigledger


def test_the_scripts_own_arithmetic_holds_on_paper() -> None:
    """1 USD an hour: October's 744 hours, and the 721 of New York's November."""
    bought = dt.date(2026, 10, 1)
    assert lost_nano("35064", bought, 4, "2026-10", ZoneInfo("UTC")) == 744 * 10**9
    assert lost_nano("35064", bought, 4, "2026-11", ZoneInfo("America/New_York")) == 721 * 10**9
    assert digits(744 * 10**9, 2_000_000) == rig.FULL


@pytest.fixture
def config(tmp_path: Path) -> Path:
    rig.write_ledger(tmp_path)
    listen = f"127.0.0.1:{free_port()}"
    silent = '\n[collector]\nlisten = "127.0.0.1:9"\n'
    tables = (rig.HARDWARE, rig.FREE_POWER, rig.PRICES, silent)
    return rig.write_settings(tmp_path, *tables, listen=listen)


def test_another_price_moves_the_headline_and_the_report_is_saved(
    config: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    # Half the price, half of 372.
    change = Change(rig.MONTH, "17532", rig.FULL, "186")
    watch = Watch()
    with chromium() as browser, served(config) as address, closing(Visit(browser)) as visit:
        saved = walk(visit.page, address, change, watch, None)
        assert visit.complaints == []
    assert len(watch.steps) == 7
    capsysbinary.readouterr()
    arguments = ["--config", str(config), "report", rig.MONTH, "--format", "html"]
    assert rigledger.main(arguments) == 0
    assert saved == capsysbinary.readouterr().out
    assert b'value="186000000000">186<' in saved
