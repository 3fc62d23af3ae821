"""What a kept day rests on beside the events: the settings that its figures depend on."""

import hashlib

import msgspec

from analytics.read import Ledger
from collector.settings import Settings


def of_days(settings: Settings, ledger: Ledger) -> str:
    """A digest of the settings that a day's figures depend on, and of the price series. What only
    judges figures is left out: the value of a target, the sheets to compare with."""
    parts = (settings.rig, settings.hardware, settings.electricity, settings.engines)
    gap, has_target = settings.usage.active_gap, settings.slo.ttft_p95_ms is not None
    meters = [(meter.name, meter.from_, meter.until) for meter in settings.meters]
    series = {name: each.digest for name, each in ledger.price_series(settings).items()}
    rests_on = [*parts, settings.other_costs, gap, has_target, meters, series]
    return digest(msgspec.json.encode(rests_on))


def digest(content: bytes) -> str:
    """A short name of some content, the same for the same."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()
