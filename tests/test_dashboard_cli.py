"""The page server's command line, and the file that says the same to those who start it by hand."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from rig.ports import free_port
from rig.tree import until
from streamlit import config as streamlit_config

from collector.settings import DashboardSettings, EngineSettings, Settings
from dashboard import cli, loaders

ROOT = Path(__file__).parent.parent


def flat(table: dict[str, Any], prefix: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def test_the_file_and_the_flags_say_the_same() -> None:
    file = ROOT / ".streamlit" / "config.toml"
    told = flat(tomllib.loads(file.read_text(encoding="utf-8")))
    by_hand = {
        "server.address": "127.0.0.1",
        "server.headless": "true",
        "server.fileWatcherType": "none",
    }
    assert told == cli.OPTIONS | by_hand


def test_the_server_knows_every_flag() -> None:
    known = set(streamlit_config._config_options_template)
    flags = [flag for flag in cli.command(Settings(), None) if flag.startswith("--")]
    assert {flag.removeprefix("--").partition("=")[0] for flag in flags} <= known


@pytest.mark.parametrize(
    ("listen", "host", "port", "guarded"),
    [
        ("127.0.0.1:8501", "127.0.0.1", "8501", True),
        ("[::1]:80", "::1", "80", True),
        ("0.0.0.0:8501", "0.0.0.0", "8501", False),  # noqa: S104
    ],
)
def test_the_configured_address_is_served(listen: str, host: str, port: str, guarded: bool) -> None:
    command = cli.command(Settings(dashboard=DashboardSettings(listen=listen)), Path("x.toml"))
    assert f"--server.address={host}" in command
    assert f"--server.port={port}" in command
    assert ("--server.allowedHosts=localhost" in command) is guarded
    assert command[-3:] == ["--", "--config", str(Path("x.toml").resolve())]


def test_cards_go_by_their_engines_names() -> None:
    engines = [
        EngineSettings(name="left", url="http://127.0.0.1:1", gpus=["GPU-aaaaaaaa-1"]),
        EngineSettings(name="wide", url="http://127.0.0.1:2", gpus=["GPU-b", "GPU-c"]),
    ]
    names = loaders.card_names(
        Settings(engines=engines), ["GPU-aaaaaaaa-1", "GPU-b", "GPU-c", "GPU-dddddddd-2"]
    )
    assert list(names.values()) == ["left", "wide", "wide c", "dddddddd"]


@pytest.mark.parametrize("own", [None, "that of Polars", "that of Polars, twice", "narenas:9"])
def test_the_server_runs_under_what_gives_memory_back(tmp_path: Path, own: str | None) -> None:
    """The process itself, after it has become the server; who has set it has chosen otherwise, but
    not where a process that knows Polars has started it."""
    name, value = cli.GIVE_BACK
    expected = own if own == "narenas:9" else value
    if own == "that of Polars":
        own = left_by_polars(name, {})
    elif own == "that of Polars, twice":
        own = left_by_polars(name, {name: left_by_polars(name, {})})
    config = tmp_path / "rigledger.toml"
    config.write_text(f'[dashboard]\nlisten = "127.0.0.1:{free_port()}"\n')
    environment = {key: told for key, told in os.environ.items() if key != name}
    environment |= {} if own is None else {name: own}
    command = [sys.executable, "-P", "-m", "rigledger", "--config", str(config), "dashboard"]
    server = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    )
    process = Path("/proc") / str(server.pid)
    try:
        until(lambda: b"streamlit" in (process / "cmdline").read_bytes(), "it is the server")
        told = (process / "environ").read_bytes().split(b"\0")
    finally:
        server.kill()
        server.wait()
    assert f"{name}={expected}".encode() in told


def left_by_polars(name: str, found: dict[str, str]) -> str:
    """What its import leaves in the environment beside what it finds there."""
    told = subprocess.run(
        [sys.executable, "-P", "-c", f"import os, polars; print(os.environ[{name!r}])"],
        env={key: value for key, value in os.environ.items() if key != name} | found,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return told.stdout.strip()


def test_polars_takes_what_gives_memory_back() -> None:
    """Its allocator tells its options at the end: of the setting all three, as they were set."""
    name, value = cli.GIVE_BACK
    told = {name: f"{value},stats_print:true,stats_print_opts:mdablxe"}
    found = subprocess.run(
        [sys.executable, "-P", "-c", "import polars"],
        env=os.environ | told, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Invalid" not in found.stderr
    for option in ("narenas: 2", "dirty_decay_ms: 0", "muzzy_decay_ms: 0"):
        assert f"  opt.{option}" in found.stderr
