"""The commands of this room; heavy imports wait inside the functions that need them."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from analytics.estimate import as_json, estimate
from analytics.estimate_flags import FlagError, add_flags, assumptions
from analytics.render.estimate import as_text

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


def add_commands(subparsers: "Subparsers") -> None:
    """Mount this room's commands."""
    _add_estimate(subparsers)


def run_estimate(args: argparse.Namespace) -> int:
    """Print the estimate; 0, or 2 with one sentence on stderr when a flag cannot be used."""
    try:
        given, api_output_price = assumptions(args)
    except FlagError as error:
        print(f"rigledger estimate: {error}", file=sys.stderr)
        return 2
    result = estimate(given, api_output_price)
    print(json.dumps(as_json(result)) if args.json else as_text(given, result, api_output_price))
    return 0


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
