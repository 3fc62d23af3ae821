"""Random assets and other costs around a month: every method, gone, sold, dear and cheap."""

import datetime as dt
import random
from typing import Any

from collector.settings import Hardware, OtherCost


def assets(dice: random.Random, first: dt.date, cards: str) -> list[Hardware]:
    """Up to four assets that begin, end and change value before, within and after a month."""
    return [_asset(dice, first, cards, n) for n in range(dice.randint(0, 4))]


def other_costs(dice: random.Random, first: dt.date) -> list[OtherCost]:
    """Up to three costs: by the month, at once, of capital."""
    made = []
    for n in range(dice.randint(0, 3)):
        since = _day(dice, first, -400, 27)
        until = dice.choice([None, since + dt.timedelta(days=dice.randint(1, 500))])
        kind: dict[str, Any] = dice.choice(
            [
                {"per_month": "10.01", "until": until},
                {"amount": "120.5", "from_": _day(dice, first, -3, 35)},
                {
                    "per_year_of_capital": "0.0525",
                    "until": until,
                },
            ]
        )
        made.append(OtherCost(**{"name": f"cost {n % 2}", "from_": since} | kind))
    return made


def _asset(dice: random.Random, first: dt.date, cards: str, number: int) -> Hardware:
    since = dice.choice([_day(dice, first, -800, 27), dt.date(2024, 2, 29)])
    retired = dice.choice([None, None, max(_day(dice, first, -2, 31), since + dt.timedelta(3))])
    given: dict[str, Any] = {
        "name": f"asset {number % 3}",  # two may be called the same
        "in_service": since,
        "retired": retired,
        "cards": dice.choice([[], [dice.choice(cards)], [*cards[:2]]]),
    }
    return Hardware(**given | _terms(dice, first, since, retired))


def _terms(
    dice: random.Random, first: dt.date, since: dt.date, retired: dt.date | None
) -> dict[str, Any]:
    if dice.random() < 0.4:
        rent = [
            {"rate_per_month": "450.07"},
            {"rate_per_hour": "1.234567891"},
            {"rate_per_hour": "0.77", "billed": "while_up"},
        ]
        return {"method": "rented", **dice.choice(rent)}
    price = {"price": dice.choice(["17000", "0.000000007", "1999.99"])}
    if retired is not None:
        price["proceeds"] = dice.choice(["0", "812.5", "20000"])
    life = {"life_years": dice.randint(1, 5), "residual": "0.000000003"}
    days = sorted({max(_day(dice, first, -300, 60), since + dt.timedelta(1)) for _ in range(3)})
    values = {str(day): dice.choice(["9000", "12000.5", "100"]) for day in days}
    methods: list[dict[str, Any]] = [
        {"method": "straight_line", **life},
        {"method": "declining_balance", **life, "rate_per_year": dice.choice([None, "0.4", "1"])},
        {"method": "market", "market_values": values},
    ]
    return price | dice.choice(methods)


def _day(dice: random.Random, first: dt.date, low: int, high: int) -> dt.date:
    return first + dt.timedelta(days=dice.randint(low, high))
