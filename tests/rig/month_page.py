"""One page of one month, alone: a ledger of a working morning, and the page run over it."""

from pathlib import Path
from typing import Any

import pytest
from rig import page
from rig.ledger import attempt, heartbeats, sample
from rig.page import PATIENCE_S
from streamlit.testing.v1 import AppTest

from analytics.month import month
from analytics.periods import month_of
from analytics.read import Ledger
from collector.clock import now_ns
from collector.events import Event
from collector.settings import load
from collector.store import Store

SCRIPT = """
from dashboard import loaders
from dashboard.views import {name}
{name}.page(loaders.settings(), "{month}")
"""
POWER = """
[[electricity]]
from = 2026-10-01
price_per_kwh = "0.20"
host_watts = 90
"""
SECOND_CARD = """
[[engines]]
name = "on-B"
url = "http://127.0.0.1:2"
gpus = ["B"]
slots = 1
"""


def events() -> list[Event]:
    """Two hours of two cards: two projects, three requests at once on B, readings of A alone."""
    made: list[Event] = [
        attempt("a1", 0, 1200, project="shop", session="s1", output_tokens=4_000),
        attempt("a2", 1200, 1500, project="notes", output_tokens=1_000),
        *(attempt(f"b{n}", 60 * n, 600, "B", project="shop", key="laptop") for n in range(3)),
        *heartbeats(0, 7200, ["on-A", "on-B"]),
    ]
    total = 0
    for minute in range(121):
        watts = 400 if 0 < minute <= 25 else 60
        total += watts * 60 * 10**6 if minute else 0
        made.append(sample("A", minute * 60, power_mw=watts * 1000, energy_uj_total=total))
    return made


def write(folder: Path, *tables: str, told: list[Event] | None = None) -> Path:
    """Settings with two cards and their ledger."""
    config = page.write_settings(folder, page.HARDWARE, POWER, SECOND_CARD, *tables)
    with Store(folder / "ledger") as store:
        store.append(events() if told is None else told)
        store.seal()
    return config


def document(config: Path, name: str = page.MONTH) -> dict[str, Any]:
    """The month's document, by itself."""
    settings = load(config)
    period = month_of(name, settings.zone)
    return month(Ledger(settings.store_path()), settings, period, now_ns())


def run(
    config: Path, name: str, monkeypatch: pytest.MonkeyPatch, month: str = page.MONTH
) -> AppTest:
    """The page over the settings."""
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    script = SCRIPT.format(name=name, month=month)
    at = AppTest.from_string(script, default_timeout=PATIENCE_S).run()
    assert not at.exception
    return at


def built(config: Path, name: str) -> Path:
    """The folder of a rig once a page has built its days, of which tests take copies."""
    with pytest.MonkeyPatch.context() as patch:
        run(config, name, patch)
    page.forget_all()
    return config.parent


def text(at: AppTest) -> str:
    """All that the page says."""
    assert not at.exception
    return "\n".join(element.value for element in [*at.markdown, *at.caption, *at.subheader])


def rows(chart: Any) -> list[dict[str, Any]]:
    """The data that a chart carries."""
    return [row for rows in chart.to_dict()["datasets"].values() for row in rows]
