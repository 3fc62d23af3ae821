"""`rigledger dashboard`: serves the pages on the configured address."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collector.settings import Settings

LOOPBACK = ("localhost", "127.0.0.1", "::1")
SERVER = Path(__file__).with_name("server.py")

# Polars keeps what it has freed for a while: after a busy day was opened, some hundreds of MB. Its
# own wish, which it leaves to the processes started after its import, is nobody's choice.
GIVE_BACK = ("_RJEM_MALLOC_CONF", "narenas:2,dirty_decay_ms:0,muzzy_decay_ms:0")
POLARS_OWN = "dirty_decay_ms:500,muzzy_decay_ms:1000"

# What the server is told, on the command line, since a wheel carries no .streamlit/ folder.
# The same values stand in .streamlit/config.toml for those who start the pages by hand.
OPTIONS = {
    "server.showEmailPrompt": "false",
    "browser.gatherUsageStats": "false",
    "client.showErrorDetails": "type",
    "client.showErrorLinks": "false",
    "client.toolbarMode": "minimal",
    "theme.font": "sans-serif",
    "theme.headingFont": "sans-serif",
    "theme.baseRadius": "6px",
    "theme.metricValueFontSize": "1.75rem",
    "theme.metricValueFontWeight": "600",
    "theme.light.primaryColor": "#0f4c81",
    "theme.light.backgroundColor": "#ffffff",
    "theme.light.secondaryBackgroundColor": "#f6f5f2",
    "theme.light.textColor": "#1d2129",
    "theme.light.borderColor": "#e4e2dd",
    "theme.dark.primaryColor": "#8cc4f5",
    "theme.dark.backgroundColor": "#16181d",
    "theme.dark.secondaryBackgroundColor": "#1f2229",
    "theme.dark.textColor": "#eceef2",
    "theme.dark.borderColor": "#30333b",
}


def add_commands(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Mount this room's commands."""
    parser = subparsers.add_parser(
        "dashboard",
        help="serve the pages for the browser",
        description="Serve the pages on the address that [dashboard] listen names.",
    )
    parser.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="how much to tell on stderr (default: info)",
    )
    parser.set_defaults(run=run_dashboard)


def run_dashboard(args: argparse.Namespace) -> int:
    """Become the page server; returns only when it cannot start. Raises SettingsError."""
    from collector.settings import load

    settings = load(args.config)
    missing = [name for name in ("streamlit", "altair") if find_spec(name) is None]
    if missing:
        print(
            f"rigledger dashboard: {' and '.join(missing)} not installed; "
            "install rigledger with its extra [dashboard]",
            file=sys.stderr,
        )
        return 2
    print(f"dashboard on http://{settings.dashboard.listen}", flush=True)
    name, value = GIVE_BACK
    if not os.environ.get(name, "").replace(POLARS_OWN, "").strip(","):
        os.environ[name] = value
    # The server takes over this process: whoever started or stops us reaches it directly.
    os.execv(sys.executable, command(settings, args.config, args.log_level))  # noqa: S606


def command(settings: "Settings", config: Path | None, log_level: str = "info") -> list[str]:
    """The server's command line. The folder one stands in must not shadow any package: -P."""
    host, _, port = settings.dashboard.listen.rpartition(":")
    host = host.strip("[]")
    options = OPTIONS | {
        "server.address": host,
        "server.port": port,
        "server.headless": "true",
        "server.fileWatcherType": "none",
        "server.enableStaticServing": "false",
        "global.developmentMode": "false",
        "logger.level": log_level,
        "logger.messageFormat": "%(asctime)s %(levelname)s %(name)s: %(message)s",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    if host in LOOPBACK:
        # Another site's name that resolves to loopback must not reach the books.
        flags += [f"--server.allowedHosts={name}" for name in LOOPBACK]
    script = ["--", "--config", str(config.resolve())] if config else []
    return [sys.executable, "-P", "-m", "streamlit", "run", str(SERVER), *flags, *script]
