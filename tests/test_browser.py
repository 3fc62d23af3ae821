"""The page in a real browser: it renders, fits, stays on this machine, and tells the truth."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from rig import page as rig
from rig.browser import BEYOND, CLIPPED, OVERLAPS, SCROLLED, Visit, chromium, served
from rig.ports import free_port

from analytics.month import month
from analytics.periods import month_of
from analytics.read import Ledger
from collector.demo.rig import RIG
from collector.settings import load
from dashboard import words

LAST_WORDS = "text=How far to trust this"
LOOKS = pytest.mark.parametrize("width", [1400, 420], ids=["wide", "narrow"])
THEMES = pytest.mark.parametrize("scheme", ["light", "dark"])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rig")
    rig.write_ledger(folder)
    listen = f"127.0.0.1:{free_port()}"
    return rig.write_settings(
        folder, rig.HARDWARE, rig.FREE_POWER, rig.PRICES, name=RIG, listen=listen
    )


@pytest.fixture(scope="module")
def address(config: Path) -> Iterator[str]:
    with served(config) as address:
        yield address


@pytest.fixture
def visit(browser: Browser, address: str, scheme: str, width: int) -> Iterator[Visit]:
    """One look at October, once everything is drawn."""
    with closing(Visit(browser, scheme, width)) as made:
        made.page.goto(f"{address}/?month={rig.MONTH}")
        made.page.wait_for_selector(LAST_WORDS, timeout=90_000)
        for chart in range(4):
            made.page.locator(".stVegaLiteChart svg").nth(chart).wait_for(timeout=30_000)
        yield made


@THEMES
@LOOKS
def test_the_page_renders_fits_and_stays_at_home(visit: Visit, width: int) -> None:
    assert visit.complaints == []
    hosts = {
        urlsplit(url).hostname for url in visit.asked if not url.startswith(("data:", "blob:"))
    }
    assert hosts == {"127.0.0.1"}
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    assert visit.page.evaluate(SCROLLED) == []
    assert visit.page.evaluate(CLIPPED) == []
    assert visit.page.evaluate(OVERLAPS) == []
    assert visit.page.evaluate(BEYOND) == []
    assert visit.page.locator(".st-key-rig").get_by_text("DEMO").first.is_visible()


@pytest.mark.parametrize("scheme", ["light"])
@pytest.mark.parametrize("width", [1400])
def test_the_headline_is_the_months_own(visit: Visit, config: Path) -> None:
    settings = load(config)
    period = month_of(rig.MONTH, settings.zone)
    told = month(Ledger(settings.store_path()), settings, period, time.time_ns())
    full = words.headline(told["cost_per_mtok"]["full"]["output"])
    headline = visit.page.locator(".st-key-answer [data-testid=stMetricValue]")
    assert [text.strip() for text in headline.all_inner_texts()] == [full, rig.API]
    assert full == rig.FULL


@pytest.mark.parametrize("width", [1400])
@THEMES
def test_each_theme_has_its_own_ground_and_chart_colours(visit: Visit, scheme: str) -> None:
    ground = visit.page.evaluate(
        "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    )
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}[scheme]
    busy = {"light": "#0f4c81", "dark": "#8cc4f5"}[scheme]
    assert visit.page.locator(f".stVegaLiteChart svg [fill='{busy}']").count() > 0


def test_another_sites_name_does_not_reach_the_books(address: str) -> None:
    """A name that resolves to loopback (DNS rebinding) gets no socket."""
    host, port = urlsplit(address).hostname, urlsplit(address).port
    for name, expected in (("evil.example", b"403"), ("127.0.0.1", b"101")):
        with socket.create_connection((host, port), timeout=10) as raw:
            raw.sendall(
                f"GET /_stcore/stream HTTP/1.1\r\nHost: {name}:{port}\r\nConnection: Upgrade\r\n"
                "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
            )
            assert raw.recv(64).split()[1] == expected, name


def test_without_the_extra_it_says_what_to_install(config: Path, tmp_path: Path) -> None:
    hide = tmp_path / "sitecustomize.py"
    hide.write_text(
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'streamlit' else real(name, *a)\n"
    )
    command = [sys.executable, "-P", "-m", "rigledger", "--config", str(config), "dashboard"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith(
        "rigledger dashboard: streamlit not installed; install rigledger"
    )
