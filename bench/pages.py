"""How soon every page shows its words, its first figure, and draws again, on ten million requests.

The browser has been everywhere before; each opening is a new tab, and a visit of its own. Drawing
again is what a key asks for on a page at rest: until the client has drawn the last of it.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from subprocess import Popen
from typing import Literal

from playwright.sync_api import BrowserContext, Page, WebSocket, sync_playwright
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from bench import crowd, page, rig
from bench.books import MIB
from bench.children import free_address, rigledger, running, timed
from bench.result import Result, figure
from dashboard.pages import PAGES

# What answers a page's question first, where that is no figure in large type.
FIRST = {"requests": "[data-testid=stDataFrame]"}
LONGEST_MS = 300_000
# The client drops the key while it takes the page for one that is still being drawn; what the
# server told last reaches it only after the charts before.
AT_REST = """() => document.querySelector('.stApp').dataset.testScriptState === 'notRunning'
  && [...document.querySelectorAll('.stVegaLiteChart')].every(e => e.querySelector('svg'))"""
IDLE = "() => new Promise(idle => requestIdleCallback(idle))"
DRAWN = "() => document.querySelector('.stApp').dataset.testScriptState === 'notRunning'"


@dataclass(frozen=True)
class Seen:
    """Medians by page: seconds until the browser painted its first words, until its first figure,
    and until it was drawn again; and what the server held at most, bytes."""

    paint_s: dict[str, float]
    first_s: dict[str, float]
    rerun_s: dict[str, float]
    peak_b: int
    requests: int


def measure(
    what: Literal["paint", "first", "rerun"],
    work: Path,
    *,
    requests_a_day: int = crowd.REQUESTS_A_DAY,
    days: int = crowd.DAYS,
    rounds: int = 3,
) -> Result:
    """Seconds until the browser paints the slowest page's first words, until its first figure, or
    until it is drawn again."""
    seen = _seen(work, requests_a_day, days, rounds)
    seconds = {"paint": seen.paint_s, "first": seen.first_s, "rerun": seen.rerun_s}[what]
    each = ", ".join(f"{name} {figure(value)}" for name, value in seconds.items())
    return Result(
        f"page_10m_{what}_s",
        max(seconds.values()),
        "s",
        {},
        f"the slowest of {each}; {seen.requests:,} requests; the server held at most"
        f" {seen.peak_b / MIB:,.0f} MiB",
    )


@cache
def _seen(work: Path, requests_a_day: int, days: int, rounds: int) -> Seen:
    folder = work.resolve() / f"crowd-{requests_a_day}-{days}"
    built = crowd.build(folder, requests_a_day, days)
    timed(rigledger(built, "report", rig.MONTH, "--json"), shown=True)  # builds the days
    address = free_address()
    config = folder / "pages.toml"
    table = f'[dashboard]\nlisten = "{address}"\n'
    config.write_text(built.read_text(encoding="utf-8") + table, encoding="utf-8")
    health, log = f"http://{address}/_stcore/health", folder / "dashboard.log"
    with (
        running(rigledger(config, "dashboard"), health, log) as server,
        sync_playwright() as driver,
        contextlib.closing(page.browser(driver, folder)) as browser,
    ):
        paint: dict[str, list[float]] = {name: [] for name in PAGES}
        first: dict[str, list[float]] = {name: [] for name in PAGES}
        rerun: dict[str, list[float]] = {name: [] for name in PAGES}
        for turn in range(rounds + 1):
            for name in PAGES:
                place = "" if name == PAGES[0] else name
                url = f"http://{address}/{place}?month={rig.MONTH}"
                with _opened(browser, url, name) as found:
                    if turn:
                        paint[name].append(found.tab.evaluate(page.PAINT))
                        first[name].append(found.seconds)
                        rerun[name].append(found.drawn_again())
        peak = _peak_b(server)
    return Seen(
        {name: median(each) for name, each in paint.items()},
        {name: median(each) for name, each in first.items()},
        {name: median(each) for name, each in rerun.items()},
        peak,
        requests_a_day * days,
    )


class _Visit:
    """A page in a tab of its own, and when its script last ended."""

    def __init__(self, tab: Page, url: str, first: str) -> None:
        self.tab, self._runs = tab, 0
        tab.on("websocket", self._listen)
        start = time.perf_counter()
        tab.goto(url, wait_until="commit")
        tab.wait_for_selector(first, timeout=LONGEST_MS)
        self.seconds = time.perf_counter() - start
        self._until_run(1)

    def drawn_again(self) -> float:
        """Seconds from a key that asks for it until the client has drawn the last of it."""
        self.tab.wait_for_function(AT_REST, timeout=LONGEST_MS)
        self.tab.evaluate(IDLE)
        due = self._runs + 1
        start = time.perf_counter()
        self.tab.keyboard.press("r")
        self._until_run(due)
        self.tab.wait_for_function(DRAWN, timeout=LONGEST_MS)
        return time.perf_counter() - start

    def _until_run(self, due: int) -> None:
        end = time.monotonic() + LONGEST_MS / 1000
        while self._runs < due:
            if time.monotonic() > end:
                raise RuntimeError(f"{self.tab.url} was not drawn to its end")
            self.tab.wait_for_timeout(5)

    def _listen(self, socket: WebSocket) -> None:
        socket.on("framereceived", self._heard)

    def _heard(self, frame: bytes | str) -> None:
        told = ForwardMsg()
        told.ParseFromString(frame if isinstance(frame, bytes) else frame.encode())
        self._runs += told.WhichOneof("type") == "script_finished"


@contextlib.contextmanager
def _opened(browser: BrowserContext, url: str, name: str) -> Iterator[_Visit]:
    tab = browser.new_page()
    try:
        yield _Visit(tab, url, FIRST.get(name, page.FIGURE))
    finally:
        tab.close()


def _peak_b(process: Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    (kib,) = re.findall(r"VmHWM:\s*(\d+) kB", status)
    return int(kib) * 1024
