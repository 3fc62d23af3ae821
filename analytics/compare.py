"""Own cost beside what the same requests come to on each price sheet.

A bill is converted day by day, at the rate of the day in which its requests ended. Where requests
could not be priced the bill is at least what is said, and so may own cost be; savings, break-even
and verdict say which side that leaves open, or nothing where it leaves the answer open.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analytics.billing import alone, bills
from analytics.bounds import Bound, known, over, sign
from analytics.breakeven import UsedDay, as_json, break_even, decimal
from analytics.counterfactual import Bill
from analytics.day import Day
from analytics.prices.catalogue import Catalogue, NoSuchSheet
from analytics.prices.rates import NoRate, Rate, convert, rate_at
from analytics.prices.sheet import Sheet
from analytics.shelf import Shelf
from analytics.used_day import beside
from analytics.utilization import per_mtok_nano
from collector.settings import Settings, SettingsError

AMOUNTS = ("no_cache_nano", "same_hits_nano", "headline_nano", "output_nano")


@dataclass(frozen=True)
class Billed:
    """What a period's requests come to on a sheet, in the rig's currency.

    `sheet` is None where there is none of the name, which the bill's reason then tells; `rates`
    are those at which it was converted, none where the currency is the same.
    """

    name: str
    sheet: Sheet | None
    bill: Bill
    rates: tuple[Rate, ...] = ()


def named(settings: Settings) -> list[str]:
    """The sheets that the settings compare with: those of a catalogue, then flat lists."""
    return [*settings.compare.sheets, *(price.name for price in settings.compare.prices)]


def compared(shelf: Shelf, days: Sequence[Day], names: Sequence[str] | None = None) -> list[Billed]:
    """The bills of days on the sheets of these names, by default those of the settings."""
    names = named(shelf.settings) if names is None else names
    catalogue = Catalogue(shelf.settings)
    found = {name: _found(catalogue, name) for name in names}
    sheets = [sheet for sheet in found.values() if isinstance(sheet, Sheet)]
    by_day = list(bills(shelf, days, sheets))
    asked = sum(int(day.tallies["requests"].sum()) for day in days)
    told = []
    for name, sheet in found.items():
        if isinstance(sheet, str):
            bill = Bill(requests=asked, unpriced={sheet: asked} if asked else {})
            told.append(Billed(name, None, bill))
        else:
            column = [row[sheets.index(sheet)] for row in by_day]
            told.append(_converted(name, sheet, days, column, shelf.settings))
    return told


def compared_alone(shelf: Shelf, day: Day, source: str, event_id: str) -> list[dict[str, Any]]:
    """The bills of one attempt that ended in a day on the sheets of the settings.

    sheet, scenario and the bills as `compare` has them; why: what keeps it from being priced.
    """
    catalogue, told = Catalogue(shelf.settings), []
    for name in named(shelf.settings):
        sheet = _found(catalogue, name)
        if isinstance(sheet, str):
            billed = Billed(name, None, Bill(requests=1, unpriced={sheet: 1}))
        else:
            bill = alone(shelf, day, source, event_id, sheet)
            billed = _converted(name, sheet, [day], [bill], shelf.settings)
        told.append({"sheet": name, **_bills(billed.bill), "why": _why(billed.bill)})
    return told


def _why(bill: Bill) -> str | None:
    if not bill.requests:
        return "another try of this request counts, and is billed"
    return next(iter(bill.unpriced), None)


def _found(catalogue: Catalogue, name: str) -> Sheet | str:
    """The sheet, or why there is none."""
    try:
        return catalogue.sheet(name)
    except (NoSuchSheet, SettingsError) as error:
        return str(error)


def _converted(
    name: str, sheet: Sheet, days: Sequence[Day], by_day: Sequence[Bill], settings: Settings
) -> Billed:
    """Bills of days as one in the rig's currency; a day without a rate is not priced."""
    whole, rates = Bill(), dict[Rate, None]()
    for day, bill in zip(days, by_day, strict=True):
        if not bill.priced:
            whole += bill
            continue
        try:
            rates[rate_at(settings, sheet.currency, settings.rig.currency, day.from_ns)] = None
            whole += _in_currency(bill, sheet, settings, day.from_ns)
        except NoRate as error:
            reasons = {**bill.unpriced, str(error): bill.priced}
            whole += Bill(requests=bill.requests, unpriced=reasons)
    foreign = sheet.currency != settings.rig.currency
    return Billed(name, sheet, whole, tuple(rates) if foreign else ())


