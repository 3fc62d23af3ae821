"""`python -m collector.demo CONFIG READY_FD`: the feeder as a process of its own.

It writes one byte to the file descriptor once the ledger has reached the present.
"""

import os
import signal
import sys
import threading
from pathlib import Path

from collector.demo.feed import feed
from collector.demo.send import SendError
from collector.settings import load
from collector.supervise import die_with_parent


def main() -> int:
    """Feed until SIGTERM or SIGINT; 1 when the collector refuses what it is sent."""
    parent = os.environ.pop("RIGLEDGER_PARENT", None)
    if parent is not None:
        die_with_parent(int(parent))
    settings = load(Path(sys.argv[1]))
    ready = int(sys.argv[2])
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())

    def loaded() -> None:
        os.write(ready, b"1")

    try:
        feed(settings.collector.listen, settings.store_path(), stop, loaded)
    except SendError as error:
        print(f"rigledger: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
