"""The front door: exit codes, sentences, and what it does not import."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import rigledger
from collector.manifest import LedgerError
from collector.migrations import SchemaTooNew

ROOT = Path(__file__).parent.parent


def run(*arguments, cwd=None, env=None):
    return subprocess.run(
        [sys.executable, "-P", "-m", "rigledger", *arguments],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_help_names_every_command(capsys):
    assert rigledger.main(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in (
        "up",
        "collect",
        "route",
        "dashboard",
        "report",
        "estimate",
        "sql",
        "init",
        "doctor",
    ):
        assert f"\n    {command} " in shown


def test_version(capsys):
    assert rigledger.main(["--version"]) == 0
    assert capsys.readouterr().out == f"rigledger {version('rigledger')}\n"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["up", "--nonsense"]])
def test_wrong_usage_is_2(arguments, capsys):
    assert rigledger.main(arguments) == 2
    assert "usage: rigledger" in capsys.readouterr().err


@pytest.mark.parametrize("order", [["--config", "bad.toml", "up"], ["up", "--config", "bad.toml"]])
def test_settings_are_refused_in_one_sentence(tmp_path, order):
    (tmp_path / "bad.toml").write_text("[rig]\nnam = 'x'\n", encoding="utf-8")
    done = run(*order, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    place = f"{tmp_path}/bad.toml:2: rig.nam"
    assert done.stderr == f"rigledger: {place}: unknown key; did you mean 'name'?\n"


def test_help_imports_nothing_heavy():
    heavy = {"aiohttp", "duckdb", "msgspec", "numpy", "polars", "pyarrow", "streamlit", "uvloop"}
    code = (
        "import sys, rigledger; rigledger.main(['--help']);"
        f"sys.exit(' '.join(sorted({heavy} & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip() == ""


def test_a_stranger_in_the_place_of_a_room_is_named(tmp_path):
    (tmp_path / "collector").mkdir()
    (tmp_path / "collector" / "__init__.py").write_text("", encoding="utf-8")
    done = run("--help", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert f"the package 'collector' at {tmp_path}" in done.stderr
    assert "environment of its own" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_called_like_a_room_does_no_harm(tmp_path):
    (tmp_path / "collector").mkdir()
    (tmp_path / "collector" / "__init__.py").write_text("", encoding="utf-8")
    assert run("--version", cwd=tmp_path).returncode == 0


def _failing(monkeypatch, error):
    """The front door with a command that fails in this way."""

    def fail(args):
        raise error

    monkeypatch.setattr("rigledger._up", fail)
    return rigledger.main(["up"])


@pytest.mark.parametrize(
    "error",
    [
        LedgerError("the ledger: is damaged"),
        SchemaTooNew("the ledger: is too new"),
        FileNotFoundError("the ledger: is not there"),
        FileNotFoundError(2, "No such file or directory", "the ledger"),
    ],
)
def test_a_ledger_that_cannot_be_read_is_one_sentence(error, monkeypatch, capsys):
    assert _failing(monkeypatch, error) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("rigledger: the ledger: ")
    assert told.err.count("\n") == 1


def test_outside_its_environment_it_says_what_to_run(tmp_path):
    """-S: a Python without any installed package, as the system's own may be."""
    program = ROOT / "rigledger.py"
    done = subprocess.run(
        [sys.executable, "-S", program, "report"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"run `make install` in {ROOT} first" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_fault_of_ours_is_not_dressed_up(monkeypatch):
    with pytest.raises(KeyError):
        _failing(monkeypatch, KeyError("x"))
