"""Prices per token in public lists as prices per million tokens."""

from decimal import Decimal, InvalidOperation
from typing import Any

MTOK = 1_000_000
PRICE_MAX = 10**6


def mtok(value: Any) -> str | None:
    """A price per token, number or text, as a price per million; None where it is none.

    Negative prices stand for prices that vary. Traces of binary floats beyond the nano-unit go.
    """
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return None
    try:
        price = Decimal(value) * MTOK
    except InvalidOperation:
        return None
    if not price.is_finite() or not 0 <= price < PRICE_MAX:
        return None
    return f"{round(price, 9).normalize():f}"
