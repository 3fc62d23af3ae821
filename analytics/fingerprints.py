"""Fingerprints of days: whether what was kept of one still rests on the same.

A timesheet rests on the program's rules, the ledger, the settings that know no price, the table of
its time zone, what befell the host, and the running numbers of the news of its hours; a day on all
that its timesheet rests on, and on the other settings and the tables of holidays.
"""

import json
from dataclasses import dataclass
from typing import Any

from analytics.assumptions import digest, of_time
from analytics.evidence import WITNESS_HOLDS_NS
from analytics.host import HostFacts, host_facts
from analytics.intervals import clip
from analytics.periods import day_at
from analytics.prefixes import RECALL_NS
from analytics.read import Ledger
from analytics.record import DAY_NS, LOOKBACK_NS, around_ns
from collector.settings import Settings
from collector.tables import tables
from collector.touched import HOUR_NS

RULES = 20  # raise it whenever the same events and settings would give other figures


@dataclass(frozen=True)
class Span:
    """A local day, or the part of it that a period or the present leaves."""

    name: str
    from_ns: int
    to_ns: int
    is_over: bool


class Fingerprints:
    """Those of one ledger's days under one set of assumptions, as of one instant.

    born, news: what the ledger told of its news (`Ledger.news`) before any day was taken.
    """

    def __init__(self, ledger: Ledger, settings: Settings, now_ns: int) -> None:
        self.ledger, self.settings, self.now_ns = ledger, settings, now_ns
        self.born, self.news = ledger.news()
        zone = tables([settings.zone.key], holidays=False)
        self._of_time = [of_time(settings), *zone]
        self._host: HostFacts | None = None

    def of(self, span: Span, sampled_until_ns: int, recalls: bool, *assumptions: str) -> str:
        """Of a timesheet, or with what money rests on beside it of the day made of it."""
        sampled_until_ns = self._settled_until(sampled_until_ns)
        around = around_ns(self.settings)
        before = around + RECALL_NS if recalls else around
        hours = [
            ("attempt", span.from_ns - before, span.to_ns + around),
            ("heartbeat", span.from_ns - WITNESS_HOLDS_NS, span.to_ns),
            ("sample", span.from_ns - LOOKBACK_NS - DAY_NS, sampled_until_ns),
        ]
        news = [each for of in hours for each in self._news_of(*of)]
        # What an engine once told holds until it speaks again.
        told = [number for (kind, hour), number in self.news.items()
                if kind == "engine" and hour <= span.to_ns // HOUR_NS]  # fmt: skip
        news.append(("engine", 0, max(told, default=0)))
        rests_on = [RULES, self.born, self._of_time, assumptions, key(span), news]
        rests_on += self._host_until(span, max(span.to_ns, sampled_until_ns))
        return digest(json.dumps(rests_on).encode())

    def of_attempts(self, span: Span, reach_ns: int) -> str:
        """Of what attempts told of a day, and of the time before it that reaches into it."""
        gap = self.settings.usage.active_gap_ns
        since = day_at(span.from_ns - reach_ns, self.settings.zone).from_ns
        news = self._news_of("attempt", since - gap, span.to_ns + gap)
        return digest(json.dumps([self.born, span.from_ns, span.to_ns, news]).encode())

    def _news_of(self, kind: str, start: int, end: int) -> list[tuple[str, int, int]]:
        """The numbers of the last news of a kind in the hours of a span."""
        return [
            (kind, hour, self.news[kind, hour])
            for hour in range(start // HOUR_NS, end // HOUR_NS + 1)
            if (kind, hour) in self.news
        ]

    def _host_until(self, span: Span, until_ns: int) -> list[Any]:
        """What befell the host as far as it matters to a day: the host tells when it is back."""
        if self._host is None:
            self._host = host_facts(self.ledger.frame("host_events", 0, self.now_ns))
        low, host = span.from_ns - LOOKBACK_NS - DAY_NS, self._host
        breaks = host.breaks[(host.breaks >= low) & (host.breaks <= until_ns)]
        steps = [step for step in host.steps if span.from_ns <= step[0] < span.to_ns]
        off = clip(host.off, span.from_ns, span.to_ns)
        return [breaks.tolist(), steps, off.tolist(), clip(host.twice, 0, until_ns).tolist()]

    def _settled_until(self, sampled_until_ns: int) -> int:
        """Until when samples matter, as far as it has passed: readings have their period and their
        series from a whole UTC day, so a day kept before that one was over is built once more."""
        whole_ns = -(-sampled_until_ns // DAY_NS) * DAY_NS
        return whole_ns if whole_ns <= self.now_ns else sampled_until_ns


def key(span: Span) -> str:
    """A span by its bounds."""
    return f"{span.from_ns}-{span.to_ns}"
