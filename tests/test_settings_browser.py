"""Settings in a real browser: a saved price moves the headline as the second set of books says."""

import datetime as dt
import random
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page
from rig import page as rig
from rig.accessible import PALE
from rig.browser import Visit, chromium, served
from rig.ledger import attempt, heartbeats, sample
from rig.oracle import Books
from rig.ports import free_port

from collector.clock import now_ns, to_ns
from collector.events import Event
from collector.settings import load
from collector.store import Store

SEED = 11
LAST_WORDS = "text=Everything else in the file"
AT_REST = "() => document.querySelector('.stApp').dataset.testScriptState === 'notRunning'"
POWER = """
[[electricity]]  # the contract
from = 2026-10-01
price_per_kwh = "0.20"
host_watts = 100
"""


def events() -> list[Event]:
    """Two hours of one card: overlapping requests, a witness, readings every minute."""
    dice = random.Random(SEED)
    made: list[Event] = list(heartbeats(0, 7200, ["on-A"]))
    for number in range(12):
        start = dice.uniform(0, 7000)
        tokens = dice.randint(1_000_000, 9_000_000)
        length = dice.uniform(5, 190)
        made.append(attempt(f"r{number:02}", start, start + length, output_tokens=tokens))
    total = 0
    for second in range(0, 7200, 60):
        total += dice.randint(30, 400) * 60 * 10**6
        made.append(sample("A", second, power_mw=40_000, energy_uj_total=total, counter_epoch="e"))
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(desk(tmp_path_factory.mktemp("looks"))) as address:
        yield address


def desk(folder: Path) -> Path:
    with Store(folder / "ledger") as store:
        store.append(events())
        store.seal()
    listen = f"127.0.0.1:{free_port()}"
    silent = '\n[collector]\nlisten = "127.0.0.1:9"\n'
    return rig.write_settings(folder, rig.HARDWARE, POWER, silent, listen=listen)


def expected(config: Path) -> str:
    """The second set's total by output tokens for October, with three digits."""
    start, end = (to_ns(dt.datetime(2026, month, 1, tzinfo=dt.UTC)) for month in (10, 11))
    told = events()
    books = Books(told, load(config), start, end, now_ns())
    nano = sum(sum(line.values()) for line in books.money.values()) + books.unassigned
    tokens = sum(request.event.output_tokens or 0 for request in books.requests)
    return f"{nano / tokens / 1000:#.3g}"


def open_settings(page: Page, address: str) -> None:
    page.goto(f"{address}/?month={rig.MONTH}")
    page.locator(".st-key-rig").wait_for(timeout=60_000)
    if page.viewport_size and page.viewport_size["width"] < 700:
        page.get_by_test_id("stExpandSidebarButton").click()
    page.get_by_role("link", name="Settings").click()
    page.wait_for_selector(LAST_WORDS, timeout=30_000)
    page.wait_for_function(AT_REST, timeout=30_000)  # a click before may meet what is replaced


def headline(page: Page, address: str) -> str:
    page.goto(f"{address}/?month={rig.MONTH}")
    page.wait_for_selector("text=How far to trust this", timeout=90_000)
    figure = page.locator(".st-key-answer [data-testid=stMetricValue]").first
    return figure.inner_text().strip()


def test_a_saved_price_moves_the_headline_as_the_second_set_says(
    browser: Browser, tmp_path: Path
) -> None:
    config = desk(tmp_path)
    before = config.read_text()
    with served(config) as address, closing(Visit(browser)) as visit:
        page = visit.page
        first = expected(config)
        assert headline(page, address) == first

        open_settings(page, address)
        page.get_by_text("Correct an entry", exact=True).first.click()
        price = page.get_by_role("textbox", name="price, USD", exact=True)
        price.fill("12345.67")
        page.get_by_role("button", name="See what it changes").click()
        told = page.locator(".st-key-preview_hardware").get_by_text("This changes")
        told.wait_for(timeout=60_000)
        assert config.read_text() == before

        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_text("Saved: hardware box").wait_for(timeout=30_000)
        assert load(config).hardware[0].price == "12345.67"
        second = expected(config)
        assert second != first
        assert headline(page, address) == second

        open_settings(page, address)
        page.get_by_role("button", name="Undo").click()
        page.get_by_text("Undone: hardware box").wait_for(timeout=30_000)
        assert config.read_text() == before
        assert headline(page, address) == first
        assert visit.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_a_change_does_to_the_file_can_be_read(
    browser: Browser, address: str, scheme: str
) -> None:
    with closing(Visit(browser, scheme)) as visit:
        page = visit.page
        page.set_viewport_size({"width": 1400, "height": 3000})  # all of it is in sight
        headline(page, address)
        open_settings(page, address)
        page.get_by_text("Correct an entry", exact=True).first.click()
        page.get_by_role("textbox", name="price, USD", exact=True).fill("12345.67")
        page.get_by_role("button", name="See what it changes").click()
        for kind in ("deleted", "inserted", "unchanged"):
            line = page.locator(f".st-key-preview_hardware .token.{kind}.line").first
            line.wait_for(timeout=60_000)
        assert page.evaluate(PALE)[1] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420], ids=["wide", "narrow"])
def test_the_page_renders_fits_and_stays_at_home(
    browser: Browser, address: str, scheme: str, width: int
) -> None:
    with closing(Visit(browser, scheme, width)) as visit:
        open_settings(visit.page, address)
        visit.page.get_by_text("No collector answers").wait_for(timeout=30_000)
        assert visit.complaints == []
        hosts = {urlsplit(u).hostname for u in visit.asked if not u.startswith(("data:", "blob:"))}
        assert hosts == {"127.0.0.1"}
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        ground = visit.page.evaluate(
            "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
        )
        assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(22, 24, 29)"}[scheme]
        # The navigation must not lie over the rig's name.
        name = visit.page.locator(".st-key-rig").bounding_box()
        bar = visit.page.get_by_test_id("stHeader").bounding_box()
        assert name is not None
        assert bar is not None
        assert name["y"] >= bar["y"] + bar["height"]