def _in_currency(bill: Bill, sheet: Sheet, settings: Settings, at_ns: int) -> Bill:
    source, target = sheet.currency, settings.rig.currency
    amounts: dict[str, Any] = {
        name: convert(getattr(bill, name), source, target, at_ns, settings) for name in AMOUNTS
    }
    return replace(bill, **amounts)


def compare(
    billed: Sequence[Billed], month: Mapping[str, Any], day: UsedDay | None
) -> list[dict[str, Any]]:
    """One entry per sheet: the three bills, what was saved, and the break-even.

    `month` is the document of `month.summarize` so far and `day` its average day. Where no request
    could be priced there is no bill and no saving.
    """
    return [_entry(each, month, day) for each in billed]


def _entry(billed: Billed, month: Mapping[str, Any], day: UsedDay | None) -> dict[str, Any]:
    sheet, bill = billed.sheet, billed.bill
    bills, told = _bills(bill), known(at_least=bill.priced < bill.requests)
    headline = bills["headline_nano"]
    price, saved = _price(bill, month["tokens"]["output"]), _savings(headline, told, month)
    return {
        "sheet": billed.name,
        "currency": month["currency"],
        "sheet_currency": sheet and sheet.currency,
        "rate": [_rate(rate) for rate in billed.rates] or None,
        "tokenizer_ratio": sheet and sheet.tokenizer_ratio,
        **bills,
        "same_hits_untold": bill.priced - bill.told,
        "headline_bound": None if headline is None else told,
        "headline_nano_per_mtok": price,
        "output_only_nano_per_mtok": (
            per_mtok_nano(bill.output_nano, bill.output_tokens) if bill.output_tokens else None
        ),
        "priced_requests": bill.priced,
        "simulated_requests": bill.keyed,
        "unpriced_requests": bill.requests - bill.priced,
        "unpriced": list(_by_reason(bill.unpriced)),
        "noted": list(_by_reason(bill.noted)),
        **saved,
        "here_or_there": _here_or_there(month["cost_per_mtok"]["marginal"]["output"], price, saved),
        "break_even": _break_even(headline, told, day),
    }


def _price(bill: Bill, tokens: int | None) -> int | None:
    """The headline bill per million output tokens: of the period where it covers all requests, as
    own cost has it; else of the requests that it covers."""
    over_all = bill.priced == bill.requests
    count = tokens if over_all else bill.output_tokens
    return per_mtok_nano(bill.headline_nano, count) if bill.priced and count else None


def _bills(bill: Bill) -> dict[str, Any]:
    """The three bills, and which is the headline; None where nothing could be priced."""
    headline = bill.headline_nano if bill.priced else None
    return {
        "no_cache_nano": bill.no_cache_nano if bill.priced else None,
        "same_hits_nano": bill.same_hits_nano if bill.told else None,
        "simulated_nano": headline if bill.keyed else None,
        "scenario": "simulated" if bill.keyed else "same_hits",
        "headline_nano": headline,
    }


def _rate(rate: Rate) -> dict[str, str | None]:
    return {
        "from": None if rate.from_ is None else rate.from_.isoformat(),
        "rate": decimal(rate.rate),
    }


def _by_reason(counts: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    for why in sorted(counts, key=lambda each: (-counts[each], each)):
        yield {"why": why, "requests": counts[why]}


def _savings(headline: int | None, told: Bound, month: Mapping[str, Any]) -> dict[str, Any]:
    """The bill less own cost, and which side it leaves open."""
    costs = {
        "full": (month["cost_nano"]["total"], bool(month["at_least"])),
        "marginal": (month["marginal_cost_nano"], month["marginal_at_least"]),
    }
    found: dict[str, Any] = {}
    for name, (own, at_least) in costs.items():
        saved = None if headline is None or own is None else headline - own
        bound = None if saved is None else over(told, known(at_least=at_least))
        found |= {f"savings_{name}_nano": saved, f"savings_{name}_bound": bound}
    return found


def _here_or_there(here: int | None, there: int | None, saved: Mapping[str, Any]) -> dict[str, Any]:
    """Now that the rig is bought: its energy above idle per million output tokens, beside the
    bill's. Which is cheaper is told where what was saved has a sign, whatever is not known."""
    cheaper = None
    if here is not None and there is not None:
        way = sign(saved["savings_marginal_nano"], saved["savings_marginal_bound"])
        cheaper = {1: "here", -1: "there", 0: "level", None: None}[way]
    return {"here_nano_per_mtok": here, "there_nano_per_mtok": there, "cheaper": cheaper}


def _break_even(headline: int | None, told: Bound, day: UsedDay | None) -> dict[str, Any] | None:
    """Solved for an average day of the period; None where there was no bill or no work."""
    if headline is None or day is None:
        return None
    return as_json(break_even(beside(day, headline, told)))
