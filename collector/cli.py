"""The collector's command line."""

import argparse
import logging
import os

from collector.setup.flags import add_flags


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Mount `rigledger collect` and `rigledger init`."""
    collect = subparsers.add_parser(
        "collect", help="keep events: over HTTP, from the cards and from the engines' health"
    )
    collect.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="how much to tell on stderr (default: info)",
    )
    collect.add_argument(
        "--no-sources",
        action="store_true",
        help="keep only what arrives over HTTP; read neither cards nor engines",
    )
    collect.set_defaults(run=_collect)
    init = subparsers.add_parser(
        "init",
        help="write the settings: asks on a terminal, or takes flags",
        description="Ask about the rig, look at its cards and engines, and write a commented "
        "settings file (rigledger.toml, or what --config names). Nothing is sent anywhere but to "
        "the engines' own addresses.",
    )
    add_flags(init)
    init.set_defaults(run=_init)


def _init(args: argparse.Namespace) -> int:
    from collector.setup.run import init

    return init(args)


def _collect(args: argparse.Namespace) -> int:
    from collector.daemon import collect
    from collector.manifest import LedgerError
    from collector.migrations import SchemaTooNew
    from collector.settings import SettingsError, load

    os.umask(0o077)
    logging.basicConfig(
        level=args.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        return collect(load(args.config), reading=not args.no_sources)
    except (LedgerError, SchemaTooNew) as error:
        raise SettingsError(str(error)) from error
