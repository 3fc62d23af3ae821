"""The declaration of the settings: complete, and the source of what is written about them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from collector.settings import Settings
from collector.settings_fields import document, tables

ROOT = Path(__file__).parent.parent
every = [(table, setting) for table in tables().values() for setting in table.settings]
names = [f"{table.name}.{setting.key}" for table, setting in every]


def test_the_documentation_is_what_the_declaration_says():
    assert (ROOT / "docs/settings.md").read_text(encoding="utf-8") == document()


def test_the_documentation_is_printed():
    command = [sys.executable, "-m", "collector.settings"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout == document()


def test_the_tables_are_those_of_the_file():
    assert list(tables()) == [
        *("store", "collector", "dashboard", "rig", "hardware"),
        *("electricity", "electricity.windows", "other_costs"),
        *(
            "usage",
            "slo",
            "engines",
            "router",
            "taps",
            "meters",
            "compare",
            "compare.prices",
            'currencies."CNY/USD"',
        ),
    ]
    assert [name for name, table in tables().items() if table.repeated] == [
        *("hardware", "electricity", "electricity.windows", "other_costs", "engines"),
        *("taps", "meters", "compare.prices"),
        'currencies."CNY/USD"',
    ]


@pytest.mark.parametrize(("table", "setting"), every, ids=names)
def test_each_setting_says_what_it_means(table, setting):
    assert len(setting.help) > 10
    assert setting.type
    assert table.help


def test_units_are_told_where_a_number_alone_says_nothing():
    told = {name: setting.unit for name, (_, setting) in zip(names, every, strict=True)}
    assert told["hardware.price"] == told["hardware.residual"] == "currency"
    assert told["hardware.life_years"] == "years"
    assert told["electricity.host_watts"] == "W"
    assert tables()["electricity"]["price_per_kwh"].label("EUR") == "price, EUR per kWh"
    assert tables()["electricity"]["host_watts"].label("EUR") == "host power, W"
    assert tables()["usage"]["active_gap"].label("EUR") == "active gap"


def test_the_defaults_told_are_the_defaults():
    plain = [(t, s) for t, s in every if not t.repeated and s.default is not None]
    lines: dict[str, list[str]] = {}
    for table, setting in plain:
        lines.setdefault(table.name, []).append(f"{setting.key} = {setting.default}")
    text = "\n".join(f"[{name}]\n" + "\n".join(told) for name, told in lines.items())
    assert len(plain) > 7
    assert msgspec.convert(tomllib.loads(text), Settings, strict=True) == Settings()
    assert tables()["hardware"]["residual"].default == '"0"'
    assert tables()["engines"]["slots"].default is None
