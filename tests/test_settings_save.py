"""The settings' writer: two at once, broken files, kills, undo."""

import datetime as dt
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from collector.settings import SettingsError, load
from collector.settings_check import Impossible
from collector.settings_edit import Append, Correct
from collector.settings_history import KEPT, History
from collector.settings_save import ChangedMeanwhile, candidate, read_version, save, undo

NOW = dt.datetime(2026, 11, 29, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-8)))
TEXT = """\
# my rig
[[hardware]]
name = "box"      # under the desk
price = "17000"
in_service = 2026-10-01
life_years = 4

[[electricity]]
from = 2026-10-01
price_per_kwh = "0.20"
"""
SAME_DAY = Append("electricity", {"from": dt.date(2026, 10, 1), "price_per_kwh": "0.3"})
PRICE = Correct(("hardware", 0, "price"), "15000")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "rigledger.toml"
    path.write_text(TEXT, encoding="utf-8")
    path.chmod(0o640)
    return path


def tariff(number: int) -> Append:
    day = dt.date(2026, 12, 1) + dt.timedelta(days=number)
    return Append("electricity", {"from": day, "price_per_kwh": f"0.{number + 1:02}"})


def test_a_save_changes_the_file_and_nothing_beside_it(path):
    record = save(read_version(path), [PRICE], NOW)
    assert path.read_text() == TEXT.replace(
        'price = "17000"\n', '# corrected 2026-11-29: price was "17000"\nprice = "15000"\n'
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert record.what == "hardware box: price 17000 → 15000"
    assert sorted(p.name for p in path.parent.iterdir()) == [path.name, f"{path.name}.d"]
    assert load(path).hardware[0].price == "15000"


def test_looking_at_what_would_be_writes_nothing(path):
    text, settings = candidate(read_version(path), [PRICE], NOW.date())
    assert '"15000"' in text
    assert settings.hardware[0].price == "15000"
    assert path.read_text() == TEXT
    assert list(path.parent.iterdir()) == [path]


def test_the_first_save_makes_the_file_for_its_owner_alone(tmp_path):
    path = tmp_path / "rigledger.toml"
    version = read_version(path)
    assert version.text is None
    save(version, [tariff(0)], NOW)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load(path).electricity[0].price_per_kwh == "0.01"
    undo(read_version(path), 1, NOW)
    assert not path.exists()


def test_the_first_file_names_the_ledger_that_was_used_without_any(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "mine"))
    monkeypatch.chdir(tmp_path)
    used = load(None).store_path()
    assert used == tmp_path / "mine" / "rigledger"
    save(read_version(Path("rigledger.toml")), [tariff(0)], NOW)
    assert load(None).store_path() == used
    (tmp_path / "rigledger.toml").unlink()
    (tmp_path / "data").mkdir()
    save(read_version(Path("rigledger.toml")), [tariff(0)], NOW)
    assert "[store]" not in Path("rigledger.toml").read_text()
    assert load(None).store_path() == tmp_path / "data"


def test_a_link_stays_a_link(path):
    link = path.with_name("link.toml")
    link.symlink_to(path)
    save(read_version(link), [PRICE], NOW)
    assert link.is_symlink()
    assert load(path).hardware[0].price == "15000"


def test_the_second_of_two_writers_is_told_what_changed(path):
    first, second = read_version(path), read_version(path)
    save(first, [PRICE], NOW)
    with pytest.raises(ChangedMeanwhile) as refusal:
        save(second, [tariff(0)], NOW)
    told = str(refusal.value)
    assert "nothing was saved" in told
    assert "hardware 1.price is now '15000' (was '17000')" in told
    assert load(path).hardware[0].price == "15000"
    assert len(load(path).electricity) == 1
    save(read_version(path), [tariff(0)], NOW)
    assert load(path).hardware[0].price == "15000"
    assert len(load(path).electricity) == 2


def test_a_change_by_hand_is_told_too(path):
    version = read_version(path)
    path.write_text(TEXT.replace("# my rig", "# our rig"), encoding="utf-8")
    with pytest.raises(ChangedMeanwhile, match="its comments or its layout"):
        save(version, [PRICE], NOW)
    path.unlink()
    with pytest.raises(ChangedMeanwhile, match="gone meanwhile"):
        save(version, [PRICE], NOW)
    assert not path.exists()


def test_many_writers_lose_nothing(path):
    def write(number: int) -> None:
        while True:
            try:
                save(read_version(path), [tariff(number)], NOW)
                return
            except ChangedMeanwhile:
                continue

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(write, range(24)))
    told = load(path).electricity
    assert sorted(entry.from_ for entry in told[1:]) == [
        dt.date(2026, 12, 1) + dt.timedelta(days=number) for number in range(24)
    ]
    assert [record.number for record in History(path).records()] == list(range(1, 25))


@pytest.mark.parametrize(
    ("broken", "line"),
    [(TEXT + "price_per_kwh = \n", 11), (TEXT.replace('"17000"', "17000"), 4)],
    ids=["syntax", "value"],
)
def test_a_broken_file_is_told_and_never_overwritten(path, broken, line):
    version = read_version(path)
    path.write_text(broken, encoding="utf-8")
    for attempt in (lambda: read_version(path), lambda: save(version, [PRICE], NOW)):
        with pytest.raises(SettingsError, match=rf"rigledger\.toml:{line}: "):
            attempt()
    assert path.read_text() == broken


