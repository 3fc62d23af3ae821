"""`make pictures`: the pictures of the documentation, of the demo as `make run` shows it.

A demo day's events follow from its date alone, and the demo's processes live by a clock that
stands at one instant when they start. So a picture changes where a page does.
"""

import datetime as dt
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page
from rig.browser import Visit, chromium
from rig.fake_clock import FakeClock, build_clock

from bench.children import free_address, rigledger
from collector.clock import SECOND_NS, now_ns, to_ns
from collector.demo.plan import MINUTE_NS, plan
from collector.demo.serve import serve

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs/pictures"
WIDTH, BYTES = 1440, 250_000
READY = ("the demo ledger is loaded", "rigledger is up")
LOAD_S, DRAW_S = 900, 300
# Twelve branches of one task have just queued on one card while two stood by.
INSTANT = dt.datetime(2026, 11, 12, 23, 30, tzinfo=dt.UTC)
MONTH, DAY = "2026-10", dt.date(2026, 10, 12)


def queued() -> str:
    """The first request of the day that waited a minute for the card that it was sent to."""
    found = (each for each in serve(plan(DAY)) if each.start_ns - each.received_ns > MINUTE_NS)
    return f"demo/attempt-{DAY:%Y%m%d}-{next(found).number}"


# Name, address, what must be in sight at the top (None: the top of the page), height in pixels.
PICTURES = (
    ("overview", "/", None, 1580),
    ("cost", f"/cost?month={MONTH}", None, 1250),
    ("utilization", f"/utilization?month={MONTH}", None, 1250),
    ("compare", f"/compare?month={MONTH}", None, 1350),
    ("routing", f"/routing?month={MONTH}", None, 1290),
    ("queue", f"/routing?month={MONTH}", "Queued beside idle cards", 1040),
    ("requests", f"/requests?month={MONTH}&day={DAY}", None, 1020),
    ("request", f"/requests?month={MONTH}&day={DAY}&request={queued()}", "One request", 1320),
    ("settings", "/settings", None, 1500),
)
TO_THE_TOP = """heading => {
  heading.scrollIntoView({block: 'start'});
  heading.closest('[data-testid=stMain]').scrollBy(0, -30);
}"""
# Drawn and at rest: nothing runs, nothing is left open, and the page no longer changes.
DRAWN = """() => {
  const app = document.querySelector('.stApp');
  if (!app || app.dataset.testScriptState !== 'notRunning') return null;
  if (document.querySelector('[data-testid=stSkeleton], [data-testid=stSpinner]')) return null;
  const charts = [...document.querySelectorAll('.stVegaLiteChart')];
  if (charts.some(chart => !chart.querySelector('svg, canvas'))) return null;
  return app.innerText + charts.length;
}"""


def main(names: list[str]) -> int:
    """Make the pictures named, or all of them."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as work, demo(Path(work)) as address, chromium() as browser:
        for name, path, top, height in PICTURES:
            if not names or name in names:
                file = FOLDER / f"{name}.png"
                file.write_bytes(picture(browser, address + path, top, height))
                print(f"{file.relative_to(ROOT)}: {file.stat().st_size:,} bytes", flush=True)
    return 0


@contextmanager
def demo(folder: Path) -> Iterator[str]:
    """The demo in full, its clock set to the instant; yields the address of its pages."""
    library = build_clock(folder)
    assert library is not None, "a C compiler is needed to set the demo's clock; install gcc"
    clock = FakeClock(library, folder)
    clock.set((to_ns(INSTANT) - now_ns()) // SECOND_NS)
    pages, config, log = free_address(), folder / "rigledger.toml", folder / "up.log"
    config.write_text(
        f'[collector]\nlisten = "{free_address()}"\n[dashboard]\nlisten = "{pages}"\n'
    )
    environment = {**os.environ, **clock.environment, "RIGLEDGER_DATA": str(folder / "data")}
    with log.open("wb") as out:
        command = rigledger(config, "up", "--demo")
        tree = subprocess.Popen(command, stdout=out, stderr=out, env=environment, cwd=folder)
    try:
        due = time.monotonic() + LOAD_S
        while not all(words in log.read_text() for words in READY):
            assert tree.poll() is None and time.monotonic() < due, log.read_text()
            time.sleep(0.5)
        yield f"http://{pages}"
    finally:
        tree.terminate()
        tree.wait(60)


def picture(browser: Browser, url: str, top: str | None, height: int) -> bytes:
    """One page as PNG, in light colours."""
    with closing(Visit(browser, "light", WIDTH)) as visit:
        visit.page.set_viewport_size({"width": WIDTH, "height": height})
        visit.page.goto(url)
        wait(visit.page)
        if top is not None:
            heading = visit.page.get_by_role("heading", name=top)
            heading.evaluate(TO_THE_TOP)
            wait(visit.page)
        visit.page.mouse.move(0, 0)
        told = visit.page.screenshot()
        assert visit.complaints == [], f"{url}: {visit.complaints}"
    assert len(told) <= BYTES, f"{url}: {len(told):,} bytes; make the picture less high"
    return told


def wait(page: Page) -> None:
    """Until the page has been the same for two seconds."""
    due, seen, since = time.monotonic() + DRAW_S, None, time.monotonic()
    while seen is None or time.monotonic() - since < 2:
        assert time.monotonic() < due, f"{page.url} is not drawn after {DRAW_S} s"
        found = page.evaluate(DRAWN)
        if found != seen:
            seen, since = found, time.monotonic()
        page.wait_for_timeout(200)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
