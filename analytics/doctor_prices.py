"""Findings about what a rig is compared with: sheets that are not there, rates that are missing."""

from collections.abc import Iterator

from analytics.finding import Finding, note, problem
from analytics.prices.catalogue import Catalogue, NoSuchSheet
from analytics.prices.cost import Usage, cost
from analytics.prices.rates import NoRate, rate_at
from analytics.prices.sheet import Sheet
from collector.clock import from_ns
from collector.settings import Settings, SettingsError


def sheets(settings: Settings, now_ns: int) -> Iterator[Finding]:
    """Whether every sheet that the settings name has a price now, in the rig's own currency."""
    if not settings.compare.prices and not settings.compare.sheets:
        yield note(
            "prices",
            "no API price is declared, so nothing is compared",
            "name `sheets` under [compare], or add [[compare.prices]]",
        )
    catalogue = Catalogue(settings)
    for name in settings.compare.sheets:
        try:
            yield from _sheet(name, catalogue.sheet(name), settings, now_ns)
        except (NoSuchSheet, NoRate) as error:
            text, _, remedy = str(error).partition("; ")
            yield problem("prices", text, remedy)
        except SettingsError as error:
            yield problem("prices", str(error))
            return


def _sheet(name: str, sheet: Sheet, settings: Settings, now_ns: int) -> Iterator[Finding]:
    """Raises NoRate where its bill cannot be converted."""
    found = cost(sheet, Usage(0, 0), from_ns(now_ns))
    if found.amount is None:
        yield note("prices", f"{name}: {found.why}", f"`rigledger prices show {name}` tells when")
    rate_at(settings, sheet.currency, settings.rig.currency, now_ns)
