"""`rigledger route`: serve the router's door and the taps."""

import argparse
import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collector.settings import Settings
    from router.feed import Feed

GARBAGE_OBJECTS = 20_000


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Mount this room's commands."""
    route = subparsers.add_parser(
        "route",
        help="serve router and taps: ports that pass through to the engines and keep the books",
        description="Serve [router] and every [[taps]] entry of the settings in one process, until "
        "stopped.",
    )
    route.add_argument(
        "--connect-timeout", type=_seconds, default=10.0, metavar="S", help="to the engine (10)"
    )
    route.add_argument(
        "--idle-timeout",
        type=_seconds,
        default=None,
        metavar="S",
        help="without a byte from the engine (none: a long prompt takes its time, and an engine "
        "whose host has gone is found by TCP keep-alive)",
    )
    route.add_argument(
        "--total-timeout", type=_seconds, default=None, metavar="S", help="in all (none)"
    )
    route.add_argument(
        "--drain", type=_seconds, default=30.0, metavar="S", help="for requests at a stop (30)"
    )
    route.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="how much to tell on stderr (default: info)",
    )
    route.set_defaults(run=run_route)


def run_route(args: argparse.Namespace) -> int:
    """Serve until stopped. Raises SettingsError for what the configuration must cure."""
    from collector import connections
    from collector.manifest import LedgerError
    from collector.settings import SettingsError, load
    from router.service import check, open_feed

    os.umask(0o077)
    _log_to_stderr(args.log_level)
    settings = load(args.config)
    check(settings)
    connections.raise_limit()
    try:
        feed = open_feed(settings)
        feed.start()
        try:
            _serve(settings, feed, args)
        finally:
            feed.close()
    except LedgerError as error:
        raise SettingsError(str(error)) from error
    return 0


def _serve(settings: "Settings", feed: "Feed", args: argparse.Namespace) -> None:
    import uvloop

    from router.passing import Limits
    from router.service import Service

    limits = Limits(args.connect_timeout, args.idle_timeout, args.total_timeout)
    # What is loaded by now stays; requests make many objects but hardly a cycle.
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS)
    service = Service(settings, feed, limits, say=_say, drain_s=args.drain)
    uvloop.run(service.run())


def _say(line: str) -> None:
    print(line, flush=True)


def _log_to_stderr(level: str) -> None:
    import logging

    logging.basicConfig(
        level=max(logging.WARNING, logging.getLevelName(level.upper())),
        stream=sys.stderr,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    logging.getLogger("rigledger").setLevel(level.upper())


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < 1e7:
        raise argparse.ArgumentTypeError("must be a positive number of seconds")
    return seconds
