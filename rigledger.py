"""The front door: `rigledger COMMAND` mounts each room's commands, lazily."""

import sys


def main() -> int:
    """Run one command; see `rigledger --help`."""
    sys.exit("not yet")
