"""How this program was called, so that what it tells people to type works where they are."""

import shlex
import sys
from pathlib import Path


def invocation(config: Path | None = None) -> str:
    """The start of a command line, in full, that calls this program with these settings.

    A start as `python rigledger.py` or `python -m rigledger` is told with its interpreter; inside
    another program it is the plain name.
    """
    program = Path(sys.argv[0])
    if program.name == "rigledger":
        words = [str(program.absolute())]
    elif program.name == "rigledger.py":
        words = [sys.executable, str(program.absolute())]
    else:
        words = ["rigledger"]
    if config is not None:
        words += ["--config", str(config.absolute())]
    return shlex.join(words)
