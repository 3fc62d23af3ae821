"""What the rig saved since it was bought, month by month: the payback line.

A month saves its API bill less own cost, against `full` (was buying it right) and `marginal` (was
running it right). Months before the first event cost what they cost and have no bill: what was
run then nobody watched.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from analytics.compare import Billed, bound, compared
from analytics.day import joined
from analytics.month import cost_of, marginal_of
from analytics.periods import Period, month_at
from analytics.quality import at_least, quality
from analytics.shelf import Shelf

KINDS = ("full", "marginal")
# What the host's own log tells of the time before was not watched.
WATCHING = ("attempt", "heartbeat", "sample", "engine")


def since_purchase(shelf: Shelf, names: Sequence[str]) -> list[dict[str, Any]]:
    """For each sheet its months, the oldest first: bill, own cost and savings (None where not
    known), and the savings added up so far.

    A sum leaves out the months whose saving is not known, and is None where none is; its bound
    tells what that leaves open. A month before the first event may have had requests: neither its
    bill is known nor what it drew for them; against `full` it saved at least nothing less own cost.
    """
    lines: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    first = shelf.first_ns(*WATCHING)
    for period in months_since_purchase(shelf):
        days = shelf.days(period.from_ns, period.to_ns)
        cells = joined(days, "cells")
        marginal, marginal_known = marginal_of(cells)
        reasons = at_least(quality(days, shelf.settings), shelf.settings)
        own = {
            "full": (cost_of(cells, days)["total"], bool(reasons)),
            "marginal": (marginal, not marginal_known),
        }
        watched = first is not None and first < period.to_ns
        for billed in compared(shelf, days, names):
            before = lines[billed.name]
            before.append(_point(period, billed, own, before, watched=watched))
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
    *,
    watched: bool,
) -> dict[str, Any]:
    """A month beside those before it."""
    bill = billed.bill
    nano = None if bill.requests and not bill.priced else bill.headline_nano
    point: dict[str, Any] = {
        "month": period.name,
        "requests": bill.requests,
        "unpriced_requests": bill.requests - bill.priced,
        "bill_nano": nano if watched else None,
    }
    last = before[-1] if before else {}
    for kind in KINDS:
        cost, cost_at_least = own[kind]
        if cost is None and watched and not bill.requests:
            cost, cost_at_least = 0, False  # no request, so nothing was drawn for any
        saved = None if nano is None or cost is None else nano - cost
        more = bill.priced < bill.requests or not watched
        told = bound(more, cost_at_least) if saved is not None else "open"
        point |= {
            f"{kind}_nano": cost,
            f"saved_{kind}_nano": saved,
            f"saved_{kind}_sum_nano": _sum(last.get(f"saved_{kind}_sum_nano"), saved),
            f"saved_{kind}_sum_bound": _both(last.get(f"saved_{kind}_sum_bound", "exactly"), told),
        }
    return point


def _sum(before: int | None, more: int | None) -> int | None:
    """What is known of two amounts together."""
    told = [nano for nano in (before, more) if nano is not None]
    return sum(told) if told else None


def _both(one: str, other: str) -> str:
    """The bound of a sum from those of its parts."""
    if "exactly" in (one, other):
        return other if one == "exactly" else one
    return one if one == other else "open"