@pytest.mark.parametrize(
    ("change", "place", "word"),
    [
        (Correct(("hardware", 0, "price"), "-1"), ("hardware", 0, "price"), "decimal amount"),
        (Correct(("hardware", 0, "residual"), "18000"), ("hardware", 0, "residual"), "above"),
        (SAME_DAY, ("electricity", 1, "from"), "two tariffs start on 2026-10-01"),
        (Correct(("usage", "active_gap"), "soon"), ("usage", "active_gap"), "not possible"),
    ],
)
def test_an_impossible_value_is_refused_with_the_fields_own_sentence(path, change, place, word):
    with pytest.raises(Impossible) as refusal:
        save(read_version(path), [change], NOW)
    fault = refusal.value.fault
    assert fault.path == place
    assert word in f"{fault.what}; {fault.remedy}"
    assert path.read_text() == TEXT
    assert list(path.parent.iterdir()) == [path]


def test_undo_goes_back_step_by_step_and_is_recorded(path):
    save(read_version(path), [PRICE], NOW)
    one = path.read_text()
    save(read_version(path), [tariff(0)], NOW)
    history = History(path)
    assert history.undoable(path.read_text()).number == 2
    undo(read_version(path), 2, NOW)
    assert path.read_text() == one
    assert history.undoable(one).number == 1
    undo(read_version(path), 1, NOW)
    assert path.read_text() == TEXT
    assert history.undoable(TEXT) is None
    told = history.records()
    assert [(r.number, r.undoes) for r in told] == [(1, None), (2, None), (3, 2), (4, 1)]
    assert told[3].what == "undone: hardware box: price 17000 → 15000"
    assert history.text_before(told[2]).endswith('price_per_kwh = "0.01"\n')


def test_an_undo_touches_no_edit_made_since(path):
    save(read_version(path), [PRICE], NOW)
    by_hand = path.read_text() + "# later\n"
    path.write_text(by_hand, encoding="utf-8")
    assert History(path).undoable(by_hand) is None
    with pytest.raises(ChangedMeanwhile, match="not the last one any more"):
        undo(read_version(path), 1, NOW)
    assert path.read_text() == by_hand


def test_the_history_is_bounded_and_for_its_owner_alone(path):
    for number in range(KEPT + 3):
        save(read_version(path), [Correct(("hardware", 0, "life_years"), number % 9 + 1)], NOW)
    told = History(path).records()
    assert [told[0].number, told[-1].number, len(told)] == [4, KEPT + 3, KEPT]
    folder = path.with_name("rigledger.toml.d")
    assert len(list(folder.iterdir())) == 2 * KEPT + 1
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


KILLED = """
import datetime as dt, os, signal, sys
from pathlib import Path
from collector.settings_edit import Correct
from collector.settings_save import read_version, save

real, left = Path.replace, int(sys.argv[2])
def replace(self, target):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(self, target)
Path.replace = replace
change = Correct(("hardware", 0, "price"), "15000")
save(read_version(Path(sys.argv[1])), [change], dt.datetime.now(dt.UTC))
"""


@pytest.mark.parametrize("renames", range(5))
def test_a_kill_at_any_rename_leaves_one_whole_version(path, renames):
    """Renames: the version kept, the announcement, the file itself, the confirmation."""
    command = [sys.executable, "-c", KILLED, str(path), str(renames)]
    ended = subprocess.run(command, check=False)
    assert ended.returncode == (-signal.SIGKILL if renames < 4 else 0)
    changed = renames >= 3
    assert load(path).hardware[0].price == ("15000" if changed else "17000")
    assert ("corrected" in path.read_text()) == changed

    record = save(read_version(path), [tariff(0)], NOW)
    assert record.number == (2 if changed else 1)
    assert len(load(path).electricity) == 2
    assert not list(path.parent.glob(".*.new"))
    undo(read_version(path), record.number, NOW)
    if changed:
        undo(read_version(path), 1, NOW)
    assert path.read_text() == TEXT


def test_a_damaged_version_is_not_brought_back(path):
    save(read_version(path), [PRICE], NOW)
    made = path.read_text()
    (path.with_name("rigledger.toml.d") / "000001.toml").write_text(TEXT[:50])
    with pytest.raises(SettingsError, match=r"000001\.toml: this version is damaged"):
        undo(read_version(path), 1, NOW)
    assert path.read_text() == made


def test_a_folder_that_cannot_be_written_is_one_sentence(path):
    (path.parent / "rigledger.toml.d").write_text("in the way")
    with pytest.raises(SettingsError, match=r"rigledger\.toml\.d: .*; see that this user may"):
        save(read_version(path), [PRICE], NOW)
    assert path.read_text() == TEXT


def test_a_file_that_cannot_be_replaced_stays(path, monkeypatch):
    version = read_version(path)

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(SettingsError, match="not saved: no space left on device; see"):
        save(version, [PRICE], NOW)
    monkeypatch.undo()
    assert path.read_text() == TEXT
    assert not list(path.parent.glob(".*.new"))
    save(version, [PRICE], NOW)
    assert History(path).records()[0].number == 1
