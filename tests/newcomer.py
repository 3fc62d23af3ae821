"""`make newcomer`: the way of someone who has only the README, driven and timed.

A clone into an empty folder, the README's own command, the pages in a browser, another price of the
hardware, last month's report; told in `docs/newcomer.md`. What the price must come to is worked out
here, from the definitions.
"""

import datetime as dt
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from zoneinfo import ZoneInfo

from pictures import READY
from playwright.sync_api import Page, expect
from rig.browser import Visit, chromium

ROOT = Path(__file__).parent.parent
PAGE, PICTURE = ROOT / "docs/newcomer.md", ROOT / "docs/pictures/preview.png"
NANO = 10**9
NEW_PRICE = "9000"
LONG_MS, INSTALL_S, STOP_S = 300_000, 1800, 60
# What this very run was started with must not help or hinder a newcomer.
OURS = {"PYTHONPATH", "VIRTUAL_ENV", "RIGLEDGER_DATA", "RIGLEDGER_CONFIG", "UV_PYTHON", "MAKEFLAGS",
        "MAKELEVEL", "MFLAGS"}  # fmt: skip
# What `make run` says when a part of its work is done, and what that is.
STARTS = (
    (["building the demo ledger"], "everything is installed into the folder"),
    (READY, "a demo ledger of two months is built, all parts have started"),
)
# A click during a run of the page can be lost; nobody is as quick as that.
AT_REST = "document.querySelector('.stApp').dataset.testScriptState === 'notRunning'"
TO_THE_END = """button => {
  button.scrollIntoView({block: 'end'});
  button.closest('[data-testid=stMain]').scrollBy(0, 60);
}"""


