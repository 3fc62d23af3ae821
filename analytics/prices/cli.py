"""`rigledger prices`: the sheets at hand, what a request costs on one, and sheets of one's own."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from analytics.prices.flags import declare, mount

if TYPE_CHECKING:
    from analytics.prices.catalogue import Catalogue

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_prices(subparsers: "Subparsers") -> None:
    """Mount the command and its own commands."""
    parser = subparsers.add_parser(
        "prices",
        help="price sheets of APIs: what a request would cost elsewhere",
        description="Price sheets of APIs. A price holds at an instant: sheets know since when, "
        "at which hours and on which days, for how long a prompt and under which terms.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    declare(actions)
    mount(
        actions,
        {
            "list": run_list,
            "show": run_show,
            "cost": run_cost,
            "add": run_add,
            "import": run_import,
            "update": run_update,
        },
    )


def _catalogue(args: argparse.Namespace) -> "Catalogue":
    from analytics.prices.catalogue import Catalogue
    from collector.settings import load

    return Catalogue(load(args.config))


def _refuse(error: object) -> int:
    print(f"rigledger prices: {error}", file=sys.stderr)
    return 2


def run_list(args: argparse.Namespace) -> int:
    """Print the sheets; 1 where none matches."""
    from fnmatch import fnmatchcase

    from analytics.prices.told import LISTED, listed
    from analytics.render import rows

    catalogue = _catalogue(args)
    pattern = args.pattern if set(args.pattern) & set("*?[") else f"*{args.pattern}*"
    names = [name for name in catalogue.names() if fnmatchcase(name, pattern)]
    lines = [listed(catalogue.sheet(name)) for name in names]
    if args.json:
        print(rows.as_json(LISTED, lines))
    elif lines:
        print(rows.as_table(LISTED, [False, False, True, True, True], lines))
    if not names:
        print(f"rigledger prices: no sheet is called {args.pattern}", file=sys.stderr)
    return 0 if names else 1


def run_show(args: argparse.Namespace) -> int:
    """Print one sheet."""
    import msgspec

    from analytics.prices.catalogue import NoSuchSheet
    from analytics.prices.toml import as_toml

    try:
        sheet = _catalogue(args).sheet(args.sheet)
    except NoSuchSheet as error:
        return _refuse(error)
    if args.json:
        print(json.dumps(msgspec.to_builtins(sheet), ensure_ascii=False, indent=2))
    else:
        print(as_toml([sheet]).rstrip())
    return 0


def run_cost(args: argparse.Namespace) -> int:
    """Print the cost; 1 where the sheet cannot price the request."""
    import datetime as dt

    from analytics.prices.catalogue import NoSuchSheet
    from analytics.prices.cost import Usage, cost
    from analytics.prices.told import as_json, as_text

    usage = Usage(args.input, args.output, args.cache_read, args.cache_write, args.reasoning)
    at = args.at or dt.datetime.now(dt.UTC)
    try:
        sheet = _catalogue(args).sheet(args.sheet)
    except NoSuchSheet as error:
        return _refuse(error)
    found = cost(sheet, usage, at, dict(args.term), args.ttl)
    told = as_json(sheet, found, at)
    print(json.dumps(told, ensure_ascii=False) if args.json else as_text(told))
    return 0 if found.amount is not None else 1


def run_add(args: argparse.Namespace) -> int:
    """Write a flat sheet, or new prices of one that is there, into one's own file."""
    from analytics.prices import own
    from analytics.prices.sheet import Period, Sheet
    from collector.settings import load

    write = {} if args.cache_write is None else {"default": args.cache_write}
    period = Period(
        from_=args.since,
        input=args.input,
        cache_read=args.cache_read,
        cache_write=write,
        output=args.output,
    )
    sheet = Sheet(id=args.sheet, currency=args.currency, periods=[period])
    path = own.add(load(args.config).sheet_folder(), sheet)
    print(f"{args.sheet} is in {path}.")
    return 0


def run_import(args: argparse.Namespace) -> int:
    """Take a public price list into one's own sheets and list what cannot be said there."""
    import datetime as dt

    from analytics.prices import own
    from analytics.prices.imported import left_out, read_list
    from analytics.wording import counted
    from collector.settings import load

    settings, now = load(args.config), dt.datetime.now(dt.UTC)
    folder = settings.sheet_folder()
    today = dt.datetime.combine(now.astimezone(settings.zone).date(), dt.time(), settings.zone)
    since = args.since or today
    sheets, left = read_list(args.kind, args.file, args.only, since)
    for line in left_out(left):
        print(f"left out: {line}", file=sys.stderr)
    if not sheets:
        return _refuse(f"{args.file}: no model in it is sold by the token, or none is asked for")
    path = folder / f"{args.kind}.toml"
    new, changed = own.merge(path, sheets, args.since or now)
    read = counted(len(sheets), "sheet")
    print(f"{read} read: {new} new, {changed} with new prices, in {path}.")
    if new and args.since is None:
        print(f"New sheets price from {since.isoformat()} on; --from names another instant.")
    return 0


def run_update(args: argparse.Namespace) -> int:
    """Fetch the newest price lists; 1 where that failed and the old ones stay."""
    from analytics.prices.update import CannotUpdate, update
    from collector.settings import load

    try:
        print(update(load(args.config).sheet_folder(), args.url))
    except CannotUpdate as error:
        print(f"rigledger prices: {error}", file=sys.stderr)
        return 1
    return 0
