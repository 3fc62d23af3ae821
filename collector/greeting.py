"""What `rigledger up` says once it runs: where everything is, and what of the rig is seen."""

import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from collector.clock import from_ns, now_ns
from collector.invocation import invocation
from collector.probe import Health, ask
from collector.settings import EngineSettings, Settings
from collector.settings_check import local_url
from collector.settings_file import DEFAULT
from collector.sources.engine_health import in_force
from collector.sources.nvml_look import NoCardsSeen, look

WAIT_S = 6.0
LOOK_S = 4.0


def greeting(
    settings: Settings, config: Path | None, stop: threading.Event, *, demo: bool, from_none: bool
) -> str:
    """Several lines for a terminal; takes some seconds where engines or cards do not answer.

    `from_none`: the demo is shown because there are no settings.
    """
    engines = _engines(settings)
    if demo:
        told = _names(engines), f"{', '.join(_cards(engines))} (made up)"
    else:
        health = _settled(settings, engines, stop)
        told = _told_engines(engines, health), _told_cards(_cards(engines), health)
    title = "DEMO: made-up figures of a made-up rig" if demo else settings.rig.name
    # A new rig's books begin this month; the last full one would be empty.
    month = "" if demo else f" {from_ns(now_ns()).astimezone(settings.zone):%Y-%m}"
    lines = [
        "",
        f"  rigledger is up: {title}",
        f"    pages      {local_url(settings.dashboard.listen)}",
        f"    collector  {local_url(settings.collector.listen)}",
        *(f"    tap        {local_url(tap.listen)} -> {tap.behind}" for tap in settings.taps),
        f"    engines    {told[0]}",
        f"    cards      {told[1]}",
        f"    ledger     {settings.store_path()}",
        f"    report     {invocation(config or DEFAULT)} report{month}",
    ]
    if from_none:
        lines.append(f"  Your own rig: `rigledger init` asks and writes {DEFAULT.absolute()}.")
    return "\n".join([*lines, "  Ctrl-C stops all of it.", ""])


def _engines(settings: Settings) -> list[EngineSettings]:
    return in_force(settings.engines, from_ns(now_ns()).astimezone(settings.zone).date())


def _names(engines: Sequence[EngineSettings]) -> str:
    return ", ".join(engine.name for engine in engines)


def _cards(engines: Sequence[EngineSettings]) -> list[str]:
    return list(dict.fromkeys(card for engine in engines for card in engine.gpus))


def _settled(
    settings: Settings, engines: Sequence[EngineSettings], stop: threading.Event
) -> Health:
    """The collector's word once it has looked at every engine and a card, or soon after."""
    until_s = time.monotonic() + WAIT_S
    names = {engine.name for engine in engines}
    while True:
        health = ask(settings)
        done = health.sample_age_s and names <= health.engine_up.keys()
        if done or time.monotonic() > until_s or stop.wait(0.5):
            return health


def _told_engines(engines: Sequence[EngineSettings], health: Health) -> str:
    if not engines:
        return "none configured"
    words = {True: "up", False: "down", None: "not asked yet"}
    return ", ".join(
        f"{engine.name} {words[health.engine_up.get(engine.name)]}" for engine in engines
    )


def _told_cards(declared: Sequence[str], health: Health) -> str:
    names = ", ".join(declared) or "none configured"
    read = sorted(health.sample_age_s)
    if not read:
        return f"{names}: none readable ({_why_not()})"
    lost = [card for card in declared if card not in read]
    if lost:
        return f"{', '.join(lost)} not found; readable: {', '.join(read)}"
    return f"{names}: readable" if declared else f"readable: {', '.join(read)}; none configured"


def _why_not() -> str:
    try:
        look(timeout_s=LOOK_S)
    except NoCardsSeen as error:
        # What failed stands in brackets there; here brackets stand around all of it.
        return re.sub(r"^No card can be read \((.*?)\)", r"\1", str(error))
    return "not yet; the driver is still waking them"
