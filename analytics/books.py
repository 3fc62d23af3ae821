"""The books of a span of time: all that the ledger tells of it, and what it cost."""

from dataclasses import dataclass

from analytics.account import Money, account
from analytics.read import Ledger
from analytics.record import Record, keep_record
from collector.settings import Settings


@dataclass(frozen=True)
class Books(Record, Money):
    """A record of [from_ns, to_ns) with its money."""


def keep_books(ledger: Ledger, settings: Settings, from_ns: int, to_ns: int, now_ns: int) -> Books:
    """Read the ledger and account for [from_ns, min(to_ns, now_ns)), as `record.keep_record`."""
    record = keep_record(ledger, settings, from_ns, to_ns, now_ns)
    return Books(**vars(record), **vars(account(record, settings, ledger.price_series(settings))))
