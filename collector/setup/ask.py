"""The questions of `rigledger init`: each is answered by its flag, by a person, or by a default."""

import argparse
import datetime as dt
import re
from collections.abc import Callable, Sequence
from typing import Any

from collector.settings import SettingsError
from collector.settings_file import parse
from collector.settings_types import without_user
from collector.setup.file import text
from collector.setup.flags import NO_TAP, EngineFlags
from collector.setup.look import Found

DAY = dt.date(2000, 1, 1)
# What a table needs beside the key that is asked, so that the strict reader judges that key alone.
_REST: dict[str, dict[str, Any]] = {
    "rig": {},
    "hardware": {"name": "x", "price": "1", "in_service": DAY, "life_years": 1},
    "electricity": {"from": DAY, "price_per_kwh": "1"},
    "engines": {"name": "x", "url": "http://x", "gpus": ["GPU-0"]},
    "taps": {"engine": "x", "listen": "127.0.0.1:0"},
}
FIRST_TAP = 9001


class Questions:
    """Collects the tables of a settings file.

    `read` shows a prompt and returns the answer; None asks nothing. `say` gets lines for people,
    `probe` looks at an engine's address. `cards` are the UUIDs that the driver knows, in its
    order.
    """

    def __init__(
        self,
        read: Callable[[str], str] | None,
        say: Callable[[str], None],
        probe: Callable[[str], Found],
        cards: Sequence[str],
    ) -> None:
        self._read = read
        self._say = say
        self._probe = probe
        self._cards = cards
        self._used: set[str] = set()

    def tables(self, args: argparse.Namespace, name: str, zone: str, today: dt.date) -> Any:
        """All answers as the tables of a file. Raises SettingsError for flags it cannot use."""
        rig = {
            "name": self._get("rig", "name", "Name of the rig", args.name, name),
            "time_zone": self._get("rig", "time_zone", "Time zone", args.time_zone, zone),
            "currency": self._get("rig", "currency", "Currency", args.currency, "USD"),
        }
        hardware = self._hardware(args, rig["currency"], today)
        since = hardware[0]["in_service"] if hardware else today
        electricity = self._electricity(args, rig["currency"], since)
        if not hardware or not electricity:
            self._say("What is not priced counts hours and tokens, but no money; add it any time.")
        engines, taps = self._engines(args.engine)
        return {
            "rig": rig,
            "hardware": hardware,
            "electricity": electricity,
            "engines": engines,
            "taps": taps,
        }

    def _hardware(
        self, args: argparse.Namespace, currency: str, today: dt.date
    ) -> list[dict[str, Any]]:
        prompt = f"What the hardware cost, {currency} (empty: not now)"
        price = self._get("hardware", "price", prompt, args.price, "")
        if not price:
            return []
        name, since, years = args.hardware_name, args.in_service, args.life_years
        return [
            {
                "name": self._get("hardware", "name", "What it is", name, "the rig"),
                "price": price,
                "in_service": self._get(
                    "hardware",
                    "in_service",
                    "In service since",
                    since,
                    today,
                    convert=_date,
                ),
                "life_years": self._get(
                    "hardware", "life_years", "Years that it will serve", years, 4, convert=int
                ),
            }
        ]

    def _electricity(
        self, args: argparse.Namespace, currency: str, since: dt.date
    ) -> list[dict[str, Any]]:
        prompt = f"Electricity per kWh, {currency} (empty: not now)"
        price = self._get("electricity", "price_per_kwh", prompt, args.price_per_kwh, "")
        if not price:
            return []
        prompt = "Watts that no card reports (board, CPU, fans; empty: not known)"
        watts = self._get("electricity", "host_watts", prompt, args.host_watts, None, convert=int)
        told = {} if watts is None else {"host_watts": watts}
        return [{"from": since, "price_per_kwh": price, **told}]

    def _engines(
        self, given: Sequence[EngineFlags]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        engines: list[dict[str, Any]] = []
        taps: list[dict[str, Any]] = []
        wanted = list(given)
        while True:
            index = len(engines)
            if index >= len(wanted):
                url = (
                    ""
                    if given
                    else self._get("engines", "url", "URL of an engine (empty: no more)", None, "")
                )
                if not url:
                    break
                wanted.append(EngineFlags(url))
            engine, tap = self._engine(wanted[index], index)
            engines.append(engine)
            if tap != NO_TAP:
                taps.append({"engine": engine["name"], "listen": tap})
        if not engines:
            self._say("No engine is named: add [[engines]] and [[taps]] before you start.")
        return engines, taps

    def _engine(self, flags: EngineFlags, index: int) -> tuple[dict[str, Any], str]:
        """One entry of [[engines]], and where its tap listens."""
        refusal = _refusal("engines", "url", flags.url)
        if refusal:
            raise SettingsError(f"--engine: {refusal}")
        found = self._probe(flags.url)
        self._say(f"{without_user(flags.url)} {found}")
        name = self._get("engines", "name", "  Its name", flags.name, f"card{index}")
        kind = self._get("engines", "kind", "  Its kind", flags.kind, found.kind or "openai")
        engine: dict[str, Any] = {
            "name": name,
            "url": flags.url,
            "kind": kind,
            "gpus": self._gpus(flags.cards, name, flags.url),
        }
        # llama.cpp is asked again at every health check; for the others the file must tell.
        slots = flags.slots or (found.slots if kind == "llama_cpp" else None)
        if slots is None:
            prompt = "  Requests it computes at a time (empty: unknown)"
            slots = self._get("engines", "slots", prompt, None, None, convert=int)
        engine |= {"slots": slots} if slots else {}
        model = flags.model or found.model
        engine |= {"model": model} if model else {}
        default = f"127.0.0.1:{FIRST_TAP + index}"
        prompt = f"  Its tap listens on ({NO_TAP}: no tap)"
        return engine, self._get("taps", "listen", prompt, flags.tap, default)

    def _gpus(self, given: list[str], name: str, url: str) -> list[str]:
        free = [uuid for uuid in self._cards if uuid not in self._used]
        # Several engines on the only card there is need no word.
        default = free[0] if free else self._cards[0] if len(self._cards) == 1 else None
        gpus = [self._uuid(card) for card in given]
        if not gpus and self._read is not None:
            for number, uuid in enumerate(self._cards):
                self._say(f"    {number}: {uuid}{' (taken)' if uuid in self._used else ''}")
            gpus = self._asked_gpus(default)
        elif not gpus:
            gpus = [default] if default else []
        if not gpus:
            raise SettingsError(
                f"--engine {without_user(url)}: no card is left for {name}; name its own,"
                " like cards=GPU-… (`nvidia-smi -L` tells them)"
            )
        if refusal := _refusal("engines", "gpus", gpus):
            raise SettingsError(f"--engine {without_user(url)}: cards: {refusal}")
        self._used.update(gpus)
        return gpus

    def _asked_gpus(self, default: str | None) -> list[str]:
        prompt = "  Its cards, by number or UUID (several for a split model)"
        while True:
            told = self._get(
                "engines",
                "gpus",
                prompt,
                None,
                default,
                convert=lambda answer: [self._uuid(card) for card in _list(answer)],
            )
            if told is not None:
                return told if isinstance(told, list) else [told]
            self._say("  An engine needs a card; `nvidia-smi -L` tells their UUIDs.")

    def _uuid(self, card: str) -> str:
        """A number of the driver's list as the UUID it stands for; all else as it is."""
        if card.isdecimal() and int(card) < len(self._cards):
            return self._cards[int(card)]
        return card

    def _get(
        self,
        table: str,
        key: str,
        prompt: str,
        flag: Any,
        default: Any,
        *,
        convert: Callable[[str], Any] = str,
    ) -> Any:
        """One value that the strict reader takes. Raises SettingsError for a flag it refuses."""
        if flag is not None:
            try:
                return _judged(table, key, str(flag), convert)
            except SettingsError as error:
                raise SettingsError(f"--{key.replace('_', '-')}: {error}") from None
        if self._read is None:
            return default
        shown = "" if default is None else str(default)
        while True:
            answer = self._read(f"{prompt}{f' [{shown}]' if shown else ''}: ").strip()
            if not answer:
                return default
            try:
                return _judged(table, key, answer, convert)
            except SettingsError as error:
                self._say(f"  {error}")


def _date(answer: str) -> dt.date:
    return dt.date.fromisoformat(answer)


def _list(answer: str) -> list[str]:
    return [part for part in re.split(r"[,\s]+", answer) if part]


def _judged(table: str, key: str, answer: str, convert: Callable[[str], Any]) -> Any:
    """An answer as the file's value. Raises SettingsError with what to write instead."""
    try:
        told = convert(answer)
    except ValueError:
        how = "a date like 2026-10-01" if convert is _date else "a whole number"
        raise SettingsError(f"{answer!r} is not possible here; write {how}") from None
    refusal = _refusal(table, key, told)
    if refusal:
        raise SettingsError(refusal)
    return told


def _refusal(table: str, key: str, told: Any) -> str:
    """What the strict reader has against this value; empty if nothing."""
    if (table, told) == ("taps", NO_TAP):
        return ""
    entry = {**_REST[table], key: told}
    tables: dict[str, Any] = {table: entry if table == "rig" else [entry]}
    if table == "taps":
        tables["engines"] = [_REST["engines"]]
    try:
        parse(text(tables), "answer")
    except SettingsError as error:
        return str(error).split(": ", 2)[-1]
    return ""
