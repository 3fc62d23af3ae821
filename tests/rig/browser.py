"""A real Chromium, and the pages as `rigledger dashboard` serves them."""

import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from collector.settings import load

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

# What no page may show: charts that scroll, texts that are cut off, texts over each other.
SCROLLED = """() => [...document.querySelectorAll('.stVegaLiteChart *')]
  .filter(e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)
    && e.scrollWidth > e.clientWidth + 1).map(e => e.className)"""

TEXTS = """const texts = svg => [...svg.querySelectorAll('text')]
  .filter(t => t.textContent && getComputedStyle(t).opacity !== '0')
  .map(t => [t.textContent, t.getBoundingClientRect()]).filter(([_, b]) => b.width);"""

CLIPPED = (
    "() => {"
    + TEXTS
    + """
  return [...document.querySelectorAll('.stVegaLiteChart svg')].flatMap(svg => {
    const edge = svg.getBoundingClientRect();
    return texts(svg).filter(([_, b]) => b.left < edge.left - 1.5 || b.right > edge.right + 1.5
      || b.top < edge.top - 1.5 || b.bottom > edge.bottom + 1.5).map(([text]) => text);
  })}"""
)

OVERLAPS = (
    "() => {"
    + TEXTS
    + """
  return [...document.querySelectorAll('.stVegaLiteChart svg')].flatMap(svg => {
    const all = texts(svg);
    // A text under itself is the halo that keeps it readable on what it crosses.
    return all.flatMap(([one, a], i) => all.slice(i + 1).filter(([other, b]) =>
      !(one === other && Math.abs(a.left - b.left) < 1 && Math.abs(a.top - b.top) < 1) &&
      a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
      .map(([other]) => one + ' over ' + other));
  })}"""
)

# Labels of figures that reach beyond their own column, or over their question mark.
BEYOND = """() => [...document.querySelectorAll('[data-testid=stMetricLabel]')].filter(label => {
  const text = label.querySelector('p').getBoundingClientRect();
  const mark = label.querySelector('svg');
  const edge = (mark || label.closest('[data-testid=stMetric]')).getBoundingClientRect();
  return text.right > (mark ? edge.left : edge.right) + 1;
}).map(label => label.textContent)"""


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine; the test is skipped where there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("no Chromium on this machine; install one to test the page as people see it")
    with (
        sync_playwright() as driver,
        closing(driver.chromium.launch(executable_path=path, args=ARGS)) as started,
    ):
        yield started


@contextmanager
def served(config: Path) -> Iterator[str]:
    """The pages over a settings file; yields their address."""
    address = f"http://{load(config).dashboard.listen}"
    command = [sys.executable, "-P", "-m", "rigledger", "--config", str(config), "dashboard"]
    log = config.with_suffix(".log")
    with log.open("wb") as out:
        server = subprocess.Popen(command, stdout=out, stderr=out, cwd=config.parent)
    try:
        deadline = time.monotonic() + 60
        while not healthy(address):
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield address
    finally:
        server.terminate()
        server.wait(20)


def healthy(address: str) -> bool:
    """Whether the page server answers."""
    try:
        with urllib.request.urlopen(f"{address}/_stcore/health", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


class Visit:
    """A browser window, with everything that it asked for and complained of."""

    def __init__(self, browser: Browser, scheme: str = "light", width: int = 1400) -> None:
        self.context = browser.new_context(
            color_scheme=scheme,  # type: ignore[arg-type]
            viewport={"width": width, "height": 1000},
        )
        self.scheme = scheme
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda line: self.complaints.append(line.text) if line.type == "error" else None,
        )

    def close(self) -> None:
        """Close the window."""
        self.context.close()
