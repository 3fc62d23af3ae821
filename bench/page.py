"""How soon the overview shows its figures in a real browser that has been there before."""

import contextlib
import shutil
import time
from itertools import takewhile
from pathlib import Path
from statistics import median

import msgspec
from playwright.sync_api import BrowserContext, Error, Playwright, sync_playwright

from bench.children import free_address, rigledger, running
from bench.result import Result, figure, spread
from collector.clock import now_ns
from collector.demo import ledger as demo
from collector.demo import rig
from collector.events import AnyEvent
from collector.store import Store

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
FIGURE = "[data-testid=stMetricValue]:not(.st-key-unseen *)"
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
_EVENTS = msgspec.json.Decoder(AnyEvent)


class NoBrowser(RuntimeError):
    """There is no Chromium on this machine."""


def measure(work: Path, *, rounds: int = 7, days: int = 70) -> Result:
    """Seconds from a page's opening until its first figure stands there."""
    folder = work.resolve() / "page"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    address = free_address()
    config, rows = write_demo(folder, address, days)
    health = f"http://{address}/_stcore/health"
    with (
        running(rigledger(config, "dashboard"), health, folder / "dashboard.log"),
        sync_playwright() as driver,
        contextlib.closing(browser(driver, folder)) as opened,
    ):
        first, *later = (_visit(opened, f"http://{address}/") for _ in range(rounds + 1))
    shutil.rmtree(folder)
    paints = [paint for _, paint in later]
    return Result(
        "page_first_s",
        median(figures for figures, _ in later),
        "s",
        {},
        f"until the first figure: {spread([figures for figures, _ in later])}, each a new tab with"
        f" a warm browser cache; the browser's first paint {figure(median(paints))} s; the very"
        f" first visit {figure(first[0])} s; {rows:,} events of the demo's ledger",
    )


def write_demo(folder: Path, dashboard: str, days: int) -> tuple[Path, int]:
    """The demo's settings and its ledger of at most `days` until now; returns the rows, too."""
    now = now_ns()
    config = folder / "rigledger.toml"
    text = rig.settings_text(now, folder / "ledger", free_address(), dashboard)
    config.write_text(text, encoding="utf-8")
    first, rows = rig.first_day(now), 0
    with Store(folder / "ledger") as store:
        for _, due in takewhile(lambda day: day[0] < days, enumerate(demo.events(first))):
            events = [_EVENTS.decode(told) for at_ns, told in due if at_ns <= now]
            store.append(events)
            rows += len(events)
            if len(events) < len(due):
                break
        store.seal()
    return config, rows


def browser(driver: Playwright, folder: Path) -> BrowserContext:
    """A browser whose cache lies in a folder. Raises NoBrowser."""
    executable = next(filter(None, map(shutil.which, BROWSERS)), None)
    if executable is None:
        raise NoBrowser("install Chromium (make browser) to time the page")
    return driver.chromium.launch_persistent_context(
        folder / "profile",
        executable_path=executable,
        args=ARGS,
        viewport={"width": 1400, "height": 1000},
    )


def _visit(opened: BrowserContext, url: str) -> tuple[float, float]:
    """Seconds until the first figure, and until the browser painted anything at all."""
    page = opened.new_page()
    try:
        start = time.perf_counter()
        page.goto(url, wait_until="commit")
        page.wait_for_selector(FIGURE, timeout=120_000)
        seconds = time.perf_counter() - start
        return seconds, float(page.evaluate(PAINT))
    except Error as error:
        raise RuntimeError(f"the page showed no figure: {error}") from error
    finally:
        page.close()
