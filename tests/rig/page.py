"""A rig whose October 2026 can be worked out on paper, as files that the pages read.

The machine costs 35,064 over four years of 35,064 hours: 1 USD an hour, 744 in October. Its one
request of the month reads 1,000,000 tokens and writes 2,000,000: 372 USD per million. The API
asks 1 per million in and 3 per million out: 7 USD, 3.50 per million, 737 USD less.
"""

import json
import shutil
from pathlib import Path

import streamlit as st
from rig.ledger import attempt

from collector.store import Store

# How long a run of a page may take at most, on a machine that has other work.
PATIENCE_S = 300

MONTH = "2026-10"
FULL, API, LOST = "372", "3.50", "737"

HARDWARE = """
[[hardware]]
name = "box"
price = "35064"
in_service = 2026-10-01
life_years = 4
"""

FREE_POWER = """
[[electricity]]
from = 2026-10-01
price_per_kwh = "0"
"""

PRICES = """
[[compare.prices]]
name = "an API"
input = "1"
cache_read = "0"
output = "3"
"""


def forget_all() -> None:
    """Drop whatever the pages have cached."""
    st.cache_data.clear()
    st.cache_resource.clear()


def copied(built: Path, folder: Path) -> Path:
    """A copy of a rig whose settings and ledger lie in one folder, with the days that are built
    there, for one test to do with as it likes; returns its settings file."""
    shutil.copytree(built, folder, dirs_exist_ok=True)
    config = folder / "rigledger.toml"
    text = config.read_text(encoding="utf-8").replace(str(built), str(folder))
    config.write_text(text, encoding="utf-8")
    return config


def write_settings(folder: Path, *tables: str, name: str = "desk", listen: str = "") -> Path:
    """`rigledger.toml` in a folder, its ledger in `ledger/` beside it."""
    file = folder / "rigledger.toml"
    store = json.dumps(str(folder / "ledger"))
    door = f'[dashboard]\nlisten = "{listen}"\n' if listen else ""
    engine = '[[engines]]\nname = "on-A"\nurl = "http://127.0.0.1:1"\ngpus = ["A"]\n'
    text = f'[store]\npath = {store}\n{door}[rig]\nname = "{name}"\n{engine}'
    file.write_text(text + "".join(tables), encoding="utf-8")
    return file


def write_ledger(folder: Path) -> None:
    """October's only request, sealed."""
    store = Store(folder / "ledger")
    told = {"input_tokens": 1_000_000, "cache_read_tokens": 0, "output_tokens": 2_000_000}
    store.append([attempt("r1", 0, 3600, **told)])
    store.seal()
    store.close()
