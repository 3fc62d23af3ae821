"""`rigledger report` at the front door: text and JSON of the same month, and its refusals."""

import datetime as dt
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from rig.ledger import attempt, heartbeats, ledger
from rig.page import copied

import rigledger
from analytics import publish
from collector.clock import to_ns
from collector.events import Event
from collector.settings import load
from collector.store import Store

CONFIG = """
[store]
path = "{path}"

[rig]
name = "desk"

[[hardware]]
name = "box"
price = "17000"
in_service = 2026-10-01
life_years = 4

[[engines]]
name = "on-A"
url = "http://127.0.0.1:1"
gpus = ["GPU-a"]
slots = 2

[[compare.prices]]
name = "an API"
input = "0.15"
cache_read = "0.003"
output = "0.60"
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A rig with one request of 50 output tokens on 5 October 2026, whose days are built."""
    folder = tmp_path_factory.mktemp("built")
    file = folder / "rigledger.toml"
    file.write_text(CONFIG.format(path=folder / "ledger"))
    ledger(
        load(file).store_path(),
        [attempt("r", 0, 10, "GPU-a", engine="on-A"), *heartbeats(0, 600, ["on-A"])],
    )
    publish.published(file, "2026-10", "json")
    return folder


@pytest.fixture
def config(built: Path, tmp_path: Path) -> Path:
    return copied(built, tmp_path)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = rigledger.main(list(args))
    told = capsys.readouterr()
    return code, told.out, told.err


