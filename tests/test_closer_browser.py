"""The compare page and the requests page in a real browser: they fit, stay here, and open rows."""

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser
from rig import page as rig
from rig.browser import BEYOND, Visit, chromium, served
from rig.ledger import SECOND, attempt, sample
from rig.ports import free_port
from test_browser import CLIPPED, OVERLAPS, SCROLLED

from collector.store import Store

SHEETS = '\n[compare]\nsheets = ["deepseek/deepseek-v4.1-flash"]\n'
LAST_WORDS = {"Compare": "text=What this rests on", "Requests": "text=The same request elsewhere"}
SEEN = "How far to trust this"
# The idle draw is not known, so there is no curve of hours.
CHARTS = {"Compare": 2, "Requests": 1}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Forty requests of an hour on one card, three at a time, and its watts."""
    folder = tmp_path_factory.mktemp("rig")
    store = Store(folder / "ledger")
    told = {"input_tokens": 60_000, "cache_read_tokens": 40_000, "output_tokens": 4_000}
    store.append(
        [
            *(
                attempt(f"r{at}", at, at + 200, ttft_ns=20 * SECOND, session=f"s{at}", **told)
                for at in range(0, 3000, 75)
            ),
            *(sample("A", at, power_mw=300_000 + 1000 * (at % 90)) for at in range(0, 3600, 10)),
        ]
    )
    store.seal()
    store.close()
    listen = f"127.0.0.1:{free_port()}"
    tables = (rig.HARDWARE, rig.FREE_POWER, rig.PRICES, SHEETS)
    with served(rig.write_settings(folder, *tables, listen=listen)) as address:
        yield address


def look(visit: Visit, address: str, name: str, width: int) -> None:
    """Go to a page as people do, and wait until all of it is drawn."""
    visit.page.goto(f"{address}/?month={rig.MONTH}")
    visit.page.wait_for_selector(f"text={SEEN}", timeout=90_000)
    visit.page.get_by_role("link", name=name).click()
    if name == "Requests":
        visit.page.wait_for_selector("text=Tick a row", timeout=90_000)
        # Rows are drawn on a canvas: the tick of the first one lies below the header's.
        visit.page.locator(".stDataFrame .dvn-scroller").first.click(position={"x": 18, "y": 52})
    visit.page.wait_for_selector(LAST_WORDS[name], timeout=90_000)
    visit.page.set_viewport_size({"width": width, "height": 1000})
    for chart in range(CHARTS[name]):
        visit.page.locator(".stVegaLiteChart svg").nth(chart).wait_for(timeout=30_000)
    visit.page.wait_for_timeout(500)


@pytest.mark.parametrize("name", ["Compare", "Requests"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420], ids=["wide", "narrow"])
def test_the_page_renders_fits_and_stays_at_home(
    browser: Browser, address: str, name: str, scheme: str, width: int
) -> None:
    with closing(Visit(browser, scheme)) as visit:
        look(visit, address, name, width)
        assert visit.complaints == []
        hosts = {
            urlsplit(url).hostname for url in visit.asked if not url.startswith(("data:", "blob:"))
        }
        assert hosts == {"127.0.0.1"}
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        assert visit.page.evaluate(SCROLLED) == []
        assert visit.page.evaluate(CLIPPED) == []
        assert visit.page.evaluate(BEYOND) == []
        # A name lies over its own halo.
        over = [told.split(" over ") for told in visit.page.evaluate(OVERLAPS)]
        assert [names for names in over if len(set(names)) > 1] == []


def test_a_ticked_row_is_opened_and_named_in_the_address(browser: Browser, address: str) -> None:
    with closing(Visit(browser)) as visit:
        look(visit, address, "Requests", 1400)
        # The newest request came last.
        assert "request=test%2Fr2925" in visit.page.url
        assert visit.page.get_by_text("It arrived at 08:48:45, ran on").is_visible()
        visit.page.get_by_role("button", name="Close", exact=True).click()
        gone = visit.page.get_by_role("heading", name="One request")
        gone.wait_for(state="detached", timeout=30_000)
        assert "request=" not in visit.page.url