@dataclass
class Watch:
    """What was done, and how many seconds each step took."""

    steps: list[tuple[str, str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, done: str, seen: str) -> Iterator[None]:
        """Time what happens inside."""
        start = time.monotonic()
        yield
        self.took(done, seen, time.monotonic() - start)

    def took(self, done: str, seen: str, seconds: float) -> None:
        """Keep a step."""
        self.steps.append((done, seen, seconds))
        print(f"{seconds:7.1f} s  {done}: {seen}", flush=True)


@dataclass(frozen=True)
class Change:
    """A price that is changed, and what the month's headline must show before and after."""

    month: str
    price: str
    before: str
    after: str

    @property
    def name(self) -> str:
        """`2026-10` as October 2026."""
        return dt.date.fromisoformat(f"{self.month}-01").strftime("%B %Y")


def lost_nano(price: str, in_service: dt.date, years: int, month: str, zone: ZoneInfo) -> int:
    """What an asset loses in a month: evenly over its life by elapsed time, down to nothing."""
    first = dt.date.fromisoformat(f"{month}-01")
    until = (first + dt.timedelta(days=31)).replace(day=1)
    start, end = (
        at_ns(in_service, zone),
        at_ns(in_service.replace(year=in_service.year + years), zone),
    )

    def booked(instant_ns: int) -> int:
        return int(price) * NANO * (instant_ns - start) // (end - start)

    return booked(at_ns(until, zone)) - booked(at_ns(first, zone))


def at_ns(day: dt.date, zone: ZoneInfo) -> int:
    """A local midnight, ns since the epoch."""
    return int(dt.datetime.combine(day, dt.time(), zone).timestamp()) * NANO


def digits(nano: int, tokens: int) -> str:
    """An amount per million tokens with three digits, as a headline has it."""
    return f"{nano / tokens / 1000:#.3g}".rstrip(".")


def walk(page: Page, address: str, change: Change, watch: Watch, picture: Path | None) -> bytes:
    """From the first look at the pages to the report in a file, by clicks; returns the report."""
    headline = page.locator(".st-key-answer [data-testid=stMetricValue]").first
    with watch.step(f"open {address} in a browser", "the overview is drawn"):
        page.goto(address)
        page.get_by_text("How far to trust this").wait_for(timeout=LONG_MS)
        page.wait_for_function(AT_REST, timeout=LONG_MS)
    with watch.step(f"choose {change.name}", f"{change.before} USD per million output tokens"):
        page.get_by_role("combobox", name="Month").click()
        page.get_by_role("option", name=change.name).click()
        expect(headline).to_have_text(change.before, timeout=LONG_MS)
        page.wait_for_function(AT_REST, timeout=LONG_MS)
    with watch.step("click *Settings*", "what is assumed, in forms"):
        page.get_by_role("link", name="Settings").click()
        page.get_by_text("Everything else in the file").wait_for(timeout=LONG_MS)
        page.wait_for_function(AT_REST, timeout=LONG_MS)
    told = f"{change.name} from {change.before} to {change.after}"
    with watch.step(f"correct the hardware's price to {change.price}", f"“This changes {told}”"):
        page.get_by_text("Correct an entry", exact=True).first.click()
        page.get_by_role("textbox", name="price, USD", exact=True).fill(change.price)
        page.get_by_role("button", name="See what it changes").click()
        preview = page.locator(".st-key-preview_hardware")
        expect(preview).to_contain_text(told, timeout=LONG_MS)
        page.wait_for_function(AT_REST, timeout=LONG_MS)
    save = page.get_by_role("button", name="Save", exact=True)
    if picture is not None:
        save.evaluate(TO_THE_END)
        page.mouse.move(0, 0)
        page.wait_for_timeout(1000)
        picture.write_bytes(page.screenshot())
    with watch.step("click *Save*", "the new price is in the settings, the old one in a comment"):
        save.click()
        page.get_by_text("Saved: hardware").wait_for(timeout=LONG_MS)
    with watch.step("click *Overview*", f"{change.after} USD per million output tokens"):
        page.get_by_role("link", name="Overview").click()
        expect(headline).to_have_text(change.after, timeout=LONG_MS)
        page.wait_for_function(AT_REST, timeout=LONG_MS)
    with watch.step(f"click *Save the report of {change.name}*", f"report-{change.month}.html"):
        button = page.get_by_role("button", name=f"Save the report of {change.name}")
        with page.expect_download(timeout=LONG_MS) as download:
            button.click()
        assert download.value.suggested_filename == f"report-{change.month}.html"
        return download.value.path().read_bytes()


def main() -> int:
    """Walk the whole way and write the page about it."""
    watch = Watch()
    with tempfile.TemporaryDirectory() as empty, chromium() as browser:
        folder, cache = Path(empty) / "rigledger", Path(empty) / "cache"
        with watch.step("`git clone`", "the sources"):
            source = ["git", "clone", "--quiet", ROOT.as_uri(), str(folder)]
            subprocess.run(source, check=True, timeout=INSTALL_S)
        with running(folder, cache, watch) as told, closing(Visit(browser, "light", 1440)) as visit:
            address, report = (last_of(told, word) for word in ("pages", "report"))
            change = another_price(folder, report)
            visit.page.set_viewport_size({"width": 1440, "height": 1150})
            saved = walk(visit.page, address, change, watch, PICTURE)
            assert visit.complaints == []
            with watch.step("the same by the command line", "the same bytes"):
                assert command(folder, f"{report} {change.month} --format html") == saved
    PAGE.write_text(told_page(watch), encoding="utf-8")
    return 0


@contextmanager
def running(folder: Path, cache: Path, watch: Watch) -> Iterator[list[str]]:
    """`make run` with nothing kept from earlier; yields its lines once all of it is up."""
    kept = {"UV_CACHE_DIR": str(cache / "uv"), "PIP_CACHE_DIR": str(cache / "pip")}
    environment = {name: value for name, value in os.environ.items() if name not in OURS} | kept
    log = folder.with_suffix(".log")
    with log.open("wb") as out:
        make = subprocess.Popen(
            ["make", "run"], cwd=folder, env=environment, start_new_session=True, stdout=out,
            stderr=out,
        )  # fmt: skip
    try:
        for signs, seen in STARTS:
            with watch.step("`make run`", seen):
                due = time.monotonic() + INSTALL_S
                while not all(sign in log.read_text(encoding="utf-8") for sign in signs):
                    alive = make.poll() is None and time.monotonic() < due
                    assert alive, log.read_text(encoding="utf-8")
                    time.sleep(0.1)
        yield log.read_text(encoding="utf-8").splitlines()
    finally:
        os.killpg(make.pid, signal.SIGINT)
        make.wait(STOP_S)


def last_of(told: list[str], word: str) -> str:
    """What the greeting says behind a word."""
    return next(line.split(maxsplit=1)[1] for line in told if line.split()[:1] == [word])


def another_price(folder: Path, report: str) -> Change:
    """The change of the demo's price, and what it does to its last full month."""
    settings = tomllib.loads((folder / "data/demo/rigledger.toml").read_text(encoding="utf-8"))
    (asset,), zone = settings["hardware"], ZoneInfo(settings["rig"]["time_zone"])
    last = dt.datetime.now(zone).date().replace(day=1) - dt.timedelta(days=1)
    month = f"{last:%Y-%m}"
    told = json.loads(command(folder, f"{report} {month} --json"))
    old, new = (
        lost_nano(price, asset["in_service"], asset["life_years"], month, zone)
        for price in (asset["price"], NEW_PRICE)
    )
    assert told["cost_nano"]["capital"] == old
    cost, tokens = told["cost_nano"]["total"], told["tokens"]["output"]
    return Change(month, NEW_PRICE, digits(cost, tokens), digits(cost - old + new, tokens))


def command(folder: Path, line: str) -> bytes:
    """What a command of the README prints."""
    environment = {name: value for name, value in os.environ.items() if name not in OURS}
    return subprocess.run(
        shlex.split(line), cwd=folder, env=environment, capture_output=True, check=True, timeout=600
    ).stdout


def told_page(watch: Watch) -> str:
    """The page as Markdown."""
    cores = os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    rows = "\n".join(f"| {done} | {seen} | {_seconds(s)} |" for done, seen, s in watch.steps)
    whole = sum(seconds for _, _, seconds in watch.steps)
    return TOLD.format(cores=cores, memory=memory, rows=rows, whole=whole, file=PICTURE.name)


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f}" if seconds < 10 else f"{seconds:.0f}"


TOLD = """# From nothing to last month's report

`make newcomer` walks this way in an empty folder and in a real browser, with nothing cached, and
writes this page: what a newcomer does, what is then seen, and how long it took on {cores} cores and
{memory:.0f} GB of memory. Cloning was from the same disk; installing waits for the network.

| what one does | what is then seen | seconds |
|---|---|---|
{rows}
| all of it | | {whole:.0f} |

What the new headline must be is worked out by the script: the month's share of four years of the
new price, by elapsed time, in place of that of the old one. Before *Save* the page shows what the
price will do, and writes nothing:

![Settings: another price of the hardware, what it changes, not saved yet](pictures/{file})

One click on *Undo* takes the price back. When the folder is removed, everything is gone but what
pip and uv cache.
"""


if __name__ == "__main__":
    sys.exit(main())
