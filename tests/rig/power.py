"""Tariffs, factors and wall meters by dice, and what the meters tell."""

import datetime as dt
import random
from pathlib import Path
from typing import Any

from collector.clock import from_ns
from collector.events import Event, Sample
from collector.settings import Electricity, Meter
from collector.settings_power import Window

SECOND = 1_000_000_000


def electricity(dice: random.Random, since: dt.date, folder: Path, near_ns: int) -> Electricity:
    """An entry: flat, by windows, or by a series around an instant, with any factors."""
    fields: dict[str, Any] = {
        "from_": since,
        "host_watts": dice.choice([None, 0, 91]),
        "psu_efficiency": dice.choice(["1", "0.92", "0.8734"]),
        "overhead": dice.choice(["1", "1.3", "2.0571"]),
        "carbon_g_per_kwh": dice.choice([None, 380]),
    }
    kind = dice.choice(["flat", "windows", "series"])
    if kind == "series":
        return Electricity(series=str(series(dice, folder / f"{since}.csv", near_ns)), **fields)
    if kind == "flat":
        return Electricity(price_per_kwh=dice.choice(["0.17", "0", "0.234567891"]), **fields)
    windows = [window(dice) for _ in range(dice.randint(1, 4))]
    holidays = "US" if any("holidays" in each.days for each in windows) else None
    outside = dice.choice([None, "0.21"])
    return Electricity(price_per_kwh=outside, windows=windows, holidays=holidays, **fields)


def window(dice: random.Random) -> Window:
    def clock() -> str:
        return f"{dice.randrange(24)}{dice.choice(['', ':30', f':{dice.randrange(60):02}'])}"

    start, end = clock(), clock()
    days = ["mon-fri", "sat,sun", "mon", "fri-mon", "holidays", "tue-thu,holidays", "mon-sun"]
    if start == end:
        start, end = "0", "24"
    price = dice.choice(["0.41", "0.3333", "0"])
    return Window(days=dice.choice(days), hours=f"{start}-{end}", price=price)


def series(dice: random.Random, path: Path, near_ns: int) -> Path:
    """Prices by the hour or less for some days, some below zero, some missing, in any order."""
    step = dice.choice([3600, 3600, 900, 300, 420]) * SECOND
    start = near_ns // (3600 * SECOND) * 3600 * SECOND - 2 * 86_400 * SECOND
    unit = dice.choice(["price_per_kwh", "price_per_mwh"])
    lines = [
        f"{from_ns(start + n * step).isoformat()},{dice.randint(-90, 400) / 7:.4f}"
        for n in range(5 * 86_400 * SECOND // step)
        if dice.random() < 0.95
    ]
    dice.shuffle(lines)
    path.write_text("\n".join([f"instant,{unit}", *lines, ""]))
    return path


def meters(dice: random.Random, day: dt.date) -> list[Meter]:
    """None, one, two, or one that takes another's place on a day."""

    def meter(name: str, **fields: Any) -> Meter:
        return Meter(name=name, kind="shelly", url="http://192.0.2.1", **fields)

    later = day + dt.timedelta(days=1)
    return dice.choice(
        [
            [],
            [meter("plug")],
            [meter("plug"), meter("strip", from_=day)],
            [meter("plug", until=later), meter("strip", from_=later)],
            [meter("plug"), meter("plug", from_=day, until=later)],
        ]
    )


def told(dice: random.Random, name: str, from_ns_: int, to_ns: int, every: int) -> list[Event]:
    """A meter's readings with gaps and resets; at times less than the cards draw."""
    made: list[Event] = []
    total, counts = dice.randint(0, 10**9), dice.random() < 0.6
    at = from_ns_ + dice.randint(0, 30 * SECOND)
    while at < to_ns:
        watts = dice.choice([20, 150, 400, 1300])
        made.append(
            Sample(
                source="meters",
                event_id=f"{name}-{at}",
                rig="desk",
                device=name,
                scope="wall",
                sensor="shelly",
                at=from_ns(at),
                power_mw=dice.choice([None, watts * 1000, watts * 1000, watts * 1000]),
                energy_uj_total=total if counts and dice.random() < 0.9 else None,
                counter_epoch=dice.choice(["e", "e", "e", "e", None]) if counts else None,
            )
        )
        step = dice.choice([1, 1, 1, 1, 1, 1, 2, 12, 80]) * every * SECOND
        step += dice.choice([0, 0, dice.randint(0, SECOND // 1000) * 1000])
        total = total + watts * step // 1000 if dice.random() < 0.99 else 7
        at += step
    return made
