"""A day that can be worked out on paper, of whose requests some told no input or no output.

The machine costs 35,064 over four years of 35,064 hours: 24 on a day. The card draws 100 W, and
1,100 W in the hour from 08:00 in which ten requests follow one another, each with a million tokens
in and out: at 0.20 a kWh 0.48 idle and 0.20 above. In all 24.68, or 2.468 a million. An API at 1
in and 3 out would bill 4 for each request.
"""

import datetime as dt
from pathlib import Path
from typing import Any

from rig.ledger import attempt, heartbeats, ledger, sample, settings

from analytics.month import account
from analytics.periods import Period, day_at
from analytics.shelf import Shelf
from collector.clock import to_ns
from collector.events import Event
from collector.settings import ApiPrice, CompareSettings, Electricity, Hardware, Settings

BOX = Hardware(name="box", price="35064", in_service=dt.date(2026, 10, 5), life_years=4)
POWER = Electricity(from_=dt.date(2026, 10, 5), price_per_kwh="0.20", host_watts=0)
NOW = to_ns(dt.datetime(2026, 11, 20, tzinfo=dt.UTC))
NO_INPUT: dict[str, Any] = {"input_tokens": None, "cache_read_tokens": None}
NO_OUTPUT: dict[str, Any] = {"output_tokens": None}
MILLION = 1_000_000


def rig(price: tuple[str, str] = ("1", "3"), **tables: Any) -> Settings:
    """The machine, beside an API at a price of a million tokens in and out."""
    listed = ApiPrice(name="an API", input=price[0], cache_read="0", output=price[1])
    given = {
        "hardware": [BOX],
        "electricity": [POWER],
        "compare": CompareSettings(prices=[listed]),
    }
    return settings("A", **(given | tables))


def events(*untold: dict[str, Any], **fields: Any) -> list[Event]:
    """The day's events; the last requests did not tell what each of `untold` says."""
    found: list[Event] = []
    for n in range(10):
        told = {"input_tokens": MILLION, "output_tokens": MILLION, **fields}
        told |= untold[n - 10] if n >= 10 - len(untold) else {}
        found.append(attempt(f"r{n}", n * 360, (n + 1) * 360, **told))
    found += heartbeats(-8 * 3600, 16 * 3600 + 60, ["on-A"], every=20)
    energy_uj = 0
    for second in range(-8 * 3600, 16 * 3600 + 60, 60):
        told = {"power_mw": 1_100_000 if 0 < second <= 3600 else 100_000}
        energy_uj += told["power_mw"] * 60 * 1000
        found.append(sample("A", second, energy_uj_total=energy_uj, counter_epoch="1", **told))
    return found


def shelf(path: Path, made: Settings, *untold: dict[str, Any], **fields: Any) -> Shelf:
    """The day's books."""
    return Shelf(ledger(path, events(*untold, **fields)), made, NOW)


def period(made: Settings) -> Period:
    """Monday, 5 October 2026."""
    return day_at(to_ns(dt.datetime(2026, 10, 5, tzinfo=dt.UTC)), made.zone)


def month(path: Path, made: Settings, *untold: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The day's document."""
    return account(shelf(path, made, *untold, **fields), period(made))
