"""The page server's command line, and the file that says the same to those who start it by hand."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
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
