"""Capital: what each asset costs up to any instant, bought or rented.

The methods are told in `book_value`, rents in `rent`.
"""

from collections.abc import Iterator

from analytics.book_value import written_off
from analytics.intervals import Ints
from analytics.lines import Line, floored
from analytics.rent import rent
from collector.settings import Settings


def lines(settings: Settings, up: Ints, until_ns: int) -> Iterator[Line]:
    """Every asset as a line, good up to an instant; `up` is when the host is known to be up."""
    for asset in settings.hardware:
        if asset.method == "rented":
            booked = rent(asset, settings, up, until_ns)
        else:
            booked = floored(written_off(asset, settings).upto)
        yield Line(asset.name, "capital", tuple(asset.cards), booked)
