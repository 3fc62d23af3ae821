"""`rigledger close`: a month as it was closed, and what the books tell otherwise since."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rig.kept import alter_cells
from rig.ledger import attempt, heartbeats, ledger
from rig.page import copied

import rigledger
from analytics import publish
from collector import closed
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

[[electricity]]
from = 2026-10-01
price_per_kwh = "0.20"
host_watts = 90

[[engines]]
name = "on-A"
url = "http://user:secret@127.0.0.1:1"
gpus = ["GPU-a"]
slots = 2
"""
# All of October's capital: 744 of 35,064 hours of the four years; and the same of a box at 18,000.
CAPITAL, DEARER = (price * 10**9 * 744 // 35_064 for price in (17_000, 18_000))


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


class Told:
    """The command's answers."""

    def __init__(self, capsys: pytest.CaptureFixture[str], config: Path) -> None:
        self._capsys, self._config = capsys, config

    def __call__(self, *args: str) -> tuple[int, str, str]:
        code = rigledger.main(["--config", str(self._config), *args])
        out, err = self._capsys.readouterr()
        return code, out, err

    def json(self, month: str = "2026-10") -> dict[str, Any]:
        """The month's report."""
        code, out, err = self("report", month, "--json")
        assert (code, err) == (0, "")
        found: dict[str, Any] = json.loads(out)
        return found


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str], config: Path) -> Told:
    return Told(capsys, config)


def edit(config: Path, old: str, new: str) -> None:
    text = config.read_text()
    assert text.count(old) == 1
    config.write_text(text.replace(old, new))


