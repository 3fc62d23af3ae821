"""What `rigledger estimate` takes: each flag, its meaning, and how it becomes an assumption."""

import argparse
import datetime as dt
import re
from fractions import Fraction

from analytics.breakeven import HOURS_PER_DAY
from analytics.estimate import Assumptions, Purchase, Rent
from analytics.prices.flags import instant_of

FLAGS = {
    "price": ("AMOUNT", "what the rig cost"),
    "residual": ("AMOUNT", "its value at the end of its life (default: 0)"),
    "life-years": ("YEARS", "the years over which the price is spread"),
    "rent-per-hour": ("AMOUNT", "instead of --price: the rent, due around the clock"),
    "full-watts": ("WATTS", "draw of the whole rig at work"),
    "idle-watts": ("WATTS", "draw of the whole rig in the hours not worked (default: 0)"),
    "tokens-per-second": ("RATE", "output tokens per second of the whole rig at work"),
    "hours-per-day": ("HOURS", "hours at work, 0 to 24"),
    "price-per-kwh": ("AMOUNT", "price of a kWh"),
    "api-output-price": ("AMOUNT", "an API's price per million output tokens to stand against"),
    "sheet": ("NAME", "or the output price of a sheet of `rigledger prices list`"),
    "at": ("INSTANT", "when the sheet is asked, like 2026-11-25T12:00:00Z (default: now)"),
}
NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?")


class FlagError(ValueError):
    """A flag cannot be used; the message names it and says what it takes."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare every flag; their values stay text until `assumptions` reads them."""
    for flag, (metavar, meaning) in FLAGS.items():
        parser.add_argument(f"--{flag}", metavar=metavar, help=meaning)


def assumptions(args: argparse.Namespace) -> tuple[Assumptions, Fraction | None]:
    """The assumptions and the API's output price, if given. Raises FlagError."""
    given = Assumptions(
        hardware=_hardware(args),
        full_watts=_needed(args, "full-watts"),
        idle_watts=_number(args, "idle-watts") or Fraction(0),
        tokens_per_second=_needed(args, "tokens-per-second"),
        hours_per_day=_needed(args, "hours-per-day"),
        price_per_kwh=_needed(args, "price-per-kwh"),
    )
    if given.hours_per_day > HOURS_PER_DAY:
        raise FlagError(f"--hours-per-day is {args.hours_per_day}, but a day has 24 hours.")
    if given.idle_watts > given.full_watts:
        raise FlagError(
            f"--idle-watts is {args.idle_watts}, above --full-watts {args.full_watts}; "
            "give the draws of the whole rig idle and at work."
        )
    price = _number(args, "api-output-price")
    if price is not None and args.sheet is not None:
        raise FlagError("--sheet does not go with --api-output-price; give one of the two.")
    if args.at is not None and args.sheet is None:
        raise FlagError("--at is for --sheet; name the sheet, too.")
    return given, price


def asked_at(args: argparse.Namespace) -> dt.datetime:
    """The instant at which a sheet is asked for its price. Raises FlagError."""
    if args.at is None:
        return dt.datetime.now(dt.UTC)
    try:
        return instant_of(args.at)
    except argparse.ArgumentTypeError as error:
        raise FlagError(f"--at: {error}.") from None


def _hardware(args: argparse.Namespace) -> Purchase | Rent:
    rent = _number(args, "rent-per-hour")
    if rent is None:
        return _purchase(args)
    for flag in ("price", "residual", "life-years"):
        if _text(args, flag) is not None:
            raise FlagError(f"--{flag} does not go with --rent-per-hour; give one of the two.")
    return Rent(per_hour=rent)


def _purchase(args: argparse.Namespace) -> Purchase:
    if _text(args, "price") is None:
        raise FlagError("--price is missing: what the rig cost, or --rent-per-hour instead.")
    bought = Purchase(
        price=_needed(args, "price"),
        residual=_number(args, "residual") or Fraction(0),
        life_years=_needed(args, "life-years"),
    )
    if bought.life_years == 0:
        raise FlagError("--life-years is 0, but a price needs some time to be spread over.")
    if bought.residual > bought.price:
        raise FlagError(f"--residual is {args.residual}, above --price {args.price}.")
    return bought


def _needed(args: argparse.Namespace, flag: str) -> Fraction:
    value = _number(args, flag)
    if value is None:
        raise FlagError(f"--{flag} is missing: {FLAGS[flag][1]}.")
    return value


def _number(args: argparse.Namespace, flag: str) -> Fraction | None:
    text = _text(args, flag)
    if text is not None and not NUMBER.fullmatch(text):
        raise FlagError(f"--{flag} is {text!r}, but takes a plain number such as 12 or 0.25.")
    return None if text is None else Fraction(text)


def _text(args: argparse.Namespace, flag: str) -> str | None:
    value: str | None = getattr(args, flag.replace("-", "_"))
    return value
