"""Samples of the wall meters, each asked on a thread of its own.

A meter that does not answer leaves a gap: what is not read stays unknown. Why is logged, the same
reason once an hour.
"""

import datetime as dt
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from http.client import HTTPException
from pathlib import Path
from uuid import uuid4

from collector.clock import PLACED, SECOND_NS, Placed, boot_id, from_ns
from collector.events import Event, Sample
from collector.settings import Meter, Settings
from collector.settings_types import without_user
from collector.sources import home_assistant, shelly, tasmota
from collector.sources.ask import ask
from collector.sources.meter_reading import Reading, Unreadable

log = logging.getLogger(__name__)
SOURCE = "meters"
TOKEN = "RIGLEDGER_METER_TOKEN"  # noqa: S105 - the variable's name
WITHIN_S = 4.0
STOP_S = 3.0
LOG_AGAIN_NS = 3600 * SECOND_NS
Deliver = Callable[[list[Event]], None]


def read(meter: Meter, within_s: float = WITHIN_S) -> Reading:
    """Ask a meter once; each of its answers may take `within_s`.

    Raises Unreadable, OSError, http.client.HTTPException and ValueError (msgspec's too).
    """
    secret = token(meter) if meter.kind == "home_assistant" else None
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def body(path: str) -> bytes:
        status, content = ask(meter.url.rstrip("/") + path, within_s, headers=headers)
        if status == 401:
            raise Unreadable(f"it asks for another token or password ({path})")
        if status != 200:
            raise Unreadable(f"it answers HTTP {status} to {path}")
        return content

    if meter.kind == "shelly":
        return shelly.read(body, meter.channel)
    if meter.kind == "tasmota":
        return tasmota.read(body, meter.channel)
    return home_assistant.read(body, meter.power_entity, meter.energy_entity)


def token(meter: Meter) -> str:
    """Home Assistant's token, from its file or the environment. Raises Unreadable."""
    if meter.token_file is None:
        secret = os.environ.get(TOKEN, "").strip()
        if not secret:
            raise Unreadable(f"it needs a token: set token_file, or {TOKEN} in the environment")
        return secret
    path = Path(meter.token_file)
    try:
        secret, mode = path.read_text(encoding="utf-8").strip(), path.stat().st_mode
    except (OSError, UnicodeDecodeError):
        raise Unreadable(f"its token_file {path} cannot be read") from None
    if mode & 0o077:
        raise Unreadable(f"its token_file {path} is open to other users: chmod 600 {path}")
    return secret


def in_force(meters: Sequence[Meter], name: str, today: dt.date) -> Meter | None:
    """The entry of a meter that counts today; None where it is not there yet, or gone."""
    begun = [meter for meter in meters if meter.name == name and meter.from_ <= today]
    latest = max(begun, key=lambda meter: meter.from_, default=None)
    gone = latest is not None and latest.until is not None and latest.until <= today
    return None if gone else latest


class MeterSource:
    """Reads the meters until stopped."""

    def __init__(self, settings: Settings, *, placed: Placed = PLACED) -> None:
        self._settings = settings
        self._placed = placed
        self._boot_id = boot_id()
        self._run = uuid4().hex  # a restart never reuses an id
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._logged: dict[str, tuple[str, int]] = {}

    def start(self, deliver: Deliver) -> None:
        """Begin; `deliver` gets each sample on its meter's thread."""
        for name in sorted({meter.name for meter in self._settings.meters}):
            thread = threading.Thread(
                target=self._rounds, args=(name, deliver), name=f"meter-{name}", daemon=True
            )
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Stop within 3 s, whatever the meters do."""
        self._stop.set()
        until = time.monotonic() + STOP_S
        for thread in self._threads:
            thread.join(max(until - time.monotonic(), 0))

    def _rounds(self, name: str, deliver: Deliver) -> None:
        due, number = time.monotonic(), 0
        while not self._stop.is_set():
            today = from_ns(self._placed.now_ns()).astimezone(self._settings.zone).date()
            meter = in_force(self._settings.meters, name, today)
            sample = None if meter is None else self._sample(meter, number)
            number += 1
            if sample is not None and not self._stop.is_set():
                self._deliver(name, sample, deliver)
            due = max(due + (60 if meter is None else meter.sample_seconds), time.monotonic())
            self._stop.wait(due - time.monotonic())

    def _sample(self, meter: Meter, number: int) -> Sample | None:
        try:
            told = read(meter)
        except (OSError, HTTPException, ValueError) as error:
            self._note(
                meter.name,
                f"the meter {meter.name} at {without_user(meter.url)} is not read: {error}",
            )
            return None
        if told.error is not None:
            self._note(meter.name, f"the meter {meter.name}: {told.error}")
        return Sample(
            source=SOURCE,
            event_id=f"{self._run}-{number}-{meter.name}"[:256],
            rig=self._settings.rig.name,
            boot_id=self._boot_id,
            device=meter.name,
            scope="wall",
            sensor=meter.kind,
            at=from_ns(self._placed.now_ns()),
            power_mw=told.power_mw,
            energy_uj_total=told.energy_uj_total,
            counter_epoch=told.counter_epoch,
            error=told.error,
        )

    def _deliver(self, name: str, sample: Sample, deliver: Deliver) -> None:
        try:
            deliver([sample])
        except Exception as error:
            self._note(name, f"a reading of {name} was lost: {type(error).__name__}: {error}")

    def _note(self, name: str, message: str) -> None:
        """Log a message, but the same one once an hour only."""
        now_ns = self._placed.now_ns()
        last, at_ns = self._logged.get(name, ("", 0))
        if message != last or now_ns - at_ns >= LOG_AGAIN_NS:
            self._logged[name] = message, now_ns
            log.warning(message)
