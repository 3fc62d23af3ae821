"""The demo's machine, its settings and the days that its ledger covers."""

import datetime as dt
import json
from pathlib import Path
from zoneinfo import ZoneInfo

from collector.clock import from_ns, to_ns

RIG = "demo rig"
SOURCE = "demo"
ZONE = ZoneInfo("America/Los_Angeles")
CARDS = ("GPU-demo-0", "GPU-demo-1", "GPU-demo-2")
ENGINES = ("card0", "card1", "card2")
SLOTS = 2
MODEL = "qwen3.8-27b"
_MONTHS_IN_SERVICE = 5


def first_day(now_ns: int) -> dt.date:
    """The first day of the ledger: that of the last full month in the rig's zone."""
    return months_before(today(now_ns).replace(day=1), 1)


def today(now_ns: int) -> dt.date:
    """The local day of an instant."""
    return from_ns(now_ns).astimezone(ZONE).date()


def months_before(first: dt.date, months: int) -> dt.date:
    """The first day of the month that lies so many months earlier."""
    index = first.year * 12 + first.month - 1 - months
    return dt.date(index // 12, index % 12 + 1, 1)


def local_ns(day: dt.date, hours: float) -> int:
    """A local time of day, in hours, as ns since the epoch; DST changes are respected."""
    minutes = round(hours * 60)
    moment = dt.datetime.combine(day, dt.time(minutes // 60 % 24, minutes % 60), tzinfo=ZONE)
    return to_ns((moment + dt.timedelta(days=minutes // 1440)).astimezone(dt.UTC))


def settings_text(now_ns: int, store: Path, collector: str, dashboard: str) -> str:
    """The demo's `rigledger.toml`: 17,000 USD over four years, 0.20 USD a kWh, three cards."""
    start = months_before(first_day(now_ns), _MONTHS_IN_SERVICE)
    engines = "\n".join(
        f"""
[[engines]]
name = "{engine}"
url = "http://127.0.0.1:{8001 + number}"
kind = "ninfer"
gpus = ["{CARDS[number]}"]
slots = {SLOTS}
pool = "qwen"
model = "{MODEL}"
from = {start}"""
        for number, engine in enumerate(ENGINES)
    )
    return f"""# DEMO: a made-up rig. Changes stay;
# without this file, the next `rigledger up --demo` writes it anew.

[store]
path = {json.dumps(str(store))}

[collector]
listen = "{collector}"

[dashboard]
listen = "{dashboard}"

[rig]
name = "{RIG}"
time_zone = "{ZONE.key}"
currency = "USD"

[[hardware]]
name = "demo workstation with three cards"
price = "17000"
in_service = {start}
life_years = 4
residual = "0"

[[electricity]]
from = {start}
price_per_kwh = "0.20"
host_watts = 110
{engines}

[[compare.prices]]
name = "DeepSeek V4.1-Flash (off-peak)"
input = "0.15"
cache_read = "0.003"
output = "0.60"
"""
