"""What the start says of the rig: engines up or down, cards read or not, and what to type next."""

import sys
import threading
from pathlib import Path

import pytest
from rig.ports import free_ports

from collector import greeting
from collector.invocation import invocation
from collector.probe import Health
from collector.settings import EngineSettings, Settings, load


def engine(name: str, *gpus: str) -> EngineSettings:
    return EngineSettings(name=name, url="http://127.0.0.1:9", gpus=list(gpus))


def test_engines_are_up_down_or_not_asked() -> None:
    engines = [engine("a", "0"), engine("b", "1"), engine("c", "2")]
    health = Health(engine_up={"a": True, "b": False})
    assert greeting._told_engines(engines, health) == "a up, b down, c not asked yet"
    assert greeting._told_engines([], health) == "none configured"


READ = Health(sample_age_s={"GPU-a": 1.0, "GPU-b": 1.0})


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        (["GPU-a", "GPU-b"], "GPU-a, GPU-b: readable"),
        (["GPU-a", "GPU-x"], "GPU-x not found; readable: GPU-a, GPU-b"),
        ([], "readable: GPU-a, GPU-b; none configured"),
    ],
)
def test_cards_are_readable_or_not_found(declared: list[str], told: str) -> None:
    assert greeting._told_cards(declared, READ) == told


def test_a_driver_without_cards_says_why_none_is_readable(cards) -> None:
    told = greeting._told_cards(["GPU-a"], Health())
    assert told.startswith("GPU-a: none readable (The NVIDIA driver knows no card;")
    cards.fail_init(9)
    told = greeting._told_cards(["GPU-a"], Health())
    assert told.startswith("GPU-a: none readable (the NVIDIA driver is not loaded;")
    assert told.count("(") == 1


def test_own_rig_is_told_where_everything_is(tmp_path: Path, cards, monkeypatch) -> None:
    ports = free_ports(3)
    monkeypatch.setattr(greeting, "WAIT_S", 0.0)
    monkeypatch.delenv("RIGLEDGER_DATA", raising=False)
    file = tmp_path / "rigledger.toml"
    file.write_text(
        f"""
[collector]
listen = "127.0.0.1:{ports[0]}"
[[engines]]
name = "card0"
url = "http://127.0.0.1:9"
gpus = ["GPU-a"]
[[taps]]
engine = "card0"
listen = "127.0.0.1:{ports[2]}"
"""
    )
    told = greeting.greeting(load(file), file, threading.Event(), demo=False, from_none=False)
    assert f"\n    ledger     {tmp_path}/data\n" in told
    assert f"\n    tap        http://127.0.0.1:{ports[2]} -> card0\n" in told
    assert f" --config {file} report 20" in told
    assert "\n    engines    card0 not asked yet\n" in told
    assert "Your own rig" not in told


def test_the_demo_says_that_it_is_one_and_how_to_leave_it(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "demo.toml"
    told = greeting.greeting(Settings(), file, threading.Event(), demo=True, from_none=True)
    assert "DEMO" in told
    assert f"--config {file} report\n" in told
    assert f"Your own rig: `rigledger init` asks and writes {tmp_path}/rigledger.toml." in told


@pytest.mark.parametrize(
    ("called", "told"),
    [
        ("/opt/my env/bin/rigledger", "'/opt/my env/bin/rigledger'"),
        ("/opt/rigledger.py", f"{sys.executable} /opt/rigledger.py"),
        ("/opt/pytest/__main__.py", "rigledger"),
    ],
)
def test_what_to_type_is_what_was_typed(called: str, told: str, monkeypatch) -> None:
    monkeypatch.setattr(sys, "argv", [called, "up"])
    assert invocation() == told
    assert invocation(Path("/rig.toml")) == f"{told} --config /rig.toml"
