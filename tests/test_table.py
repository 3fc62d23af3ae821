"""The report as CSV: one table that spreadsheets may open and programs read back exactly."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import attempt, heartbeats, ledger

import rigledger
from analytics.render.table import as_table
from collector.settings import load

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def lines(month: dict[str, Any]) -> dict[tuple[str, str, str], tuple[str, str]]:
    head, *rows = read(as_table({"currency": "EUR", **month}))
    assert head == ["section", "row", "figure", "value", "unit"]
    assert all(len(row) == 5 for row in rows)
    found = {(row[0], row[1], row[2]): (row[3], row[4]) for row in rows}
    assert len(found) == len(rows), "every figure has a place of its own"
    return found


def test_money_time_and_energy_keep_every_digit() -> None:
    told = lines(
        {
            "cost_nano": {"total": 361_090_080_093, "energy": 0, "series": -1},
            "states_ns": {"busy": 1, "idle": 2_678_400 * 10**9},
            "energy_uj": {"cards": 4_997_500_000_001, "unknown_ns": 5},
            "cost_per_mtok": {"full": {"output": 4_466_987_000, "by_kind": {"new": None}}},
            "carbon_ug": 1_500_000,
            "tokens": {"output": 3580},
            "marginal_at_least": True,
            "layers": {"hours": 0.1, "occupancy": None},
        }
    )
    assert told["cost", "", "total"] == ("361.090080093", "EUR")
    assert told["cost", "", "energy"] == ("0.000000000", "EUR")
    assert told["cost", "", "series"] == ("-0.000000001", "EUR"), "no exponent, no apostrophe"
    assert told["states", "", "busy"] == ("0.000000001", "s")
    assert told["states", "", "idle"] == ("2678400.000000000", "s")
    assert told["energy", "", "cards"] == ("4997500.000001", "J")
    assert told["energy", "", "unknown"] == ("0.000000005", "s")
    assert told["cost_per_mtok", "", "full.output"] == ("4.466987000", "EUR per million tokens")
    assert told["cost_per_mtok", "", "full.by_kind.new"][0] == "", "unknown is empty, not zero"
    assert told["carbon", "", ""] == ("1.500000", "g")
    assert told["tokens", "", "output"] == ("3580", ""), "a name that ends in ns is no time"
    assert told["marginal_at_least", "", ""] == ("true", "")
    assert told["layers", "", "hours"] == ("0.1", "")


def test_rows_of_lists_stand_by_their_names() -> None:
    told = lines(
        {
            "waterfall_nano_per_mtok": [{"step": "idle", "nano_per_mtok": 5}],
            "groups": {"model": [{"name": "m", "full_cost_nano": 7, "requests": 2}]},
            "quality": {"gaps": [["a", "b"]], "flags": ["something"]},
            "restated": [{"number": 1, "figures": [{"figure": "cost_nano.total", "old": 5}]}],
        }
    )
    assert told["waterfall", "idle", ""] == ("0.000000005", "EUR per million tokens")
    assert told["groups.model", "m", "full_cost"] == ("0.000000007", "EUR")
    assert told["groups.model", "m", "requests"] == ("2", "")
    assert told["quality.gaps", "1 / 2", ""] == ("b", "")
    assert told["quality.flags", "1", ""] == ("something", "")
    assert told["restated.figures", "1 / cost_nano.total", "old"] == ("5", "")


@pytest.mark.parametrize("start", FORMULA)
def test_no_cell_starts_a_formula(start: str) -> None:
    text = f'{start}cmd|" /C calc"!A0'
    month = {"rig": text, "groups": {"model": [{"name": text, "full_cost_nano": -1}]}, text: 1}
    cells = [cell for row in read(as_table({"currency": "EUR", **month})) for cell in row]
    assert cells.count(f"'{text}") == 3
    # A negative amount stays a number.
    assert [cell for cell in cells if cell.startswith(FORMULA)] == ["-0.000000001"]


def test_a_month_reads_back_as_its_document(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rigledger.toml"
    file.write_text(
        f"""
[store]
path = "{tmp_path / "ledger"}"
[[hardware]]
name = "box"
price = "17000"
in_service = 2026-10-01
life_years = 4
[[engines]]
name = "on-A"
url = "http://127.0.0.1:1"
gpus = ["GPU-a"]
"""
    )
    project = '@SUM(1+1)*cmd|" /C calc"!A0\r\nnext, line'
    ledger(
        load(file).store_path(),
        [
            attempt("r", 0, 10, "GPU-a", engine="on-A", project=project),
            *heartbeats(0, 600, ["on-A"]),
        ],
    )
    out = tmp_path / "out"
    out.mkdir()
    asked = ["--config", str(file), "report", "2026-10", "--format"]
    for form in ("csv", "json"):
        assert rigledger.main([*asked, form, "--out", str(out)]) == 0
    assert capsys.readouterr() == ("", "")
    month = json.loads((out / "report-2026-10.json").read_text())
    rows = read((out / "report-2026-10.csv").read_bytes().decode())
    found = {(row[0], row[1], row[2]): row[3] for row in rows}
    for name in ("total", "capital", "energy"):
        assert Decimal(found["cost", "", name]).scaleb(9) == month["cost_nano"][name]
    states = {row[2]: Decimal(row[3]).scaleb(9) for row in rows if row[0] == "states"}
    assert states == month["states_ns"]
    (group,) = month["groups"]["project"]
    assert group["name"] == project
    told = Decimal(found["groups.project", f"'{project}", "full_cost"]).scaleb(9)
    assert told == group["full_cost_nano"] == month["cost_nano"]["total"]
    texts = [cell for row in rows for cell in row if cell.startswith(FORMULA)]
    assert texts == []
