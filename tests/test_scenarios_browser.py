"""What-ifs in a real browser: sliders move, names are kept, the page fits and stays at home."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect
from rig.browser import BEYOND, CLIPPED, SCROLLED, Visit, chromium, served
from rig.ports import free_port
from rig.worked_day import write

from collector.scenarios import Scenario, kept, save

PAGE = (Path(__file__).parent.parent / "docs/definitions.md").read_text(encoding="utf-8")
LAST_WORDS = "What this rests on"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    listen = f"127.0.0.1:{free_port()}"
    return write(PAGE, tmp_path, listen)


@pytest.fixture
def address(config: Path) -> Iterator[str]:
    with served(config) as address:
        yield f"{address}/compare?month=2026-10"


def asked(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def test_a_slider_moves_and_what_it_says_is_kept_and_deleted(address: str, config: Path) -> None:
    with chromium() as browser, closing(Visit(browser)) as visit:
        page = visit.page
        page.goto(address)
        page.get_by_text(LAST_WORDS).wait_for(timeout=90_000)
        price = page.get_by_role("slider", name="price of the hardware, USD")
        expect(price).to_have_value("35064")
        price.press("ArrowLeft")
        page.wait_for_url("**hardware_price=35063*", timeout=30_000)
        page.get_by_role("textbox", name="Name of the scenario").fill("a little less")
        page.get_by_role("button", name="Keep it").click()
        page.get_by_role("button", name="Delete").wait_for(timeout=30_000)
        assert kept(config) == [Scenario(name="a little less", hardware_price="35063")]
        page.get_by_role("button", name="Back to what was measured").click()
        expect(price).to_have_value("35064", timeout=30_000)
        assert asked(page) == {"month": ["2026-10"]}
        page.get_by_role("button", name="Show on the sliders").click()
        expect(price).to_have_value("35063", timeout=30_000)
        page.get_by_role("button", name="Delete").click()
        page.get_by_role("button", name="Delete").wait_for(state="detached", timeout=30_000)
        assert kept(config) == []
        assert visit.complaints == []


def test_it_fits_narrow_and_wide_by_day_and_by_night(address: str, config: Path) -> None:
    long = Scenario(
        name="a name of sixty letters, which is as many as it may have",
        hours_per_day="4.55",
        hardware_price="12345.67",
        price_per_kwh="1.23456",
    )
    save(config, long)
    with chromium() as browser:
        for scheme, width in (("light", 1400), ("dark", 420)):
            with closing(Visit(browser, scheme, width)) as visit:
                page = visit.page
                page.goto(f"{address}&hours_per_day=4.55&hardware_price=12345.67")
                page.get_by_text(LAST_WORDS).wait_for(timeout=90_000)
                page.locator(".stVegaLiteChart svg").nth(3).wait_for(timeout=30_000)
                page.wait_for_timeout(500)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                for faults in (SCROLLED, CLIPPED, BEYOND):
                    assert page.evaluate(faults) == []
                assert asked(page)["hardware_price"] == ["12345.67"]
                hosts = {
                    urlsplit(url).hostname
                    for url in visit.asked
                    if not url.startswith(("data:", "blob:"))
                }
                assert hosts == {"127.0.0.1"}
                assert visit.complaints == []
