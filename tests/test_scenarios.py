"""Named what-ifs in their file: written whole, by one at a time, and refused when broken."""

import stat
import threading
from pathlib import Path

import pytest

from collector.scenarios import Scenario, delete, kept, place, rename, save
from collector.settings_types import SettingsError


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "rigledger.toml"
    file.write_text('[rig]\nname = "desk"\n', encoding="utf-8")
    return file


def names(config: Path) -> list[str]:
    return [each.name for each in kept(config)]


def test_what_was_saved_is_read_again(config: Path) -> None:
    assert kept(config) == []
    whole = Scenario(name="all of it", hours_per_day="4.5", hardware_price="0", price_per_kwh="0.3")
    odd = Scenario(name='zwei Karten, "gebraucht" \\ 🂡 # [[x]]', hardware_price="9000")
    save(config, whole)
    save(config, odd)
    assert kept(config) == [whole, odd]
    assert place(config) == config.with_name("rigledger.scenarios.toml")
    assert stat.S_IMODE(place(config).stat().st_mode) == 0o600
    assert config.read_text(encoding="utf-8") == '[rig]\nname = "desk"\n'
    assert not list(config.parent.glob("*.new")) + list(config.parent.glob(".*.new"))


def test_one_is_renamed_in_its_place_and_deleted(config: Path) -> None:
    for name in ("a", "b", "c"):
        save(config, Scenario(name=name, price_per_kwh="0.1"))
    rename(config, "b", " longer days ")
    assert names(config) == ["a", "longer days", "c"]
    rename(config, "a", "a")
    delete(config, "longer days")
    assert names(config) == ["a", "c"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "needs a name"),
        ("   ", "needs a name"),
        ("x" * 61, "of up to 60 letters"),
        ("two\nlines", "needs a name"),
        ("taken", "'taken' already; choose another name"),
        (" taken ", "'taken' already; choose another name"),
    ],
)
def test_a_name_that_cannot_be_is_refused(config: Path, name: str, why: str) -> None:
    save(config, Scenario(name="taken", price_per_kwh="0.1"))
    save(config, Scenario(name="other", price_per_kwh="0.1"))
    before = place(config).read_bytes()
    with pytest.raises(SettingsError, match=why):
        save(config, Scenario(name=name, price_per_kwh="0.1"))
    with pytest.raises(SettingsError, match=why):
        rename(config, "other", name)
    assert place(config).read_bytes() == before


def test_what_is_gone_meanwhile_is_told(config: Path) -> None:
    for change in (lambda: delete(config, "x"), lambda: rename(config, "x", "y")):
        with pytest.raises(SettingsError, match="'x' is gone; look at the page again"):
            change()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[scenario]]\nname = ", ":2: "),
        ('[[scenario]]\nname = "a"\nhours_per_day = "25"\n', ':3: .*up to "24"'),
        ('[[scenario]]\nname = "a"\nhours_per_day = 4\n', ":3: .*hours of a day in quotes"),
        ('[[scenario]]\nname = "a"\nprice_per_kwh = "-1"\n', ":3: .*decimal amount in quotes"),
        ('[[scenario]]\nname = "a"\nprice = "1"\n', ":3: .*unknown key; known here: name"),
        ('[[scenario]]\nhours_per_day = "4"\n', "name: missing"),
        ('[[scenario]]\nname = "a"\n[[scenario]]\nname = "a"\n', "two of the name 'a'; give one"),
    ],
)
def test_a_broken_file_is_one_sentence_and_is_not_written_over(
    config: Path, text: str, why: str
) -> None:
    place(config).write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=why) as told:
        kept(config)
    assert str(told.value).startswith(f"{place(config)}:")
    assert "\n" not in str(told.value)
    with pytest.raises(SettingsError, match=why):
        save(config, Scenario(name="b", hours_per_day="2"))
    assert place(config).read_text(encoding="utf-8") == text


def test_bytes_that_are_no_text_are_one_sentence(config: Path) -> None:
    place(config).write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="not UTF-8 text; save it as UTF-8 or move it away"):
        kept(config)


def test_a_folder_that_takes_no_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"not saved: .*; see that this user may write"):
        save(tmp_path / "gone" / "rigledger.toml", Scenario(name="a", hours_per_day="2"))


def test_of_writers_at_the_same_time_none_loses_anything(config: Path) -> None:
    start = threading.Barrier(4)

    def write(number: int) -> None:
        start.wait()
        for count in range(10):
            save(config, Scenario(name=f"{number} {count}", hours_per_day="2"))

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(names(config)) == sorted(f"{n} {c}" for n in range(4) for c in range(10))


def test_a_link_stays_a_link(config: Path, tmp_path: Path) -> None:
    real = tmp_path / "kept" / "mine.toml"
    real.parent.mkdir()
    place(config).symlink_to(real)
    save(config, Scenario(name="a", hours_per_day="2"))
    assert place(config).is_symlink()
    assert 'name = "a"' in real.read_text(encoding="utf-8")
