"""One's own sheets on disk: what is added or imported goes in beside what was there before.

History stays: a price that has changed becomes a new period from an instant on, and the periods
before it are kept.
"""

import datetime as dt
import os
from collections.abc import Iterable
from pathlib import Path

import tomlkit
from msgspec.structs import replace

from analytics.prices.read import parse_sheets, sheets_of
from analytics.prices.sheet import Period, Sheet
from analytics.prices.toml import as_toml, period_lines, plain
from collector.settings_types import SettingsError

OWN = "own.toml"


def add(folder: Path, sheet: Sheet) -> Path:
    """Write a sheet of one period into `own.toml`: a new one, or one more period of its name.

    Comments and lines that are there stay. Raises SettingsError where the file could not be read
    afterwards; nothing is written then.
    """
    path = folder / OWN
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    names = [there.id for there in parse_sheets(text, str(path))] if text.strip() else []
    if sheet.id in names:
        if sheet.periods[0].from_ is None:
            what = f"{path} has {sheet.id} already"
            raise SettingsError(f"{what}: say from which instant it costs this, with --from")
        text = _with_period(text, names.index(sheet.id), sheet.periods[0])
    else:
        text = f"{text.rstrip()}\n\n{as_toml([sheet])}".lstrip()
    write(path, text)
    return path


def _with_period(text: str, number: int, period: Period) -> str:
    document = tomlkit.parse(text)
    added = tomlkit.parse(period_lines(plain_period(period)))
    document["sheets"][number]["periods"].append(added["sheets"]["periods"][0])
    return tomlkit.dumps(document)


def plain_period(period: Period) -> dict[str, object]:
    """A period as TOML takes it."""
    return dict(plain(Sheet(id="any", periods=[period]))["periods"][0])


def merge(path: Path, found: Iterable[Sheet], at: dt.datetime) -> tuple[int, int]:
    """Take imported sheets into a file: how many are new, and of how many the price has changed.

    A sheet whose newest prices differ gets a period more, from the instant `at`; one that is no
    longer there stays, since what it cost still holds.
    """
    before = {sheet.id: sheet for sheet in sheets_of(path)} if path.exists() else {}
    after = dict(before)
    new = changed = 0
    for sheet in found:
        there = before.get(sheet.id)
        if there is None:
            new += 1
            after[sheet.id] = sheet
        elif not same_prices(there.periods[-1], sheet.periods[-1]):
            changed += 1
            period = replace(sheet.periods[-1], from_=at, to=None)
            after[sheet.id] = replace(sheet, periods=[*there.periods, period])
    if new or changed:
        write(path, as_toml(after.values()))
    return new, changed


def same_prices(first: Period, second: Period) -> bool:
    """Whether two periods cost the same, whenever they begin."""
    return replace(first, from_=None, to=None) == replace(second, from_=None, to=None)


def write(path: Path, text: str) -> None:
    """Put a file of sheets in place at once, after it has been read back. Raises SettingsError."""
    parse_sheets(text, str(path))
    put(path, text.encode())


def put(path: Path, content: bytes) -> None:
    """Put a file in place at once: its old content stays until the new is on disk whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f".{path.name}.new")
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        raise SettingsError(f"{path}: {reason}; name another [compare] sheet_folder") from None
