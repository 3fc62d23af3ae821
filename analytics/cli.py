"""The commands of this room; heavy imports wait inside the functions that need them."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from analytics.estimate import as_json, estimate
from analytics.estimate_flags import FlagError, add_flags, asked_at, assumptions
from analytics.prices.cli import add_prices
from analytics.render.estimate import as_text

if TYPE_CHECKING:
    from analytics.finding import Finding
    from analytics.quote import Quote
    from collector.settings import Settings

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


FORMATS = ("text", "md", "html", "json", "csv", "focus")


def add_commands(subparsers: "Subparsers") -> None:
    """Mount this room's commands."""
    _add_estimate(subparsers)
    _add_report(subparsers)
    _add_close(subparsers)
    _add_compare(subparsers)
    add_prices(subparsers)
    _add_sql(subparsers)
    _add_doctor(subparsers)


def run_estimate(args: argparse.Namespace) -> int:
    """Print the estimate; 0, or 2 with one sentence on stderr when a flag cannot be used."""
    try:
        given, price = assumptions(args)
        quoted = _quoted(args) if args.sheet is not None else None
    except (FlagError, LookupError, ValueError) as error:
        print(f"rigledger estimate: {error}", file=sys.stderr)
        return 2
    price = price if quoted is None else quoted.price
    result = estimate(given, price)
    print(json.dumps(as_json(result)) if args.json else as_text(given, result, price, quoted))
    return 0


def _quoted(args: argparse.Namespace) -> "Quote":
    from analytics.quote import quote
    from collector.settings import load

    return quote(load(args.config), args.sheet, asked_at(args))


