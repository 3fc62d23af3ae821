"""What the rig saved since it was bought, month by month: the payback line.

A month saves its API bill less own cost, against `full` (was buying it right) and `marginal` (was
running it right). Months that nobody watched, as those before the first event, cost what they cost
and have no bill.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from analytics.bounds import both, known, over
from analytics.compare import Billed, compared
from analytics.day import joined
from analytics.month import cost_of, marginal_of
from analytics.periods import Period, month_at
from analytics.quality import at_least, quality
from analytics.shelf import Shelf

KINDS = ("full", "marginal")
# What the host's own log tells of the time before was not watched.
WATCHING = ("attempt", "heartbeat", "sample", "engine")


class Seen(NamedTuple):
    """Whether anybody watched a month's cards at some time, and at all times."""

    some: bool
    all: bool


def since_purchase(shelf: Shelf, names: Sequence[str]) -> list[dict[str, Any]]:
    """For each sheet its months, the oldest first: bill, own cost and savings (None where not
    known), and the savings added up so far.

    A sum leaves out the months whose saving is not known, and is None where none is; its bound
    tells what that leaves open. Time without a witness may have had requests: a month that has any
    billed at least what is said, and drew at least that for its requests. Of a month that nobody
    watched neither is known; against `full` it saved at least nothing less own cost.
    """
    lines: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    first = shelf.first_ns(*WATCHING)
    for period in months_since_purchase(shelf):
        days = shelf.days(period.from_ns, period.to_ns)
        cells = joined(days, "cells")
        marginal, marginal_known = marginal_of(cells)
        counted = quality(days, shelf.settings)
        unseen_ns, reasons = counted["unknown_ns"], at_least(counted, shelf.settings)
        begun = first is not None and first < period.to_ns
        seen = Seen(
            some=begun and (not unseen_ns or unseen_ns < int(cells["ns"].sum())),
            all=begun and not unseen_ns,
        )
        own = {
            "full": (cost_of(cells, days)["total"], bool(reasons)),
            "marginal": (marginal, not (marginal_known and seen.all)),
        }
        for billed in compared(shelf, days, names):
            before = lines[billed.name]
            before.append(_point(period, billed, own, before, seen))
    return [{"sheet": name, "months": months} for name, months in lines.items()]


def months_since_purchase(shelf: Shelf) -> Iterator[Period]:
    """Local months from the first purchase, or else the first request, up to now."""
    settings = shelf.settings
    starts = [settings.midnight_ns(asset.in_service) for asset in settings.hardware]
    first = shelf.first_ns("attempt")
    starts += [first] if first is not None else []
    at_ns = min(starts, default=shelf.now_ns)
    while at_ns < shelf.now_ns:
        period = month_at(at_ns, settings.zone)
        yield period
        at_ns = period.to_ns


def _point(
    period: Period,
    billed: Billed,
    own: dict[str, tuple[int | None, bool]],
    before: list[dict[str, Any]],
    seen: Seen,
) -> dict[str, Any]:
    """A month beside those before it."""
    bill = billed.bill
    nano = None if bill.requests and not bill.priced else bill.headline_nano
    more = known(at_least=bill.priced < bill.requests or not seen.all)
    point: dict[str, Any] = {
        "month": period.name,
        "requests": bill.requests,
        "unpriced_requests": bill.requests - bill.priced,
        "bill_nano": nano if seen.some else None,
        "bill_bound": more if seen.some and nano is not None else None,
    }
    last = before[-1] if before else {}
    for kind in KINDS:
        cost, cost_at_least = own[kind]
        if cost is None and seen.all and not bill.requests:
            cost, cost_at_least = 0, False  # no request, so nothing was drawn for any
        own_bound = known(at_least=cost_at_least)
        saved = None if nano is None or cost is None else nano - cost
        told = over(more, own_bound) if saved is not None else "open"
        point |= {
            f"{kind}_nano": cost,
            f"{kind}_bound": None if cost is None else own_bound,
            f"saved_{kind}_nano": saved,
            f"saved_{kind}_sum_nano": _sum(last.get(f"saved_{kind}_sum_nano"), saved),
            f"saved_{kind}_sum_bound": both(last.get(f"saved_{kind}_sum_bound", "exactly"), told),
        }
    return point


def _sum(before: int | None, more: int | None) -> int | None:
    """What is known of two amounts together."""
    told = [nano for nano in (before, more) if nano is not None]
    return sum(told) if told else None
