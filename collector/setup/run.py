"""`rigledger init`: asks, looks, and writes what was found out."""

import argparse
import datetime as dt
import os
import sys
from pathlib import Path
from zoneinfo import ZoneInfo

from collector.invocation import invocation
from collector.settings import Settings, SettingsError
from collector.settings_file import DEFAULT, parse, read
from collector.setup.ask import Questions
from collector.setup.file import text
from collector.setup.look import engine_at, host_name, system_zone
from collector.setup.units import Unit, cron, enabling, units
from collector.sources.nvml_look import NoCardsSeen, look


def init(args: argparse.Namespace) -> int:
    """Write the settings, and units where asked for. Raises SettingsError, OSError."""
    path = args.config or DEFAULT
    keep = path.exists() and args.systemd and not args.force
    if path.exists() and not (args.force or args.print or keep):
        raise SettingsError(
            f"{path} is there already; name another file with --config, or replace it with --force"
        )
    if keep:
        settings = read(path)
    else:
        content = text(_answers(args))
        settings = parse(content, str(path))
        if args.print:
            print(content)
        else:
            _write(path, content)
            _say(f"Wrote {path}.")
    if args.systemd:
        _systemd(args, settings, path)
    elif not args.print:
        _say(f"Look it over, then: {invocation(path)} doctor; {invocation(path)} up")
        _say("A report of every month in `reports`: `init --systemd` writes a timer; for cron:")
        _say(cron(path.absolute(), Path(sys.executable)))
    return 0


def _answers(args: argparse.Namespace) -> dict[str, object]:
    asking = sys.stdin.isatty() and not args.no_input
    zone = system_zone()
    today = dt.datetime.now(ZoneInfo(zone)).date()
    questions = Questions(_ask if asking else None, _say, engine_at, _cards())
    found: dict[str, object] = questions.tables(args, host_name(), zone, today)
    return found


def _cards() -> list[str]:
    _say("Looking at the cards.")
    try:
        seen = look()
    except NoCardsSeen as error:
        _say(f"{error}.")
        return []
    cards = [reading.device for reading in seen.cards]
    _say(f"Driver {seen.driver} knows {len(cards)} cards: {', '.join(cards)}")
    return cards


def _systemd(args: argparse.Namespace, settings: Settings, path: Path) -> None:
    found = units(settings, path.absolute(), Path(sys.executable))
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    folder = home / "systemd" / "user"
    for unit in found:
        if args.print:
            print(f"# {folder / unit.name}\n{unit.text}")
    if args.print:
        return
    _refuse_changed(folder, found, force=args.force)
    folder.mkdir(parents=True, exist_ok=True)
    for unit in found:
        (folder / unit.name).write_text(unit.text, encoding="utf-8")
        _say(f"Wrote {folder / unit.name}.")
    _say("Enable them with:")
    print("\n".join(enabling(found)))
    _say("`loginctl enable-linger` keeps them running while you are logged out.")


def _refuse_changed(folder: Path, found: list[Unit], *, force: bool) -> None:
    """Raise SettingsError before a unit that somebody has changed is written over."""
    for unit in found:
        there = folder / unit.name
        if not force and there.exists() and there.read_text(encoding="utf-8") != unit.text:
            raise SettingsError(f"{there} is there already; replace it with --force")


def _write(path: Path, content: str) -> None:
    """For this user alone, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(content)
        aside.replace(path)
    except BaseException:
        aside.unlink()
        raise


def _ask(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)
    answer = sys.stdin.readline()
    if not answer:
        raise SettingsError("the answers ended early; nothing was written")
    return answer


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
