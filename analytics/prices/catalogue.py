"""Every sheet by its name: one's own first, then those of this project, then genai-prices'.

A name is `provider/model` as the provider spells the model, or what one's own sheet is called.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from genai_prices.data import providers
from genai_prices.types import Provider

from analytics.prices.genai import sheet_of
from analytics.prices.read import bundled
from analytics.prices.sheet import Period, Sheet
from collector.settings import ApiPrice, Settings


class NoSuchSheet(KeyError):
    """No sheet has this name; the message names those that are near."""

    def __str__(self) -> str:
        """The sentence as it is: KeyError would put it in quotes."""
        return str(self.args[0])


class Catalogue:
    """The sheets at hand; each is made when it is asked for."""

    def __init__(self, settings: Settings, folder: Path | None = None) -> None:
        """Over the lists of the settings and the sheets in `folder`."""
        self._own = [_flat(price, settings.rig.currency) for price in settings.compare.prices]
        self._providers: dict[str, Provider] = {provider.id: provider for provider in providers}

    def sheet(self, name: str) -> Sheet:
        """The sheet of this name or alias. Raises NoSuchSheet."""
        declared = self._declared.get(name)
        found = declared or self._of_genai(name)
        if found is None:
            raise NoSuchSheet(self._near(name))
        return found

    def names(self) -> list[str]:
        """The name of every sheet, in order."""
        return sorted({*(sheet.id for sheet in self._declared.values()), *self._genai_names()})

    @cached_property
    def _declared(self) -> dict[str, Sheet]:
        """Sheets that are written down, by name and alias; one's own come first."""
        found: dict[str, Sheet] = {}
        for sheet in (*self._own, *bundled()):
            for name in (sheet.id, *sheet.aliases):
                found.setdefault(name, sheet)
        return found

    def _genai_names(self) -> Iterator[str]:
        for provider in self._providers.values():
            for model in provider.models:
                if sheet_of(provider, model) is not None:
                    yield f"{provider.id}/{model.id}"

    def _of_genai(self, name: str) -> Sheet | None:
        """The sheet of a model's id, else of the model that knows this name as its own."""
        provider = self._providers.get(name.partition("/")[0])
        if provider is None:
            return None
        asked = name.partition("/")[2]
        exact = next((model for model in provider.models if model.id == asked), None)
        model = exact or provider.find_model(asked)
        return sheet_of(provider, model) if model else None

    def _near(self, name: str) -> str:
        near = get_close_matches(name, self.names(), n=3)
        remedy = f"near it: {', '.join(near)}" if near else "`rigledger prices list` shows all"
        return f"there is no price sheet {name!r}; {remedy}"


def _flat(price: ApiPrice, currency: str) -> Sheet:
    """A flat list of the settings as a sheet of its own name."""
    period = Period(input=price.input, cache_read=price.cache_read, output=price.output)
    return Sheet(id=price.name, currency=currency, periods=[period], source="rigledger.toml")
