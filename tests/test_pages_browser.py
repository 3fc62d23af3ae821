"""Cost, utilization and routing in a real browser: they fit, stay on this machine, and keep the
month."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page
from rig import month_page, page
from rig.browser import CLIPPED, OVERLAPS, SCROLLED, Visit, chromium, served
from rig.ports import free_port
from test_routing_page import events as decided

from analytics.render import table
from dashboard import words

LAST_WORDS = "Every figure as CSV"
LOOKS = [("light", 1400), ("dark", 1400), ("light", 390), ("dark", 390)]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    listen = f'\n[dashboard]\nlisten = "127.0.0.1:{free_port()}"\n'
    told = [*month_page.events(), *decided(2400)]
    return month_page.write(tmp_path_factory.mktemp("rig"), page.PRICES, listen, told=told)


@pytest.fixture(scope="module")
def address(config: Path) -> Iterator[str]:
    with served(config) as address:
        yield address


def go(shown: Page, name: str) -> None:
    """Follow the link to a page, which a narrow window keeps in a drawer until it is opened."""
    drawer = shown.get_by_test_id("stExpandSidebarButton")
    if drawer.is_visible():
        drawer.click()
    shown.get_by_role("link", name=name, exact=True).click()


@pytest.mark.parametrize(("scheme", "width"), LOOKS, ids=[f"{s}-{w}" for s, w in LOOKS])
def test_the_pages_fit_and_keep_the_month(
    browser: Browser, address: str, config: Path, scheme: str, width: int
) -> None:
    document = month_page.document(config)
    headlines = {
        "Cost": words.headline(document["cost_nano"]["total"]),
        "Utilization": words.share(document["layers"]["chain"][1]["left"]),
        "Routing": words.headline(document["routing"]["at_stake"]["nano"]),
    }
    with closing(Visit(browser, scheme, width)) as visit:
        shown = visit.page
        # Not the newest month, so that only what was chosen can bring it back.
        shown.goto(f"{address}/?month={page.MONTH}")
        shown.wait_for_selector("text=How far to trust this", timeout=90_000)
        for name, charts in (("Cost", 2), ("Utilization", 4), ("Routing", 5)):
            go(shown, name)
            shown.wait_for_url(f"**/{name.lower()}?month={page.MONTH}", timeout=30_000)
            shown.get_by_role("button", name=LAST_WORDS).wait_for(timeout=60_000)
            for chart in range(charts):
                shown.locator(".stVegaLiteChart svg").nth(chart).wait_for(timeout=30_000)
            headline = shown.locator(".st-key-answer [data-testid=stMetricValue]").first
            assert headline.inner_text().strip() == headlines[name]
            assert parse_qs(urlsplit(shown.url).query) == {"month": [page.MONTH]}
            assert shown.evaluate("document.documentElement.scrollWidth") <= width, name
            for faults in (SCROLLED, CLIPPED, OVERLAPS):
                assert shown.evaluate(faults) == [], name
        # Its own address opens a page as well, without a complaint.
        shown.goto(shown.url)
        shown.get_by_role("button", name=LAST_WORDS).wait_for(timeout=60_000)
        hosts = {urlsplit(u).hostname for u in visit.asked if not u.startswith(("data:", "blob:"))}
        assert hosts == {"127.0.0.1"}
        assert visit.complaints == []


@pytest.mark.parametrize("name", ["Cost", "Utilization", "Routing"])
def test_every_figure_is_saved_as_a_file(
    browser: Browser, address: str, config: Path, name: str
) -> None:
    document = month_page.document(config)
    groups, currency = document["groups"], document["currency"]
    told = {
        "Cost": ("cost-by-project", table.as_wide_table(groups["project"], currency)),
        "Utilization": ("cards", table.as_wide_table(groups["card"], currency)),
        "Routing": (
            "routing",
            table.as_table({"routing": document["routing"], "currency": currency}),
        ),
    }
    file, figures = told[name]
    with closing(Visit(browser)) as visit:
        visit.page.goto(f"{address}/{name.lower()}?month={page.MONTH}")
        button = visit.page.get_by_role("button", name=LAST_WORDS)
        button.wait_for(timeout=60_000)
        with visit.page.expect_download(timeout=60_000) as saved:
            button.click()
        assert saved.value.suggested_filename == f"{file}-{page.MONTH}.csv"
        assert saved.value.path().read_text(encoding="utf-8") == figures