def _add_estimate(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser(
        "estimate",
        help="what a million tokens would cost, from assumptions alone",
        description="What a million output tokens cost under the given assumptions. "
        "All amounts are in one currency; a month has 30.4375 days.",
    )
    add_flags(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run_estimate)


def _add_report(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser(
        "report",
        help="the monthly cost report",
        description="What a month cost, where it went, what used it, and what changed since the "
        "month before and why; by default the last full month. A report whose sums do not meet to "
        "the unit is refused. `--format html` is one file to read: it asks for nothing elsewhere.",
    )
    parser.add_argument("month", nargs="?", metavar="YYYY-MM", help="default: last full month")
    parser.add_argument("--format", choices=FORMATS, default="text")
    parser.add_argument("--json", action="store_const", const="json", dest="format")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="write there instead of printing; a folder gets report-YYYY-MM",
    )
    parser.set_defaults(run=run_report)


def run_report(args: argparse.Namespace) -> int:
    """Print or write the report; 1 when the books do not add up or a closed month was changed,
    2 when it cannot be made."""
    from analytics.identities import BrokenIdentity
    from analytics.publish import published
    from collector.closed import DamagedClosing

    try:
        name, document = published(args.config, args.month, args.format)
    except (BrokenIdentity, DamagedClosing) as error:
        print(f"rigledger report: {error}", file=sys.stderr)
        return 1
    except (FileNotFoundError, ValueError) as error:
        print(f"rigledger report: {error}", file=sys.stderr)
        return 2
    if args.out is None:
        print(document)
        return 0
    ending = {"text": "txt", "focus": "focus.csv"}.get(args.format, args.format)
    out = args.out / f"report-{name}.{ending}" if args.out.is_dir() else args.out
    try:
        out.write_text(document + "\n", encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "cannot be written"
        print(f"rigledger report: {out}: {reason}; name another --out", file=sys.stderr)
        return 2
    return 0


def _add_close(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser(
        "close",
        help="close a month for good",
        description="Freeze the books of a month that is over. `report` shows them so from then "
        "on, and beside them, as a restatement, what the books would tell now and why.",
    )
    parser.add_argument("month", metavar="YYYY-MM")
    parser.add_argument(
        "--restate",
        action="store_true",
        help="file what has changed since a closed month was last filed; nothing is replaced",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run_close)


def run_close(args: argparse.Namespace) -> int:
    """Close or restate a month and name the file; 1 when the books do not add up or a closed
    month was changed, 2 when it cannot be done."""
    from analytics.identities import BrokenIdentity
    from analytics.publish import close
    from collector.closed import ClosingRefused, DamagedClosing

    try:
        file = close(args.config, args.month, restate=args.restate)
    except (BrokenIdentity, DamagedClosing) as error:
        print(f"rigledger close: {error}", file=sys.stderr)
        return 1
    except (ClosingRefused, ValueError, OSError) as error:
        print(f"rigledger close: {error}; nothing was filed", file=sys.stderr)
        return 2
    done = "restated" if args.restate else "closed"
    if args.json:
        print(json.dumps({"month": args.month, "done": done, "file": str(file)}))
    else:
        print(f"{args.month} is {done}: {file}")
    return 0


def _add_compare(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser(
        "compare",
        help="own cost beside API price sheets",
        description="What the same requests would have cost at other prices: without a cache, "
        "with the same hits as here and with the provider's own cache; what was saved, and where "
        "both would be even. By default the last full month and the sheets of the settings.",
    )
    parser.add_argument("--from", dest="first", metavar="DAY", help="YYYY-MM-DD or YYYY-MM")
    parser.add_argument("--to", dest="last", metavar="DAY", help="the last day or month, included")
    parser.add_argument(
        "--sheet",
        action="append",
        default=[],
        metavar="NAME",
        help="a sheet of `rigledger prices list`; several times for several",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run_compare)


def run_compare(args: argparse.Namespace) -> int:
    """Print the comparison; 1 when the books do not add up, 2 when it cannot be made."""
    from analytics.comparison import answered
    from analytics.identities import BrokenIdentity
    from analytics.prices.catalogue import NoSuchSheet

    try:
        answer = answered(args.config, args.first, args.last, args.sheet, as_json=args.json)
    except (BrokenIdentity, FileNotFoundError, NoSuchSheet, ValueError) as error:
        print(f"rigledger compare: {error}", file=sys.stderr)
        return 1 if isinstance(error, BrokenIdentity) else 2
    print(answer)
    return 0


def _add_sql(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser(
        "sql",
        help="a read-only query on the live ledger",
        description="Answer one SELECT over the tables attempt, sample, heartbeat, engine and "
        "host, as the ledger stands at this instant. Their columns: DESCRIBE attempt; beside the "
        "nanoseconds, received_at and at_time are timestamps in the rig's time zone.",
    )
    parser.add_argument("query", metavar="QUERY", help='such as "SELECT count(*) FROM attempt"')
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a JSON list of objects")
    form.add_argument("--csv", action="store_true", help="print CSV that is safe in spreadsheets")
    parser.add_argument(
        "--limit",
        type=_count,
        metavar="N",
        help="rows at most, 0 for all (default: 1000 in a table, all in JSON and CSV)",
    )
    parser.set_defaults(run=run_sql)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return number


def run_sql(args: argparse.Namespace) -> int:
    """Print what the query finds; a note on stderr where rows were left out."""
    from analytics.render import rows
    from analytics.sql import ask
    from collector.settings import load

    limit = args.limit
    if limit is None:
        limit = 0 if args.json or args.csv else 1000
    found = ask(load(args.config), args.query, limit or None)
    if args.json:
        print(rows.as_json(found.names, found.rows))
    elif args.csv:
        print(rows.as_csv(found.names, found.rows))
    else:
        print(rows.as_table(found.names, found.numeric, found.rows))
    for damage in found.damaged:
        print(f"rigledger sql: left out: {damage}", file=sys.stderr)
    if found.more:
        print(f"rigledger sql: only the first {limit:,} rows; --limit 0 for all", file=sys.stderr)
    return 0


def _add_doctor(subparsers: "Subparsers") -> None:
    parser = subparsers.add_parser(
        "doctor",
        help="check settings, ledger, clock, cards, engines and taps",
        description="Look at everything that the books rest on and say what is well, what to "
        "know and what to mend; changes nothing. Exit status 1 where something is to be mended.",
    )
    parser.add_argument("--json", action="store_true", help="print a JSON list of findings")
    parser.set_defaults(run=run_doctor)


def run_doctor(args: argparse.Namespace) -> int:
    """Print the findings; 1 where one is a problem."""
    from analytics import finding
    from collector.settings import SettingsError, load
    from collector.settings_file import DEFAULT

    found = []
    try:
        settings = load(args.config)
    except SettingsError as error:
        found = [finding.problem("settings", str(error))]
    else:
        if args.config is None and not DEFAULT.exists():
            found = [finding.note("settings", f"no {DEFAULT} here", "`rigledger init` writes one")]
        else:
            found = [finding.ok("settings", f"{args.config or DEFAULT} can be used")]
        found += _looked_at(settings)
    print(json.dumps(finding.as_json(found)) if args.json else finding.as_text(found))
    return finding.worst(found)


def _looked_at(settings: "Settings") -> "list[Finding]":
    from analytics import doctor, doctor_closed, finding
    from analytics.identities import BrokenIdentity
    from analytics.month import month
    from analytics.periods import month_at, month_before
    from analytics.read import Ledger
    from collector import checkup
    from collector.settings import SettingsError
    from router import checkup as taps

    facts = checkup.gather(settings)
    found = doctor.findings(settings, facts, taps.gather(settings))
    found += doctor_closed.months(settings.store_path())
    if facts.ledger.error is not None or not facts.ledger.newest_ns:
        return found
    period = month_before(month_at(facts.now_ns, settings.zone), settings.zone)
    try:
        month(Ledger(settings.store_path()), settings, period, facts.now_ns)
    except BrokenIdentity as error:
        return [*found, finding.problem("report", f"{period.name}: {error}", "report this defect")]
    except SettingsError as error:  # a price series that cannot be read
        return [*found, finding.problem("prices", str(error))]
    return [*found, finding.ok("report", f"the books of {period.name} add up")]