def figures(entry: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {each["figure"]: (each["old"], each["new"]) for each in entry["figures"]}


def whys(entry: dict[str, Any]) -> list[str]:
    return [each["what"] for each in entry["why"]]


def test_a_closed_month_stays_and_a_corrected_price_stands_beside_it(
    told: Told, config: Path
) -> None:
    before, text_before = told.json(), told("report", "2026-10")[1]
    assert before["cost_nano"]["capital"] == CAPITAL
    assert (before["closed"], before["restated"]) == (None, [])
    code, out, _ = told("close", "2026-10")
    file = load(config).store_path() / "closed" / "2026-10" / "0000.json"
    assert (code, out) == (0, f"2026-10 is closed: {file}\n")
    after = told.json()
    assert after["closed"]["sha256"] == json.loads(file.read_bytes())["sha256"]
    assert {**after, "closed": None} == before
    # The words are the same, too, but for the title.
    assert told("report", "2026-10")[1].splitlines()[1:] == text_before.splitlines()[1:]

    edit(config, 'price = "17000"', 'price = "18000"')
    month = told.json()
    assert month["cost_nano"] == before["cost_nano"], "the old figures stay"
    (entry,) = month["restated"]
    assert entry["number"] is None
    assert figures(entry)["cost_nano.capital"] == (CAPITAL, DEARER)
    # Nothing that only time is spent on changed, and the one request's project costs more.
    assert not any(name.startswith(("states_ns", "tokens")) for name in figures(entry))
    assert entry["groups"]["project"] == 1
    assert whys(entry) == ['hardware "box": price 17000 → 18000']
    _, text, _ = told("report", "2026-10")
    assert text.startswith("desk · 2026-10 · UTC · closed ")
    assert "why: hardware" in text
    assert "`rigledger close 2026-10 --restate` files this" in text
    assert f"{CAPITAL / 1e9:,.2f}" in text
    assert f"→ {DEARER / 1e9:,.2f}" in text


def test_a_restatement_is_filed_once_and_the_next_stands_behind_it(
    told: Told, config: Path
) -> None:
    assert told("close", "2026-10", "--restate")[0] == 2, "an open month has nothing to restate"
    told("close", "2026-10")
    code, _, err = told("close", "2026-10", "--restate")
    assert code == 2
    assert "nothing to restate" in err
    edit(config, 'price = "17000"', 'price = "18000"')
    code, out, _ = told("close", "2026-10", "--restate", "--json")
    assert code == 0
    assert json.loads(out)["file"].endswith("closed/2026-10/0001.json")
    (entry,) = told.json()["restated"]
    assert entry["number"] == 1
    assert figures(entry)["cost_nano.capital"] == (CAPITAL, DEARER)
    # Back again: the books tell otherwise than what was last filed.
    edit(config, 'price = "18000"', 'price = "17000"')
    month = told.json()
    assert month["cost_nano"]["capital"] == CAPITAL
    assert [each["number"] for each in month["restated"]] == [1, None]
    assert figures(month["restated"][1])["cost_nano.capital"] == (DEARER, CAPITAL)


def test_late_and_revised_events_are_told_by_kind_and_hour(told: Told, config: Path) -> None:
    told("close", "2026-10")
    with Store(load(config).store_path()) as store:
        late = attempt("late", 7200, 7260, "GPU-a", engine="on-A", output_tokens=7)
        store.append([late])
    month = told.json()
    assert month["tokens"]["output"] == 50
    (entry,) = month["restated"]
    assert figures(entry)["tokens.output"] == (50, 57)
    assert whys(entry) == ["1 hour got late or revised events of kind attempt"]
    assert entry["why"][0]["first"] == "2026-10-05T10:00:00+00:00"


def test_an_event_that_changes_no_figure_is_no_restatement(told: Told, config: Path) -> None:
    told("close", "2026-10")
    with Store(load(config).store_path()) as store:
        again = heartbeats(0, 600, ["on-A"], source="another witness of the same")
        store.append(again)
    assert told.json()["restated"] == []


def test_settings_that_reach_no_figure_of_the_month_are_no_reason(told: Told, config: Path) -> None:
    told("close", "2026-10")
    more = '\n[[electricity]]\nfrom = 2026-11-01\nprice_per_kwh = "0.50"\nhost_watts = 90\n'
    config.write_text(config.read_text() + more)
    assert told.json()["restated"] == []
    edit(config, "life_years = 4", "life_years = 5")
    (entry,) = told.json()["restated"]
    assert whys(entry) == ['hardware "box": life_years 4 → 5']


@pytest.mark.parametrize(("month", "sentence"), [
    ("2026-9", "is no month"),
    ("2026-09", "The books begin 2026-10-05"),
    ("2199-01", "is not over"),
])  # fmt: skip
def test_a_month_that_cannot_be_closed_is_refused(told: Told, month: str, sentence: str) -> None:
    code, out, err = told("close", month)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_a_month_is_closed_only_after_its_last_pause_is_known(
    told: Told, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default gap is 15 minutes, and the report shows twice the gap as well: at 00:29 in
    November, a request may still make October active."""
    end_ns = 1_793_491_200 * 10**9  # 2026-11-01T00:00:00Z
    monkeypatch.setattr(publish, "now_ns", lambda: end_ns + 29 * 60 * 10**9)
    code, _, err = told("close", "2026-10")
    assert code == 2
    assert "2026-11-01 00:30" in err
    assert closed.months(load(config).store_path()) == []
    monkeypatch.setattr(publish, "now_ns", lambda: end_ns + 30 * 60 * 10**9)
    assert told("close", "2026-10")[0] == 0
    found = told.json()
    assert (found["period"]["provisional"], found["restated"]) == (False, [])


@pytest.mark.parametrize(("state", "column", "sentence"), [
    ("busy", "capital_nano", "requests + unattributed = busy cost"),
    ("idle", "capital_nano", "capital + other = as declared"),
    ("idle", "ns", "capacity = cards in service"),
])  # fmt: skip
def test_books_that_do_not_add_up_are_not_closed(
    told: Told, config: Path, state: str, column: str, sentence: str
) -> None:
    """A kept day whose cost or time was altered by a billionth."""
    told.json()
    store = load(config).store_path()
    alter_cells(store / "derived" / "2026-10-05", column, state)
    code, out, err = told("close", "2026-10")
    assert (code, out) == (1, "")
    assert "do not add up" in err
    assert sentence in err
    assert closed.months(store) == []


def test_closing_twice_is_refused_and_changes_nothing(told: Told, config: Path) -> None:
    told("close", "2026-10")
    file = load(config).store_path() / "closed" / "2026-10" / "0000.json"
    whole = file.read_bytes()
    code, _, err = told("close", "2026-10")
    assert code == 2
    assert "closed already" in err
    assert file.read_bytes() == whole


def test_an_edited_month_is_told_and_never_replaced(told: Told, config: Path) -> None:
    told("close", "2026-10")
    file = load(config).store_path() / "closed" / "2026-10" / "0000.json"
    file.chmod(0o600)
    file.write_bytes(file.read_bytes().replace(b'"output":50', b'"output":51'))
    edited = file.read_bytes()
    for command in (("report", "2026-10"), ("close", "2026-10"), ("close", "2026-10", "--restate")):
        code, out, err = told(*command)
        assert (code, out) == (1, "")
        assert str(file) in err
        assert "damaged or was edited" in err
    assert file.read_bytes() == edited


def test_the_doctor_looks_at_closed_months(told: Told, config: Path) -> None:
    def found() -> list[dict[str, str]]:
        return [
            each for each in json.loads(told("doctor", "--json")[1]) if each["area"] == "closed"
        ]

    assert found() == []
    told("close", "2026-10")
    (well,) = found()
    assert (well["level"], well["text"]) == ("ok", "1 closed month is as filed")
    file = load(config).store_path() / "closed" / "2026-10" / "0000.json"
    file.chmod(0o600)
    file.write_bytes(file.read_bytes() + b" ")
    (changed,) = found()
    assert changed["level"] == "problem"
    assert changed["text"].startswith(str(file))
    assert changed["remedy"].startswith("put back a copy")


def test_what_is_kept_of_the_settings_has_no_address(told: Told, config: Path) -> None:
    told("close", "2026-10")
    (found,) = closed.filed(load(config).store_path(), "2026-10")
    assert found.content["settings"]["electricity"][0]["price_per_kwh"] == "0.20"
    assert "secret" not in msgspec.json.encode(found.content).decode()
