"""Every sheet by its name: one's own first, then those of this project, then genai-prices'.

A name is `provider/model` as the provider spells the model, or what one's own sheet is called.
"""

from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from analytics.prices.read import FETCHED, bundled, bundled_rules, fetched, own_sheets
from analytics.prices.rules import with_rules
from analytics.prices.sheet import Period, Sheet
from collector.settings import ApiPrice, Settings, SettingsError

if TYPE_CHECKING:
    from analytics.prices.genai import GenaiPrices


class NoSuchSheet(KeyError):
    """No sheet has this name; the message names those that are near."""

    def __str__(self) -> str:
        """The sentence as it is: KeyError would put it in quotes."""
        return str(self.args[0])


class Catalogue:
    """The sheets at hand; each is made when it is asked for."""

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        """Over the lists of the settings and the sheets in `folder`, by default the settings' own.

        A folder that is not there holds no sheets.
        """
        self._folder = folder or settings.sheet_folder()
        self._flat = [_flat(price, settings.rig.currency) for price in settings.compare.prices]

    def sheet(self, name: str) -> Sheet:
        """The sheet of this name or alias. Raises NoSuchSheet; SettingsError for a bad file."""
        declared = self._declared.get(name)
        found = declared or self._genai.sheet(name)
        if found is None:
            raise NoSuchSheet(self._near(name))
        return with_rules(found, bundled_rules())

    def names(self) -> list[str]:
        """The name of every sheet, in order."""
        return sorted({*(sheet.id for sheet in self._declared.values()), *self._genai.names()})

    @cached_property
    def _genai(self) -> "GenaiPrices":
        # Its objects are many: they wait until a name is found nowhere else.
        from analytics.prices.genai import GenaiPrices, providers_of  # noqa: PLC0415

        content = fetched(self._folder)
        try:
            return GenaiPrices(None if content is None else providers_of(content))
        except ValueError as error:
            raise SettingsError(
                f"{self._folder / FETCHED}: {error}; fetch it again with `rigledger prices update`"
            ) from None

    @cached_property
    def _declared(self) -> dict[str, Sheet]:
        """Sheets that are written down, by name and alias; one's own come first."""
        found: dict[str, Sheet] = {}
        for sheet in (*self._flat, *own_sheets(self._folder), *bundled()):
            for name in (sheet.id, *sheet.aliases):
                found.setdefault(name, sheet)
        return found

    def _near(self, name: str) -> str:
        near = get_close_matches(name, self.names(), n=3)
        remedy = f"near it: {', '.join(near)}" if near else "`rigledger prices list` shows all"
        return f"there is no price sheet {name!r}; {remedy}"


def _flat(price: ApiPrice, currency: str) -> Sheet:
    """A flat list of the settings as a sheet of its own name."""
    period = Period(input=price.input, cache_read=price.cache_read, output=price.output)
    return Sheet(id=price.name, currency=currency, periods=[period], source="rigledger.toml")
