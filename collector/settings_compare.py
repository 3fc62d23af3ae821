"""Settings of what the same requests would have cost elsewhere: price sheets and currencies."""

import datetime as dt
from typing import Annotated

from msgspec import Meta, field

from collector.settings_types import Money, Table, Text, doc


class ApiPrice(Table, kw_only=True, frozen=True):
    """A flat price list of an API, as declared, per million tokens: a sheet of that name."""

    name: Annotated[Text, doc("what the pages call this API")]
    input: Annotated[Money, doc("price of new input", "currency per million tokens")]
    cache_read: Annotated[Money, doc("price of cached input", "currency per million tokens")]
    output: Annotated[Money, doc("price of output", "currency per million tokens")]


class CompareSettings(Table, kw_only=True, frozen=True):
    """What the same requests would have cost elsewhere."""

    sheets: Annotated[
        list[Text], doc("price sheets to compare with, by the names of `rigledger prices list`")
    ] = field(default_factory=list)
    sheet_folder: Annotated[
        Text | None,
        doc("folder of your own sheets, from this file's own; without it, `prices` in the ledger"),
    ] = None
    prices: list[ApiPrice] = field(default_factory=list)


class ExchangeRate(Table, kw_only=True, frozen=True):
    """What one unit of a currency is worth in another, by the pair: "CNY/USD" is one yuan."""

    from_: Annotated[dt.date, doc("first day on which this rate counts")] = field(name="from")
    rate: Annotated[
        Annotated[str, Meta(pattern=r"^\d{1,9}(\.\d{1,9})?$", extra={"type": "rate"})],
        doc("units of the second currency for one of the first"),
    ]
