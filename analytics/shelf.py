"""Days of the books on a shelf: built once, kept as Parquet, built again when news arrives.

`derived/<day>/` beside the ledger holds a finished day's frames and facts, `derived/time/<day>/`
the timesheet that it was made of, each with its fingerprint (`fingerprints`). A timesheet knows no
price: other prices make other days of the same timesheets. A day that is not over is never kept.
What is kept by request is read only when asked for. The shelf can be deleted at any time.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import Any

import polars as pl

from analytics import folder
from analytics.assumptions import of_days
from analytics.day import Day, entered
from analytics.fingerprints import Fingerprints, Span, key
from analytics.folder import Facts, Kept
from analytics.periods import Period, day_at
from analytics.read import Ledger
from analytics.record import DAY_NS, around_ns, keep_record
from analytics.rig import changes
from analytics.timesheet import FRAMES as TIME_FRAMES
from analytics.timesheet import Details, Held, Timesheet, from_told, timesheets, told
from analytics.utilization import Peak
from collector.settings import Settings
from collector.tables import tables_of_rig
from collector.touched import HOUR_NS

PEAK_DAYS_NS = 90 * DAY_NS
CHUNK_DAYS = 31
CHUNK_ATTEMPTS = 100_000  # bounds the memory of a build
FRAMES = ("cells", "work", "tallies", "ends")
DETAILS = ("costs",)
TIME = "time"
Progress = Callable[[int, int], None]  # days built, days to build


def no_progress(_built: int, _all: int) -> None:
    """For those who do not wait in front of a screen."""


class Shelf:
    """The days of one ledger under one set of assumptions, as of one instant.

    With `keeps` off, nothing is written: for assumptions that are only thought of.
    """

    def __init__(
        self,
        ledger: Ledger,
        settings: Settings,
        now_ns: int,
        progress: Progress = no_progress,
        *,
        keeps: bool = True,
    ) -> None:
        self.ledger, self.settings, self.now_ns = ledger, settings, now_ns
        self._progress, self._keeps = progress, keeps
        self.root = ledger.path / "derived"
        self._series = ledger.price_series(settings)
        self._assumptions = of_days(settings, self._series)
        self.tables = tables_of_rig(settings)
        self._prints = Fingerprints(ledger, settings, now_ns)
        self._worked_hours = {hour for kind, hour in self._prints.news if kind == "attempt"}
        self._found: dict[str, dict[str, Any]] = {}
        self._open: dict[str, Day] = {}  # days that are not over, as of this instant

    @property
    def assumptions(self) -> str:
        """A digest of the settings that days rest on, and of the files that these name."""
        return self._assumptions

    @property
    def news(self) -> tuple[str, dict[tuple[str, int], int]]:
        """What the ledger told of its news (`Ledger.news`) before any of these days was taken."""
        return self._prints.born, self._prints.news

    def days(self, from_ns: int, to_ns: int) -> list[Day]:
        """The days of [from_ns, to_ns) up to now: from the shelf, else built."""
        spans = list(self._spans(from_ns, min(to_ns, self.now_ns)))
        days = {span.from_ns: day for span in spans if (day := self._taken(span)) is not None}
        missing = [span for span in spans if span.from_ns not in days]
        built = 0
        size = 1
        with ThreadPoolExecutor(1) as beside:  # the time of days is written while they are priced
            while built < len(missing):
                made, more = self._built(missing[built:], size, beside)
                days |= made
                built += len(made)
                self._progress(built, len(missing))
                size = more or size
        return [days[span.from_ns] for span in spans]

    def _built(
        self, spans: list[Span], size: int, beside: ThreadPoolExecutor
    ) -> tuple[dict[int, Day], int]:
        """The days of the first spans, up to a number, and how many to build next; what they were
        made of is let go before others are."""
        sheets = self._timesheets(spans, size)
        these = spans[: len(sheets)]
        writing = beside.submit(lambda: list(map(self._put_time, these, sheets)))
        made = self._entered(sheets)
        days = {
            span.from_ns: self._placed(span, sheet, day)
            for span, sheet, day in zip(these, writing.result(), made, strict=True)
        }
        return days, _next_size(sheets)

    def peaks(self, to_ns: int) -> list[dict[str, Peak]]:
        """The peaks of the days with requests among the 90 before an instant."""
        end = min(to_ns, self.now_ns)
        hours = sorted(hour for kind, hour in self._prints.news if kind == "attempt")
        worked = {day_at(hour * HOUR_NS, self.settings.zone).name for hour in hours
                  if end - PEAK_DAYS_NS <= hour * HOUR_NS < end}  # fmt: skip
        spans = [s for s in self._spans(end - PEAK_DAYS_NS, end) if s.name in worked]
        missing = [span for span in spans if self._facts(span) is None]
        for first, last in _runs(missing):
            self.days(first.from_ns, last.to_ns)
        facts = [self._found[key(span)] for span in spans]
        return [{card: Peak(**peak) for card, peak in each["peaks"].items()} for each in facts]

    def had_requests(self, from_ns: int, to_ns: int) -> bool:
        """Whether any request is known to reach into a span, to the hour."""
        hours = range(from_ns // HOUR_NS, -(-to_ns // HOUR_NS))
        return not self._worked_hours.isdisjoint(hours)

    def first_ns(self, *kinds: str) -> int | None:
        """The hour of the first event of these kinds that is known, None without any."""
        hours = [hour for kind, hour in self._prints.news if kind in kinds]
        return min(hours) * HOUR_NS if hours else None

    def mark(self, from_ns: int, to_ns: int, reach_ns: int = 0) -> str | None:
        """A digest of what attempts have told of a whole day that is over, and of the time before
        it that reaches into it; None where nothing about it can be kept."""
        (span,) = self._spans(from_ns, to_ns)
        return self._prints.of_attempts(span, reach_ns) if self._may_keep(span) else None

    def _spans(self, from_ns: int, to_ns: int) -> Iterator[Span]:
        start = from_ns
        while start < to_ns:
            day = day_at(start, self.settings.zone)
            end = min(day.to_ns, to_ns)
            whole = (start, end) == (day.from_ns, day.to_ns)
            settled = end + around_ns(self.settings) <= self.now_ns
            yield Span(day.name, start, end, whole and settled)
            start = end

    def _chunk(self, spans: list[Span], size: int) -> list[Span]:
        """The first spans that meet and know no change of an assignment: up to a number of days
        with requests, and those without any among them, which cost little."""
        cuts = set(changes(self.settings))
        chunk: list[Span] = []
        busy = 0
        for span in spans[:CHUNK_DAYS]:
            if chunk and (chunk[-1].to_ns != span.from_ns or span.from_ns in cuts):
                break
            busy += self.had_requests(span.from_ns, span.to_ns)
            if chunk and busy > size:
                break
            chunk.append(span)
        return chunk

    def _timesheets(self, spans: list[Span], size: int) -> list[Timesheet]:
        """The timesheets of the first spans, up to a number: from the shelf, else from events."""
        chunk = self._chunk(spans, size)
        kept = [sheet for sheet in takewhile(bool, map(self._timesheet, chunk)) if sheet]
        if kept:
            return kept
        lacking = [chunk[0], *takewhile(self._lacks_time, chunk[1:])]
        return self._from_events(lacking)

    def _lacks_time(self, span: Span) -> bool:
        return not span.is_over or self._time_of(span, ()) is None

    def _from_events(self, chunk: list[Span]) -> list[Timesheet]:
        bounds = chunk[0].from_ns, chunk[-1].to_ns
        return timesheets(
            keep_record(self.ledger, self.settings, *bounds, self.now_ns), self.settings
        )

    def _timesheet(self, span: Span) -> Timesheet | None:
        """The kept timesheet of a day whose fingerprint still holds."""
        kept = self._time_of(span, TIME_FRAMES) if span.is_over else None
        if kept is None:
            return None  # never made, taken away or damaged: it is made again
        day = Period(span.name, span.from_ns, span.to_ns)
        return from_told(day, *kept, self._ended(span), self.settings)

    def _put_time(self, span: Span, sheet: Timesheet) -> Timesheet:
        """Keep a timesheet that is not yet; what it holds by request is left where it can be had
        again."""
        if not (self._may_keep(span) and isinstance(sheet.details, Held)):
            return sheet
        frames = {name: getattr(sheet, name) for name in TIME_FRAMES}
        frames["ended"] = sheet.details("ended", ())
        facts = {"fingerprint": self._print_of(span, sheet), **told(sheet)}
        folder.make(self.root)
        kept = folder.put(self.root / TIME / span.name, frames, facts)
        return replace(sheet, details=self._ended(span)) if kept else sheet

    def _entered(self, sheets: list[Timesheet]) -> list[Day]:
        return entered(sheets, self.settings, self._series)

    def _placed(self, span: Span, sheet: Timesheet, day: Day) -> Day:
        """A day that was made; what it holds by request is left where it can be had again, if only
        by making it anew: a disk that takes no day would otherwise leave a month of them here."""
        self._found[key(span)] = day.facts
        if not span.is_over:
            self._open[key(span)] = day
        if not self._keeps:
            return replace(day, details=self._anew(span))
        if self._may_keep(span):
            self._put(span, day, sheet)
        return replace(day, details=self._shelved(span)) if span.is_over else day

    def _put(self, span: Span, day: Day, sheet: Timesheet) -> None:
        frames = {name: getattr(day, name) for name in FRAMES}
        by_request = {name: day.details(name, ()) for name in DETAILS}
        facts = {
            "fingerprint": self._print_of(span, sheet, self._assumptions, *self.tables),
            "sampled_until_ns": sheet.sampled_until_ns,
            "facts": day.facts,
        }
        folder.put(self.root / span.name, {**frames, **by_request}, facts)

    def _print_of(self, span: Span, sheet: Timesheet, *assumptions: str) -> str:
        recalls = sheet.facts["recalls"]
        return self._prints.of(span, sheet.sampled_until_ns, recalls, *assumptions)

    def _may_keep(self, span: Span) -> bool:
        return span.is_over and bool(self._prints.born) and self._keeps

    def _taken(self, span: Span) -> Day | None:
        if not span.is_over:
            return self._open.get(key(span))
        kept = self._money_of(span, FRAMES)
        if kept is None:
            return None
        facts, details = kept[0]["facts"], self._shelved(span)
        self._found[key(span)] = facts
        return Day(span.name, span.from_ns, span.to_ns, facts=facts, details=details, **kept[1])

    def _shelved(self, span: Span) -> Details:
        """A kept day's frames by request; one that was not kept, is gone, damaged or another's is
        made anew."""

        def read(name: str, columns: Sequence[str]) -> pl.DataFrame:
            if name not in DETAILS:
                return self._ended(span)(name, columns)
            kept = self._money_of(span, [name], columns)
            return self._anew(span)(name, columns) if kept is None else kept[1][name]

        return read

    def _ended(self, span: Span) -> Details:
        """Likewise what a kept timesheet holds by request."""

        def read(name: str, columns: Sequence[str]) -> pl.DataFrame:
            kept = self._time_of(span, [name], columns)
            if kept is None:
                return self._from_events([span])[0].details(name, columns)
            return kept[1][name]

        return read

    def _anew(self, span: Span) -> Details:
        """A day's frames by request, made when they are asked for."""

        def read(name: str, columns: Sequence[str]) -> pl.DataFrame:
            (day,) = self._entered(self._timesheets([span], 1))
            return day.details(name, columns)

        return read

    def _facts(self, span: Span) -> dict[str, Any] | None:
        """The kept facts of a day whose fingerprint still holds."""
        if key(span) not in self._found:
            kept = self._money_of(span, ())
            if kept is None:
                return None
            self._found[key(span)] = kept[0]["facts"]
        return self._found[key(span)]

    def _time_of(
        self, span: Span, names: Sequence[str], columns: Sequence[str] = ()
    ) -> Kept | None:
        """What is kept of a day's timesheet, where its fingerprint still holds."""
        place = self.root / TIME / span.name
        return folder.read(place, names, columns, holds=lambda told: self._holds(span, told))

    def _money_of(
        self, span: Span, names: Sequence[str], columns: Sequence[str] = ()
    ) -> Kept | None:
        """What is kept of a day made of it, likewise."""
        rests_on = self._assumptions, *self.tables
        place = self.root / span.name
        return folder.read(
            place, names, columns, holds=lambda told: self._holds(span, told, *rests_on)
        )

    def _holds(self, span: Span, told: Facts, *assumptions: str) -> bool:
        try:
            until, recalls = told["sampled_until_ns"], told["facts"]["recalls"]
            expected = self._prints.of(span, until, recalls, *assumptions)
            return bool(self._prints.born) and told["fingerprint"] == expected
        except (KeyError, TypeError):
            return False


def _next_size(sheets: list[Timesheet]) -> int:
    """How many days with requests to build next: as many as memory allows by those just built, and
    no more than four times as many, as the next may be busier; 0 where none had any."""
    attempts = [int(sheet.tallies["attempts"].sum()) for sheet in sheets]
    busy = sum(map(bool, attempts))
    if not busy:
        return 0
    return max(1, min(CHUNK_DAYS, CHUNK_ATTEMPTS * busy // sum(attempts), 4 * busy))


def _runs(spans: list[Span]) -> Iterator[tuple[Span, Span]]:
    """First and last of each run of spans that meet."""
    if not spans:
        return
    first = spans[0]
    for before, after in pairwise(spans):
        if before.to_ns != after.from_ns:
            yield first, before
            first = after
    yield first, spans[-1]
