"""One look at the cards through a short-lived child: a driver that hangs cannot hold us up."""

import contextlib
import os
import sys
from collections.abc import Sequence

import msgspec

from collector.sources.child import Child, ChildEndedError, ChildSilentError
from collector.sources.nvml_wire import Plan, Port, Round

# Without persistence mode the driver wakes every card first, seconds each.
LOOK_S = 30.0


class NoCardsSeen(RuntimeError):
    """The cards could not be read; the message says why."""


def look(engines: Sequence[Port] = (), timeout_s: float = LOOK_S) -> Round:
    """One reading of every card, in NVML's own order. Raises NoCardsSeen."""
    plan = msgspec.json.encode(Plan(sample_seconds=60, engines=list(engines))).decode()
    never, hold = os.pipe()
    try:
        child = Child([sys.executable, "-P", "-m", "collector.sources.nvml_child", plan])
        try:
            line = child.line(timeout_s, never)
        finally:
            child.end()
        return msgspec.json.decode(line or b"", type=Round)
    except ChildEndedError as error:
        raise NoCardsSeen(str(error).rstrip(".")) from None
    except ChildSilentError as error:
        raise NoCardsSeen(f"the driver hangs ({error}); reboot, or see `nvidia-smi`") from None
    except OSError as error:
        raise NoCardsSeen(f"no child process could be started: {error}") from None
    finally:
        for end in (never, hold):
            with contextlib.suppress(OSError):
                os.close(end)
