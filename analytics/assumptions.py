"""What kept days rest on beside the events: the settings that their figures depend on."""

import datetime as dt
import hashlib

import msgspec

from analytics.tariff import Series
from collector.settings import Settings


def of_days(settings: Settings, series: Series) -> str:
    """A digest of the settings that a day's figures depend on, and of the price series. What only
    judges figures is left out: the value of a target, the sheets to compare with."""
    parts = (settings.rig, settings.hardware, settings.electricity, settings.engines)
    gap, has_target = settings.usage.active_gap, settings.slo.ttft_p95_ms is not None
    content = {name: each.digest for name, each in series.items()}
    rests_on = [*parts, settings.other_costs, gap, has_target, _meters(settings), content]
    return digest(msgspec.json.encode(rests_on))


def of_time(settings: Settings) -> str:
    """A digest of the settings that a day's time and energy depend on, whatever they cost: which
    cards there are and when, the engines on them, and what is read of them."""
    cards = [(asset.cards, asset.in_service, asset.retired) for asset in settings.hardware]
    gap, has_target = settings.usage.active_gap, settings.slo.ttft_p95_ms is not None
    zone = settings.rig.time_zone
    engines = [(e.name, e.gpus, e.slots, e.pool_name, e.from_) for e in settings.engines]
    rests_on = [zone, cards, engines, _meters(settings), gap, has_target]
    return digest(msgspec.json.encode(rests_on))


def _meters(settings: Settings) -> list[tuple[str, dt.date, dt.date | None]]:
    return [(meter.name, meter.from_, meter.until) for meter in settings.meters]


def digest(content: bytes) -> str:
    """A short name of some content, the same for the same."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
