"""The day that docs/definitions.md works out, from the settings and requests that stand there."""

import re
from pathlib import Path

from rig.ledger import SECOND, START, attempt, heartbeats, ledger, sample

from analytics.shelf import Shelf
from collector.clock import from_ns
from collector.events import Event
from collector.settings import Settings
from collector.settings_file import parse

DAY_S = 86_400
# Seconds of a day at START, from which the events of `rig.ledger` count.
BEGIN = from_ns(START).hour * 3600
IDLE_W, BUSY_W = 50, 350


def write(page: str, folder: Path, listen: str) -> Path:
    """The day's settings as a file beside its ledger, its pages at `listen`."""
    store = shelf_of(page, folder / "ledger").ledger.path
    config = folder / "rigledger.toml"
    places = f'[store]\npath = "{store}"\n[dashboard]\nlisten = "{listen}"\n'
    config.write_text(places + _settings(page), encoding="utf-8")
    return config


def _settings(page: str) -> str:
    (text,) = re.findall(r"^```toml\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    return str(text)


def shelf_of(page: str, folder: Path) -> Shelf:
    """The day's books, its ledger kept in `folder`."""
    settings = parse(_settings(page), "docs/definitions.md")
    rows = re.findall(r"^\| \d \|.*$", page, flags=re.MULTILINE)
    requests = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return Shelf(ledger(folder, events(settings, requests)), settings, START + 40 * DAY_S * SECOND)


def events(settings: Settings, requests: list[list[str]]) -> list[Event]:
    """What a tap, a health check and the cards would have told of the day."""
    engines = {engine.name.removeprefix("card "): engine for engine in settings.engines}
    made: list[Event] = heartbeats(-BEGIN, DAY_S - BEGIN, [e.name for e in settings.engines])
    computed: dict[str, list[tuple[int, int]]] = {name: [] for name in engines}
    for number, project, card, arrives, first, ends, *counts in requests:
        begin, token, end = map(_second, (arrives, first, ends))
        total, cached, output = (int(count.replace(",", "")) for count in counts)
        made.append(
            attempt(
                f"r{number}", begin, end, engines[card].gpus[0], engine=engines[card].name,
                project=project, ttft_ns=(token - begin) * SECOND,
                input_tokens=total, cache_read_tokens=cached, output_tokens=output,
            )
        )  # fmt: skip
        computed[card].append((begin, end))
    for card, engine in engines.items():
        made += _samples(engine.gpus[0], computed[card])
    return made


def _second(told: str) -> int:
    hours, minutes = map(int, told.split(":"))
    return hours * 3600 + minutes * 60 - BEGIN


def _samples(card: str, busy: list[tuple[int, int]]) -> list[Event]:
    """A reading a minute, its power that of the minute before."""
    total, made = 0, []
    for second in range(-BEGIN, DAY_S - BEGIN + 60, 60):
        watts = BUSY_W if any(begin < second <= end for begin, end in busy) else IDLE_W
        total += watts * 60 * 10**6
        made.append(sample(card, second, power_mw=watts * 1000, energy_uj_total=total))
    return made
