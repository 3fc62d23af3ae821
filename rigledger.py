"""The front door: `rigledger COMMAND` mounts each room's commands, lazily."""

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOMS = ("collector", "router", "analytics", "dashboard")
OK, FINDING, USAGE = 0, 1, 2


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0 ok, 1 finding or failed check, 2 usage or configuration error."""
    _die_with_parent()
    stranger = _stranger()
    if stranger:
        return _refuse(stranger)
    try:
        args = _parser().parse_args(argv)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else USAGE
    try:
        return int(args.run(args))
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except BrokenPipeError:
        # The reader of a pipe (head, less) left; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        sentence = _expected(error)
        if sentence is None:
            raise
        return _refuse(sentence)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="rigledger",
        description="The books of a self-hosted LLM rig: what a million tokens cost, and where "
        "the rest of the machine went.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings (default: rigledger.toml in this folder, if there is one)",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_up(commands)
    for room in ROOMS:
        importlib.import_module(f"{room}.cli").add_commands(commands)
    for command in commands.choices.values():
        _accept_config(command)
    return parser


def _add_up(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    up = commands.add_parser(
        "up", help="collector, router (if configured) and dashboard; Ctrl-C stops all of it"
    )
    up.add_argument(
        "--demo",
        action="store_true",
        help="show a made-up rig with a ledger of its own (also without any rigledger.toml)",
    )
    up.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        help="how much each part tells on stderr (default: info; the demo: warning)",
    )
    up.set_defaults(run=_up)


def _up(args: argparse.Namespace) -> int:
    from collector.up import up  # noqa: PLC0415

    return up(args.config, demo=args.demo, log_level=args.log_level)


def _accept_config(command: argparse.ArgumentParser) -> None:
    """Take --config behind the command too, where people type it."""
    if "--config" not in command.format_usage():
        command.add_argument(
            "--config", type=Path, metavar="FILE", default=argparse.SUPPRESS, help="settings"
        )


def _stranger() -> str | None:
    """Whether another distribution has put its own package in the place of one of ours."""
    home = Path(__file__).resolve().parent
    for room in ROOMS:
        spec = find_spec(room)
        if spec is None or spec.origin is None:
            return f"the package {room!r} is missing; install rigledger again"
        if Path(spec.origin).resolve().parent.parent != home:
            return (
                f"the package {room!r} at {spec.origin} belongs to something else; "
                "install rigledger in an environment of its own"
            )
    return None


def _expected(error: Exception) -> str | None:
    """The sentence for an error that a user can mend, None for a fault of ours."""
    if type(error).__module__.split(".")[0] in ROOMS:
        # An exception that a room declares itself carries a sentence for the user.
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return _not_installed(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {(error.strerror or 'cannot be used').lower()}"
    if isinstance(error, FileNotFoundError) and error.errno is None:
        # Raised by a reader with its own sentence: no ledger lies there.
        return str(error)
    return None


def _not_installed(error: ModuleNotFoundError) -> str | None:
    """What to do where a library is missing, None where a part of our own is."""
    if error.name is None or error.name.partition(".")[0] in ROOMS:
        return None
    home = Path(__file__).resolve().parent
    if not (home / "Makefile").exists():
        return f"{error.name} is not installed; install rigledger again"
    return (
        f"{error.name} is not installed for {sys.executable}; run `make install` in {home} first, "
        f"then {home / '.venv/bin/rigledger'}"
    )


def _refuse(sentence: str) -> int:
    print(f"rigledger: {sentence}", file=sys.stderr)
    return USAGE


def _die_with_parent() -> None:
    """As a child of `up`, ask the kernel to stop this process when `up` is gone."""
    parent = os.environ.pop("RIGLEDGER_PARENT", None)
    if parent is not None:
        from collector.supervise import die_with_parent  # noqa: PLC0415

        die_with_parent(int(parent))


class _Version(argparse.Action):
    """Reads the installed version only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any, **__: Any) -> None:
        from importlib.metadata import version  # noqa: PLC0415

        print(f"rigledger {version('rigledger')}")
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
