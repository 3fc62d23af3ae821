"""What every setting is declared with: the forms of its value, its unit and its help."""

import re
from decimal import Decimal, InvalidOperation
from typing import Annotated

import msgspec
from msgspec import Meta

NANO = 1_000_000_000
Text = Annotated[str, Meta(min_length=1, max_length=256)]
Money = Annotated[str, Meta(pattern=r"^\d{1,12}(\.\d{1,9})?$", extra={"type": "amount"})]
Address = Annotated[str, Meta(pattern=r"^[\w.\-\[\]:]+:\d{1,5}$", extra={"type": "host:port"})]
Share = Annotated[
    str, Meta(pattern=r"^(0\.\d{1,4}|1(\.0{1,4})?)$", extra={"type": "share from 0 to 1"})
]
Factor = Annotated[
    str, Meta(pattern=r"^([12](\.\d{1,4})?|3(\.0{1,4})?)$", extra={"type": "factor from 1 to 3"})
]
Url = Annotated[str, Meta(pattern=r"^https?://[^\s/]+(/.*)?$", extra={"type": "address"})]
Span = Annotated[str, Meta(pattern=r"^\d{1,4}[smh]$", extra={"type": "number with s, m or h"})]


def doc(text: str, unit: str = "", title: str = "") -> Meta:
    """What a setting means, and its unit; `currency` stands for the rig's own.

    `title` is what forms call it where the key itself reads badly.
    """
    return Meta(description=text, extra={"unit": unit, "title": title})


class SettingsError(ValueError):
    """The settings cannot be used; the message says what, where and what to do."""


class Table(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """A TOML table whose unknown keys are refused."""


def without_user(url: str) -> str:
    """An address as it may be shown: without the user and the password that it may hold."""
    return re.sub(r"(?<=://)[^/?#]*@", "", url)


def nano(amount: str) -> int:
    """A decimal amount as an integer of nano-units, exactly. Raises SettingsError."""
    try:
        scaled = Decimal(amount) * NANO
    except InvalidOperation:
        raise SettingsError(f"{amount!r} is no decimal amount") from None
    if scaled != int(scaled):
        raise SettingsError(f"{amount!r} has more than nine decimals")
    return int(scaled)