def test_json_is_the_month(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--config", str(config), "report", "2026-10", "--json")
    month = json.loads(out)
    assert code == 0
    assert month["rig"] == "desk"
    assert month["tokens"] == {
        "input": 100,
        "cache_read": 0,
        # It told no first token, so its time could not be split.
        "split_new": None,
        "split_recomputed": None,
        "output": 50,
        "split_output": None,
        "requests": 1,
        "attempts": 1,
        "missing_usage": 0,
        "emitted": 50,
        "missing_input": 0,
        "missing_output": 0,
        "missing_split_input": 0,
        "missing_split_output": 0,
    }
    assert sum(month["states_ns"].values()) == month["capacity_ns"] == 31 * 86_400 * 10**9
    # All of October's capital, 744 of 35,064 hours, on 50 tokens.
    assert month["cost_nano"]["total"] == 17_000 * 10**9 * 744 // 35_064


def test_text_says_the_price_first(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "--config", str(config), "report", "2026-10")
    assert code == 0
    first, second = out.splitlines()[:2]
    assert first == "desk · 2026-10 · UTC"
    price = 17_000 * 744 / 35_064 / 50 * 1e6
    # No card was read and no energy is priced, so this is only the hardware.
    assert second == f"at least {price:,.4f} USD per million output tokens"


def test_out_writes_what_would_be_printed(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["--config", str(config), "report", "2026-10", "--format", "json"]
    _, printed, _ = run(capsys, *args)
    code, out, _ = run(capsys, *args, "--out", str(tmp_path / "october.json"))
    assert (code, out) == (0, "")
    assert (tmp_path / "october.json").read_text() == printed
    code, _, err = run(capsys, *args, "--out", str(tmp_path / "no" / "where.json"))
    assert code == 2
    assert "where.json" in err


def test_the_month_before_stands_beside_it(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """November of one request of 100 tokens, on 720 of October's 744 hours of capital; and October,
    before which there are no books. A closed October is taken as it was closed."""
    december = dt.datetime(2026, 12, 2, tzinfo=dt.UTC)
    monkeypatch.setattr(publish, "now_ns", lambda: to_ns(december))
    november = attempt(
        "n", 27 * 86_400, 27 * 86_400 + 10, "GPU-a", engine="on-A", output_tokens=100
    )
    with Store(load(config).store_path()) as store:
        store.append([november, *heartbeats(27 * 86_400, 27 * 86_400 + 600, ["on-A"])])
    first = json.loads(run(capsys, "--config", str(config), "report", "2026-10", "--json")[1])
    assert first["change"] == {
        "month": "2026-09",
        "why_none": "the books begin 2026-10-05",
        "cost": None,
        "price": None,
        "notes": [],
    }
    october, later = (17_000 * 10**9 * hours // 35_064 for hours in (744, 744 + 720))
    told = json.loads(run(capsys, "--config", str(config), "report", "2026-11", "--json")[1])
    assert told["change"]["month"] == "2026-10"
    cost, price = told["change"]["cost"], told["change"]["price"]
    assert (cost["old_nano"], cost["new_nano"]) == (october, later - october)
    assert price["old_nano_per_mtok"] == first["cost_per_mtok"]["full"]["output"]
    assert sum(cause["nano_per_mtok"] for cause in price["causes"]) == (
        told["cost_per_mtok"]["full"]["output"] - first["cost_per_mtok"]["full"]["output"]
    )
    assert told["change"]["notes"][0] == "the books begin 2026-10-05"
    assert run(capsys, "--config", str(config), "close", "2026-10")[0] == 0
    config.write_text(config.read_text().replace('price = "17000"', 'price = "34000"'))
    again = json.loads(run(capsys, "--config", str(config), "report", "2026-11", "--json")[1])
    assert again["change"]["cost"]["old_nano"] == october
    assert again["change"]["cost"]["new_nano"] > 2 * (later - october) - 2
    text = run(capsys, "--config", str(config), "report", "2026-11")[1]
    assert "What changed since 2026-10: a million output tokens, in USD" in text
    out = run(capsys, "--config", str(config), "report", "2026-11", "--format", "csv")[1]
    assert f"change,,cost.old,{october / 10**9:.9f},USD" in out.splitlines()


@pytest.mark.parametrize("month", ["october", "2026-13", "2199-01"])
def test_a_month_that_cannot_be_is_refused(
    config: Path, month: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "--config", str(config), "report", month)
    assert (code, out) == (2, "")
    assert month in err
    assert err.count("\n") == 1


def test_a_missing_ledger_says_how_to_get_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rigledger.toml"
    file.write_text(CONFIG.format(path=tmp_path / "nowhere"))
    code, _, err = run(capsys, "--config", str(file), "report")
    assert code == 2
    assert "nowhere" in err
    assert "rigledger" in err


def test_books_that_begin_this_month_say_which_month_to_try(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = dt.datetime.now(dt.UTC)
    fresh = config.with_name("fresh.toml")
    fresh.write_text(config.read_text().replace("/ledger", "/fresh"))
    path = load(fresh).store_path()
    with Store(path) as store:
        code, out, err = run(capsys, "--config", str(fresh), "report")
        assert (code, out) == (2, "")
        assert err == f"rigledger report: {path} holds no event yet; leave `rigledger up` running\n"
        beat = heartbeats(0, 10, ["on-A"])[0]
        store.append([msgspec.structs.replace(beat, at=now)])
    code, out, err = run(capsys, "--config", str(fresh), "report")
    assert (code, out) == (2, "")
    assert err == (
        f"rigledger report: The books begin {now:%Y-%m-%d};"
        f" try `rigledger --config {fresh} report {now:%Y-%m}`\n"
    )
    # Asked for by name, the month before is told as it is.
    before = now.replace(day=1) - dt.timedelta(days=1)
    assert run(capsys, "--config", str(fresh), "report", f"{before:%Y-%m}")[0] == 0


def test_where_only_the_demo_has_books_its_command_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rigledger.toml"
    file.write_text(CONFIG.format(path=tmp_path / "data"))
    demo = tmp_path / "data" / "demo"
    demo.mkdir(parents=True)
    (demo / "rigledger.toml").touch()
    _, _, err = run(capsys, "--config", str(file), "report")
    assert "demo's" not in err
    Store(demo).close()
    _, _, err = run(capsys, "--config", str(file), "report")
    assert err.endswith(f"; the demo's books: `rigledger --config {demo}/rigledger.toml report`\n")


def test_markdown_is_written_where_asked(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "october.md"
    told = run(
        capsys, "--config", str(config), "report", "2026-10", "--format", "md", "--out", str(out)
    )
    assert told == (0, "", "")
    assert out.read_text().startswith("# desk · 2026-10 · UTC\n\n")


def test_a_folder_gets_a_file_named_by_the_month(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form, ending in (("md", "md"), ("text", "txt"), ("json", "json"), ("html", "html")):
        args = ("report", "2026-10", "--format", form, "--out", str(tmp_path))
        assert run(capsys, "--config", str(config), *args) == (0, "", "")
        assert (tmp_path / f"report-2026-10.{ending}").read_text().endswith("\n")


def test_the_number_of_threads_changes_no_byte(tmp_path: Path) -> None:
    dice = random.Random(3)
    events: list[Event] = [*heartbeats(0, 7200, ["on-A"])]
    for n in range(400):
        start = dice.uniform(0, 7000)
        events.append(
            attempt(f"r{n}", start, start + dice.uniform(0, 90), "GPU-a", engine="on-A",
                    ttft_ns=dice.randint(1, 10**10), project=dice.choice("pqr"))
        )  # fmt: skip
    file = tmp_path / "rigledger.toml"
    printed = []
    for threads in ("1", "7"):
        file.write_text(CONFIG.format(path=tmp_path / f"ledger-{threads}"))
        dice.shuffle(events)
        ledger(load(file).store_path(), events)
        command = [sys.executable, "-m", "rigledger", "--config", str(file), "report", "2026-10"]
        environment = {**os.environ, "POLARS_MAX_THREADS": threads}
        done = subprocess.run(
            [*command, "--json"], capture_output=True, check=True, env=environment
        )
        printed.append(done.stdout)
    assert printed[0] == printed[1]
    assert len(json.loads(printed[0])["groups"]["session"]) == 1
