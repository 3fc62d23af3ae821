"""What-ifs that were given a name: a file of its own beside the settings, and no part of the books.

`rigledger.toml` has them in `rigledger.scenarios.toml`. Whoever changes it holds the lock of the
settings' writers, reads it anew and replaces it whole, so that of two writers none loses anything
and a kill leaves the old file or the new one.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from collector.files import sync_folder
from collector.settings_history import History
from collector.settings_types import Money, SettingsError, Table
from collector.toml_read import read_toml

NAME_MOST = 60
Hours = Annotated[str, Meta(pattern=r"^(\d|1\d|2[0-3])(\.\d{1,9})?$|^24$")]
Name = Annotated[str, Meta(min_length=1, max_length=NAME_MOST)]
FIRST_LINES = """\
# What-ifs that the page Compare keeps. No report and no ledger reads them; comments are not kept.
"""
REMEDIES = {
    "name": f"write up to {NAME_MOST} letters in quotes",
    "hours_per_day": 'write hours of a day in quotes, like "4.5", up to "24"',
    "hardware_price": 'write a decimal amount in quotes, like "12000"',
    "price_per_kwh": 'write a decimal amount in quotes, like "0.20"',
}


class Scenario(Table, frozen=True):
    """A what-if: what is None stays as the month has it. Amounts in the rig's currency."""

    name: Name
    hours_per_day: Hours | None = None
    hardware_price: Money | None = None
    price_per_kwh: Money | None = None


# What a scenario may change, each a decimal text.
CHANGES = ("hours_per_day", "hardware_price", "price_per_kwh")


def is_possible(name: str, value: str) -> bool:
    """Whether one of `CHANGES` can have this value."""
    try:
        msgspec.convert({"name": "x", name: value}, Scenario)
    except msgspec.ValidationError:
        return False
    return True


class _File(Table, frozen=True):
    scenario: list[Scenario] = msgspec.field(default_factory=list)


def place(config: Path) -> Path:
    """The file of the scenarios of a settings file."""
    return config.with_name(f"{config.stem}.scenarios.toml")


def kept(config: Path) -> list[Scenario]:
    """The scenarios in their order; none without a file.

    Raises SettingsError, with file, line and remedy.
    """
    file = place(config)
    try:
        text = file.read_bytes().decode()
    except FileNotFoundError:
        return []
    except UnicodeDecodeError:
        raise SettingsError(f"{file}: not UTF-8 text; save it as UTF-8 or move it away") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise SettingsError(f"{file}: {reason}; see that this user may read it") from None
    found, _ = read_toml(text, str(file), _File, REMEDIES)
    names = [each.name for each in found.scenario]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SettingsError(f"{file}: there are two of the name {twice!r}; give one another name")
    return found.scenario


def save(config: Path, scenario: Scenario) -> None:
    """Keep one more. Raises SettingsError where its name is taken or cannot be."""
    with _changing(config) as change:
        change(lambda found: [*found, _named(scenario, scenario.name, found)])


def rename(config: Path, name: str, new: str) -> None:
    """Give one another name, in its place. Raises SettingsError."""
    with _changing(config) as change:

        def renamed(found: list[Scenario]) -> list[Scenario]:
            old = _one(found, name)
            others = [each for each in found if each is not old]
            return [_named(old, new, others) if each is old else each for each in found]

        change(renamed)


def delete(config: Path, name: str) -> None:
    """Drop one. Raises SettingsError where it is gone already."""
    with _changing(config) as change:

        def rest(found: list[Scenario]) -> list[Scenario]:
            old = _one(found, name)
            return [each for each in found if each is not old]

        change(rest)


def _named(scenario: Scenario, name: str, others: list[Scenario]) -> Scenario:
    name = name.strip()
    if not name or len(name) > NAME_MOST or not name.isprintable():
        raise SettingsError(f"a scenario needs a name of up to {NAME_MOST} letters")
    if name in (each.name for each in others):
        raise SettingsError(f"there is a scenario {name!r} already; choose another name")
    return msgspec.structs.replace(scenario, name=name)


def _one(found: list[Scenario], name: str) -> Scenario:
    for each in found:
        if each.name == name:
            return each
    raise SettingsError(f"the scenario {name!r} is gone; look at the page again")


Edit = Callable[[list[Scenario]], list[Scenario]]


@contextmanager
def _changing(config: Path) -> Iterator[Callable[[Edit], None]]:
    """Alone with the file: what makes a change of the scenarios that it holds by now."""
    file = place(config)
    try:
        lock = History(config.absolute()).open_lock()
        with os.fdopen(lock):
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield lambda edit: _replace(file, _text(edit(kept(config))))
    except OSError as error:
        reason = (error.strerror or "it cannot be written").lower()
        raise SettingsError(
            f"{file}: not saved: {reason}; see that this user may write to the folder and that "
            "there is room on the disk"
        ) from None


def _text(scenarios: list[Scenario]) -> str:
    """The file's text; a text of JSON is one of TOML, too, where it holds what can be printed."""
    tables = (
        "\n[[scenario]]\n"
        + "".join(
            f"{key} = {json.dumps(value, ensure_ascii=False)}\n"
            for key, value in msgspec.structs.asdict(each).items()
            if value is not None
        )
        for each in scenarios
    )
    return FIRST_LINES + "".join(tables)


def _replace(file: Path, text: str) -> None:
    target = file.resolve()  # a link stays a link
    aside = target.with_name(f".{target.name}.new")
    mode = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(aside, mode, 0o600), "wb") as out:
        out.write(text.encode())
        out.flush()
        os.fsync(out.fileno())
    aside.replace(target)
    sync_folder(target.parent)
