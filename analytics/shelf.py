"""Days of the books on a shelf: built once, kept as Parquet, built again when news arrives.

`derived/<day>/` beside the ledger holds a finished day's frames and facts, with a fingerprint of
all that they rest on: the program's rules, the settings that cost depends on, the tables of time
zones and holidays, and the running numbers of the news of its hours. A day that is not over is
never kept. What a kept day holds by request is read only when asked for. The shelf can be deleted
at any time.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import polars as pl

from analytics.assumptions import digest, of_days
from analytics.books import DAY_NS, LOOKBACK_NS, Books, around_ns, keep_books
from analytics.day import DETAILS, Day, Details, split
from analytics.evidence import WITNESS_HOLDS_NS
from analytics.host import HostFacts, host_facts
from analytics.intervals import clip
from analytics.periods import day_at
from analytics.prefixes import RECALL_NS
from analytics.read import Ledger
from analytics.rig import changes
from analytics.utilization import Peak
from collector.settings import Settings
from collector.tables import tables_of_rig
from collector.touched import HOUR_NS

RULES = 18  # raise it whenever the same events and settings would give other figures
PEAK_DAYS_NS = 90 * DAY_NS
CHUNK_DAYS = 31
CHUNK_ATTEMPTS = 100_000  # bounds the memory of a build
FRAMES = ("cells", "work", "tallies", "ends")
Progress = Callable[[int, int], None]  # days built, days to build


def no_progress(_built: int, _all: int) -> None:
    """For those who do not wait in front of a screen."""


@dataclass(frozen=True)
class Span:
    """A local day, or the part of it that a period or the present leaves."""

    name: str
    from_ns: int
    to_ns: int
    is_over: bool


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
        self._born, self._news = ledger.news()
        self._assumptions = of_days(settings, ledger)
        self.tables = tables_of_rig(settings)
        self._found: dict[str, dict[str, Any]] = {}
        self._open: dict[str, Day] = {}  # days that are not over, as of this instant
        self._host: HostFacts | None = None

    @property
    def assumptions(self) -> str:
        """A digest of the settings that days rest on, and of the files that these name."""
        return self._assumptions

    @property
    def news(self) -> tuple[str, dict[tuple[str, int], int]]:
        """What the ledger told of its news (`Ledger.news`) before any of these days was taken."""
        return self._born, self._news

    def days(self, from_ns: int, to_ns: int) -> list[Day]:
        """The days of [from_ns, to_ns) up to now: from the shelf, else built."""
        spans = list(self._spans(from_ns, min(to_ns, self.now_ns)))
        days = {span.from_ns: day for span in spans if (day := self._taken(span)) is not None}
        missing = [span for span in spans if span.from_ns not in days]
        built = 0
        size = 1
        while built < len(missing):
            chunk = self._chunk(missing[built:], size)
            found = self._build(chunk)
            days.update({day.from_ns: day for day in found})
            built += len(chunk)
            self._progress(built, len(missing))
            size = _next_size(len(chunk), found)
        return [days[span.from_ns] for span in spans]

    def peaks(self, to_ns: int) -> list[dict[str, Peak]]:
        """The peaks of the days with requests among the 90 before an instant."""
        end = min(to_ns, self.now_ns)
        hours = sorted(hour for kind, hour in self._news if kind == "attempt")
        worked = {day_at(hour * HOUR_NS, self.settings.zone).name for hour in hours
                  if end - PEAK_DAYS_NS <= hour * HOUR_NS < end}  # fmt: skip
        spans = [s for s in self._spans(end - PEAK_DAYS_NS, end) if s.name in worked]
        missing = [span for span in spans if self._facts(span) is None]
        for first, last in _runs(missing):
            self.days(first.from_ns, last.to_ns)
        facts = [self._found[_key(span)] for span in spans]
        return [{card: Peak(**peak) for card, peak in each["peaks"].items()} for each in facts]

    def had_requests(self, from_ns: int, to_ns: int) -> bool:
        """Whether any request is known to reach into a span, to the hour."""
        hours = range(from_ns // HOUR_NS, -(-to_ns // HOUR_NS))
        return any(kind == "attempt" and hour in hours for kind, hour in self._news)

    def first_ns(self, *kinds: str) -> int | None:
        """The hour of the first event of these kinds that is known, None without any."""
        hours = [hour for kind, hour in self._news if kind in kinds]
        return min(hours) * HOUR_NS if hours else None

    def mark(self, from_ns: int, to_ns: int, reach_ns: int = 0) -> str | None:
        """A digest of what attempts have told of a whole day that is over, and of the time before
        it that reaches into it; None where nothing about it can be kept."""
        (span,) = self._spans(from_ns, to_ns)
        if not (self._keeps and self._born and span.is_over):
            return None
        gap = self.settings.usage.active_gap_ns
        since = day_at(from_ns - reach_ns, self.settings.zone).from_ns
        news = self._news_of("attempt", since - gap, to_ns + gap)
        return digest(json.dumps([self._born, from_ns, to_ns, news]).encode())

    def _news_of(self, kind: str, start: int, end: int) -> list[tuple[str, int, int]]:
        """The numbers of the last news of a kind in the hours of a span."""
        return [
            (kind, hour, self._news[kind, hour])
            for hour in range(start // HOUR_NS, end // HOUR_NS + 1)
            if (kind, hour) in self._news
        ]

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
        """The first spans, up to a number, that meet and know no change of an assignment."""
        cuts = set(changes(self.settings))
        chunk = spans[:1]
        for before, span in pairwise(spans[:size]):
            if before.to_ns != span.from_ns or span.from_ns in cuts:
                break
            chunk.append(span)
        return chunk

    def _build(self, chunk: list[Span]) -> list[Day]:
        books = keep_books(
            self.ledger, self.settings, chunk[0].from_ns, chunk[-1].to_ns, self.now_ns
        )
        days = split(books, self.settings)
        return [self._placed(*each, books) for each in zip(chunk, days, strict=True)]

    def _placed(self, span: Span, day: Day, books: Books) -> Day:
        """A day that was built; what it holds by request is left where it can be had again."""
        self._found[_key(span)] = day.facts
        if not self._keeps:
            day = replace(day, details=self._anew(span))
        if not span.is_over:
            self._open[_key(span)] = day
        if not (span.is_over and self._born and self._keeps):
            return day
        until = _sampled_until(books, span.to_ns)
        return replace(day, details=self._shelved(span)) if self._put(span, day, until) else day

    def _taken(self, span: Span) -> Day | None:
        if not span.is_over:
            return self._open.get(_key(span))
        facts = self._facts(span)
        if facts is None:
            return None
        place = self.root / span.name
        try:
            frames = {name: pl.read_parquet(place / f"{name}.parquet") for name in FRAMES}
        except (OSError, pl.exceptions.PolarsError):
            return None  # taken away or damaged: it is built again
        details = self._shelved(span)
        return Day(span.name, span.from_ns, span.to_ns, facts=facts, details=details, **frames)

    def _shelved(self, span: Span) -> Details:
        """A kept day's frames by request; one that is gone or damaged is built anew."""

        def read(name: str, columns: Sequence[str]) -> pl.DataFrame:
            file = self.root / span.name / f"{name}.parquet"
            try:
                return pl.read_parquet(file, columns=list(columns) or None)
            except (OSError, pl.exceptions.PolarsError):
                return self._anew(span)(name, columns)

        return read

    def _anew(self, span: Span) -> Details:
        """A day's frames by request, built when they are asked for."""

        def read(name: str, columns: Sequence[str]) -> pl.DataFrame:
            books = keep_books(self.ledger, self.settings, span.from_ns, span.to_ns, self.now_ns)
            (day,) = split(books, self.settings)
            return day.details(name, columns)

        return read

    def _facts(self, span: Span) -> dict[str, Any] | None:
        """The kept facts of a day whose fingerprint still holds."""
        if _key(span) not in self._found:
            try:
                kept = json.loads((self.root / span.name / "facts.json").read_bytes())
                until, fingerprint = kept["sampled_until_ns"], kept["fingerprint"]
                facts: dict[str, Any] = kept["facts"]
                expected = self._fingerprint(span, until, recalls=facts["recalls"])
            except (OSError, ValueError, KeyError, TypeError):
                return None
            if not self._born or fingerprint != expected:
                return None
            self._found[_key(span)] = facts
        return self._found[_key(span)]

    def _put(self, span: Span, day: Day, sampled_until_ns: int) -> bool:
        """Keep a day: written aside, then renamed. A folder that cannot be written keeps none."""
        aside = self.root / f"{span.name}.{uuid4().hex}.tmp"
        kept = {
            "fingerprint": self._fingerprint(span, sampled_until_ns, recalls=day.facts["recalls"]),
            "sampled_until_ns": sampled_until_ns,
            "facts": day.facts,
        }
        try:
            self.root.mkdir(mode=0o700, exist_ok=True)
            aside.mkdir(mode=0o700)
            for name in FRAMES:
                getattr(day, name).write_parquet(aside / f"{name}.parquet", compression="lz4")
            for name in DETAILS:
                day.details(name, ()).write_parquet(aside / f"{name}.parquet", compression="lz4")
            (aside / "facts.json").write_text(json.dumps(kept), encoding="utf-8")
            _replace(aside, self.root / span.name)
        except OSError:
            shutil.rmtree(aside, ignore_errors=True)
            return False
        return True

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

    def _fingerprint(self, span: Span, sampled_until_ns: int, *, recalls: bool) -> str:
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
        told = [number for (kind, hour), number in self._news.items()
                if kind == "engine" and hour <= span.to_ns // HOUR_NS]  # fmt: skip
        news.append(("engine", 0, max(told, default=0)))
        rests_on = [RULES, self._born, self._assumptions, self.tables, _key(span), news]
        rests_on += self._host_until(span, max(span.to_ns, sampled_until_ns))
        return digest(json.dumps(rests_on).encode())


def _sampled_until(books: Books, end_ns: int) -> int:
    """Until when news of samples matters to a day: the first reading of every card and meter
    after it, where none came yet as far as one may reach back."""
    intervals = pl.concat([books.intervals, books.metered])
    before = intervals.filter(pl.col("from_ns") < end_ns)["card"].unique()
    after = intervals.filter(pl.col("at_ns") >= end_ns, pl.col("card").is_in(before.implode()))
    firsts = after.group_by("card").agg(pl.col("at_ns").min())["at_ns"].to_list()
    if len(firsts) < len(before):
        return end_ns + LOOKBACK_NS
    return max(firsts, default=end_ns)


def _next_size(last: int, found: list[Day]) -> int:
    """How many days to build next: as many as memory allows by the days just built, and no more
    than four times as many, as the next may be busier."""
    attempts = sum(int(day.tallies["attempts"].sum()) for day in found)
    most = CHUNK_ATTEMPTS * last // max(attempts, 1)
    return max(1, min(CHUNK_DAYS, most, 4 * last))


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


def _replace(aside: Path, place: Path) -> None:
    """Put a folder in the place of another; whoever comes first wins, both are right."""
    old = place.with_name(f"{place.name}.{uuid4().hex}.old")
    with suppress(FileNotFoundError):
        place.rename(old)
    aside.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def _key(span: Span) -> str:
    return f"{span.from_ns}-{span.to_ns}"
