"""`rigledger up`: collector, taps and dashboard as one process tree, with or without a rig."""

import fcntl
import logging
import os
import signal
import socket
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from collector import progress
from collector.clock import from_ns, now_ns
from collector.demo import rig
from collector.greeting import greeting
from collector.manifest import LOCK, MANIFEST
from collector.settings import Settings, SettingsError, load
from collector.settings_check import local_url, split_address
from collector.settings_edit import Correct, edited
from collector.settings_file import DEFAULT
from collector.settings_save import read_version
from collector.supervise import Child, StartError, Tree

START_S = 90.0
# The page opens with whatever is there by then, and fills up while one looks at it.
LOAD_S = 40.0
# Requests that run get `route --drain` to finish; what is cut then still has to be booked.
ROUTER_GRACE_S = 40.0


def up(config: Path | None, *, demo: bool, log_level: str | None = None) -> int:
    """Run the tree until Ctrl-C or SIGTERM; a second one ends it without waiting.

    Returns 0, 130 where it was ended without waiting, or 2 when something cannot start.
    Raises SettingsError for settings that cannot be used.
    """
    settings = load(config)
    unset = config is None and not DEFAULT.exists()
    demo = demo or unset
    if unset:
        print(f"no {DEFAULT} in {Path.cwd()}: showing the demo", flush=True)
    if demo:
        config = _write_demo(settings)
        settings = load(config)
    _require_alone(settings.store_path())
    _require_free(settings)
    if demo and not (settings.store_path() / MANIFEST).exists():
        page = local_url(settings.dashboard.listen)
        print(f"building the demo ledger once, about 35 s; the page will be at {page}", flush=True)
    log_level = log_level or ("warning" if demo else "info")
    stop = threading.Event()
    tree = Tree(stop, level=logging.getLevelName(log_level.upper()))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: tree.kill() if stop.is_set() else stop.set())
    try:
        if _start(tree, settings, config, log_level, demo=demo):
            print(greeting(settings, config, stop, demo=demo, from_none=unset), flush=True)
            tree.watch()
    except StartError as error:
        print(f"rigledger: {error}; its lines above say why", file=sys.stderr)
        return 2
    finally:
        tree.close()
    return 128 + signal.SIGINT if tree.killed else 0


def _write_demo(settings: Settings) -> Path:
    """The demo's settings beside its ledger, in a folder where no real books lie.

    What its settings page has changed there stays. Raises SettingsError for a file that is there
    and cannot be used.
    """
    folder = (settings.store_path() / "demo").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "rigledger.toml"
    listen = settings.collector.listen, settings.dashboard.listen
    kept = read_version(config).text
    text = (
        rig.settings_text(now_ns(), folder, *listen)
        if kept is None
        else edited(kept, _places(folder, *listen), from_ns(now_ns()).date())
    )
    if text != kept:
        config.write_text(text, encoding="utf-8")
    # The real books' folder must not win over the demo's own, here or in a child.
    os.environ.pop("RIGLEDGER_DATA", None)
    return config


def _places(folder: Path, collector: str, dashboard: str) -> list[Correct]:
    """What a start of the demo decides, whatever the file has kept."""
    told = (
        ("store", "path", str(folder)),
        ("collector", "listen", collector),
        ("dashboard", "listen", dashboard),
    )
    return [Correct((table, key), value, remark=False) for table, key, value in told]


def _start(
    tree: Tree, settings: Settings, config: Path | None, log_level: str, *, demo: bool
) -> bool:
    """Start everything in order; False when told to stop meanwhile. Raises StartError."""
    options = [] if config is None else ["--config", str(config)]
    collector = local_url(settings.collector.listen) + "/healthz"
    watch = ["--no-sources"] if demo else []
    command = [*_PYTHON, "rigledger", *options]
    level = ["--log-level", log_level]
    # A manifest that is built anew takes minutes, and would be begun again by a second start.
    keeper = Child(
        "collector",
        [*command, "collect", *watch, *level],
        _answers(collector),
        at_work=progress.log.name,
    )
    if not tree.start(keeper, START_S):
        return False
    ports = [*filter(None, [settings.router.listen]), *(tap.listen for tap in settings.taps)]
    if ports:
        listening = _listening(ports)
        router = Child("router", [*command, "route", *level], listening, grace_s=ROUTER_GRACE_S)
        if not tree.start(router, START_S):
            return False
    if demo and config is not None and not _start_feeder(tree, config):
        return False
    pages = local_url(settings.dashboard.listen) + "/_stcore/health"
    dashboard = Child("dashboard", [*command, "dashboard", *level], _answers(pages))
    return tree.start(dashboard, START_S)


# -P: whatever lies in the folder where the command is run, our own packages come first.
_PYTHON = (sys.executable, "-P", "-m")


def _start_feeder(tree: Tree, config: Path) -> bool:
    loaded, tell = os.pipe()
    os.set_blocking(loaded, False)
    command = [*_PYTHON, "collector.demo", str(config), str(tell)]
    feeder = Child("demo", command, _told(loaded), pass_fds=(tell,), own_terminal=True)
    try:
        return tree.start(feeder, LOAD_S)
    except StartError:
        if feeder.process is None or feeder.process.poll() is not None:
            raise
        print("rigledger: the demo is still loading; its pages fill up meanwhile", file=sys.stderr)
        return True


def _require_alone(folder: Path) -> None:
    """Raise SettingsError where another process keeps these books already."""
    lock = folder / LOCK
    try:
        with lock.open("rb") as held:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return
    except BlockingIOError:
        pid = _tree_of(lock.read_text(encoding="ascii").strip())
        raise SettingsError(
            f"rigledger already runs here (PID {pid}) and keeps {folder}; stop that one first"
        ) from None


def _tree_of(writer: str) -> str:
    """The process to stop: the tree that a collector belongs to, else the collector itself."""
    try:
        parent = Path(f"/proc/{writer}/stat").read_text().rpartition(")")[2].split()[1]
        words = Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return writer
    return parent if b"up" in words and any(b"rigledger" in word for word in words) else writer


def _require_free(settings: Settings) -> None:
    """Raise SettingsError when an address is taken, before anything is started."""
    listens = [
        ("[collector] listen", settings.collector.listen),
        ("[dashboard] listen", settings.dashboard.listen),
        *([("[router] listen", door)] if (door := settings.router.listen) else []),
        *((f"[[taps]] listen of {tap.behind}", tap.listen) for tap in settings.taps),
    ]
    for name, address in listens:
        host, port = split_address(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise SettingsError(
                    f"{name} = {address}: {reason}; stop what runs there, or choose another "
                    f"address there in {DEFAULT}"
                ) from None


def _answers(url: str) -> Callable[[], bool]:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def healthy() -> bool:
        try:
            with opener.open(url, timeout=1) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    return healthy


def _listening(addresses: list[str]) -> Callable[[], bool]:
    def healthy() -> bool:
        try:
            for address in addresses:
                socket.create_connection(split_address(address), timeout=1).close()
        except OSError:
            return False
        return True

    return healthy


def _told(loaded: int) -> Callable[[], bool]:
    def healthy() -> bool:
        try:
            return os.read(loaded, 1) == b"1"
        except BlockingIOError:
            return False

    return healthy
