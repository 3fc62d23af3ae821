"""A router in front of engines: this program's own, or a peer with one of its policies."""

import contextlib
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from bench import peers
from bench.children import NotStarted, free_address, rigledger, running
from bench.pools import SLOTS, Pool

OURS = "rigledger"
ROUTERS = (OURS, *peers.POLICIES)


@contextlib.contextmanager
def routed(folder: Path, router: str, pool: Pool) -> Iterator[str]:
    """One of `ROUTERS` in front of the engines; its address. Raises NotStarted."""
    listen = free_address()
    if router == OURS:
        command = rigledger(_settings(folder, listen, pool), "route", "--log-level", "error")
    else:
        peer, options = peers.POLICIES[router]
        found = peers.command(peer, listen, pool.urls, options)
        if found is None:
            raise NotStarted(f"{peer} is not installed")
        command = found
    with running(command, f"http://{listen}/health", folder / "router.log"):
        time.sleep(1.0)  # peers take a moment to find their workers well
        yield f"http://{listen}"


def _settings(folder: Path, listen: str, pool: Pool) -> Path:
    config = folder / "rigledger.toml"
    shutil.rmtree(folder / "ledger", ignore_errors=True)
    tables = "".join(
        f'[[engines]]\nname = "card{n}"\nurl = "{url}"\nkind = "{pool.kind}"\n'
        f'gpus = ["GPU-{n}"]\nslots = {SLOTS}\n'
        for n, url in enumerate(pool.urls)
    )
    config.write_text(
        f"[store]\npath = {json.dumps(str(folder / 'ledger'))}\n"
        f'[collector]\nlisten = "{free_address()}"\n[router]\nlisten = "{listen}"\n{tables}'
    )
    return config
