"""Wall meters: each device's own format over HTTP, and what becomes of its readings."""

import datetime as dt
import logging
import threading
from pathlib import Path
from typing import Any

import pytest
from rig.ledger import SECOND, START, at, heartbeats, ledger, sample, settings
from rig.meters import (
    Device,
    home_assistant,
    shelly_em,
    shelly_gen1,
    shelly_gen2,
    shelly_gen3_energy_meter,
    tasmota,
)

from analytics.identities import BrokenIdentity, check
from analytics.month import month
from analytics.periods import Period
from collector.clock import from_ns
from collector.events import Event, Sample
from collector.probe import Health
from collector.settings import Electricity, Hardware, Meter, Settings
from collector.sources.meter_reading import Unreadable
from collector.sources.meters import TOKEN, MeterSource, in_force, read
from dashboard import settings_words

HOUR = 3600
SECRET = "a-long-lived-access-token"  # noqa: S105
WH_UJ = 3_600_000_000
LATER = START + 10 * HOUR * SECOND

# 441.5 W and 1,234.567 Wh, as each device tells them.
PLUGS: list[tuple[str, int, dict[str, Any], int, int, str]] = [
    ("shelly", 0, shelly_gen2(441.5, 1234.567), 441_500, 4_444_441_200_000, "A8032ABE54DC"),
    (
        *("shelly", 1, shelly_gen3_energy_meter(441.5, 1234.567)),
        *(441_500, 4_444_441_200_000, "34987A45B1D8"),
    ),
    # 74,074 watt-minutes
    ("shelly", 0, shelly_gen1(441.5, 74_074), 441_500, 74_074 * 60_000_000, "7C87CEB5A2F1"),
    ("shelly", 0, shelly_em(441.5, 1234.5), 441_500, 4_444_200_000_000, "C45BBE78A1B2"),
    ("tasmota", 0, tasmota(442, 1.235), 442_000, 4_446_000_000_000, "2026-09-01T10:00:00"),
    (
        *("tasmota", 1, tasmota([3, 442], [0.5, 1.235])),
        *(442_000, 4_446_000_000_000, "2026-09-01T10:00:00"),
    ),
]


@pytest.mark.parametrize("plug", PLUGS)
def test_each_device_is_read_in_its_own_units(plug: tuple[Any, ...]) -> None:
    kind, channel, answers, mw, uj, epoch = plug
    with Device(answers) as device:
        told = read(Meter(name="plug", kind=kind, url=device.url + "/", channel=channel))
    assert (told.power_mw, told.energy_uj_total, told.counter_epoch) == (mw, uj, epoch)
    assert told.error is None


def assistant(url: str, **fields: Any) -> Meter:
    return Meter(
        name="ha", kind="home_assistant", url=url, power_entity="sensor.w",
        energy_entity="sensor.kwh", **fields,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("power", "energy", "mw", "uj"),
    [
        (("0.4415", "kW"), ("1.234567", "kWh"), 441_500, 4_444_441_200_000),
        (("441.5", "W"), ("1234.567", "Wh"), 441_500, 4_444_441_200_000),
        (("unavailable", "W"), ("0.001234567", "MWh"), None, 4_444_441_200_000),
        (("441.5", "W"), ("unknown", "kWh"), 441_500, None),
    ],
)
def test_home_assistant_tells_text_in_any_unit(
    tmp_path: Path, power: Any, energy: Any, mw: int | None, uj: int | None
) -> None:
    answers = home_assistant("sensor.w", *power) | home_assistant(
        "sensor.kwh", *energy, last_reset="2026-10-01T00:00:00+00:00"
    )
    secret = tmp_path / "token"
    secret.write_text(f"{SECRET}\n")
    secret.chmod(0o600)
    with Device(answers, SECRET) as device:
        told = read(assistant(device.url, token_file=str(secret)))
    assert (told.power_mw, told.energy_uj_total) == (mw, uj)
    since = "sensor.kwh 2026-10-01T00:00:00+00:00"
    assert told.counter_epoch == (None if uj is None else since)


def test_the_token_comes_from_the_environment_or_a_file_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = home_assistant("sensor.w", "1", "W") | home_assistant("sensor.kwh", "1", "kWh")
    monkeypatch.setenv(TOKEN, SECRET)
    with Device(answers, SECRET) as device:
        assert read(assistant(device.url)).power_mw == 1000
        monkeypatch.setenv(TOKEN, "old")
        with pytest.raises(Unreadable, match="asks for another token"):
            read(assistant(device.url))
        monkeypatch.delenv(TOKEN)
        with pytest.raises(Unreadable, match=f"{TOKEN} in the environment"):
            read(assistant(device.url))
        secret = tmp_path / "token"
        secret.write_text(SECRET)
        secret.chmod(0o644)
        with pytest.raises(Unreadable, match="chmod 600"):
            read(assistant(device.url, token_file=str(secret)))
        assert device.asked.count("/api/states/sensor.w") == 2


@pytest.mark.parametrize(
    ("kind", "answers", "word"),
    [
        ("shelly", {}, "HTTP 404"),
        ("shelly", {"/shelly": {"gen": 2}, "/rpc/Shelly.GetStatus": {"sys": {}}}, "no meter on"),
        ("shelly", {"/shelly": {}, "/status": {"meters": []}}, "has 0 channels"),
        ("shelly", {"/shelly": {"gen": 2}, "/rpc/Shelly.GetStatus": [1]}, "object"),
        ("tasmota", {"/cm?cmnd=Status%208": {"WARNING": "Need user=<username>"}}, "password"),
        ("tasmota", {"/cm?cmnd=Status%208": {"StatusSNS": {"Time": "x"}}}, "no energy sensor"),
        ("home_assistant", home_assistant("sensor.w", "1", "V"), "is in V, not in"),
    ],
)
def test_what_is_no_reading_is_refused_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, kind: Any, answers: dict[str, Any], word: str
) -> None:
    monkeypatch.setenv(TOKEN, "t")
    power = "sensor.w" if kind == "home_assistant" else None
    with Device(answers) as device, pytest.raises(ValueError, match=word):
        read(Meter(name="plug", kind=kind, url=device.url, power_entity=power))


def test_power_that_flows_back_is_told_and_not_kept() -> None:
    with Device(shelly_gen2(-12.5, 3.0)) as device:
        told = read(Meter(name="plug", kind="shelly", url=device.url))
    assert told.power_mw is None
    assert told.energy_uj_total == 3 * WH_UJ
    assert told.error == "power flows back: -12.5 W"


def test_of_a_meter_the_entry_in_force_is_asked() -> None:
    day = dt.date(2026, 10, 5)
    old = Meter(name="plug", kind="shelly", url="http://old", until=dt.date(2026, 11, 1))
    new = Meter(name="plug", kind="tasmota", url="http://new", from_=day)
    gone = Meter(name="strip", kind="shelly", url="http://s", from_=day, until=day)
    assert in_force([new, old, gone], "plug", dt.date(2026, 10, 4)) is old
    assert in_force([new, old, gone], "plug", day) is new
    assert in_force([new, old, gone], "strip", day) is None


class Taken:
    """What a source delivered, by device."""

    def __init__(self) -> None:
        self.samples: list[Sample] = []
        self._came = threading.Condition()

    def __call__(self, events: list[Event]) -> None:
        with self._came:
            self.samples += [event for event in events if isinstance(event, Sample)]
            self._came.notify_all()

    def wait(self, *devices: str) -> None:
        with self._came:
            assert self._came.wait_for(
                lambda: {s.device for s in self.samples} >= set(devices), timeout=20
            )


def test_meters_are_read_beside_one_that_is_silent(caplog: pytest.LogCaptureFixture) -> None:
    taken = Taken()
    with Device(shelly_gen2(441.5, 1234.567)) as one, Device(tasmota(3, 0.5)) as other:
        meters = [
            Meter(name="plug", kind="shelly", url=one.url, sample_seconds=1),
            Meter(name="strip", kind="tasmota", url=other.url, sample_seconds=1),
            Meter(name="dead", kind="tasmota", url="http://127.0.0.1:9", sample_seconds=1),
        ]
        source = MeterSource(Settings(meters=meters))
        with caplog.at_level(logging.WARNING):
            source.start(taken)
            taken.wait("plug", "strip")
            source.stop()
    (plug, *_) = [s for s in taken.samples if s.device == "plug"]
    assert (plug.scope, plug.sensor, plug.power_mw) == ("wall", "shelly", 441_500)
    assert len({s.event_id for s in taken.samples}) == len(taken.samples)
    told = [r.message for r in caplog.records if "dead" in r.message]
    assert len(told) == 1
    assert "is not read" in told[0]


# -- in the books


def wall(
    start: float, end: float, watts: float, since: float = 0, name: str = "plug"
) -> list[Event]:
    """A plug read every 10 s whose counter stood at 0 at the second `since`."""
    return [
        Sample(
            source="meters",
            event_id=f"{name}-{second}-{since}",
            rig="desk",
            device=name,
            scope="wall",
            sensor="shelly",
            at=from_ns(at(second)),
            power_mw=round(watts * 1000),
            energy_uj_total=round((second - since) * watts * 10**6),
            counter_epoch=str(since),
        )
        for second in range(round(start), round(end) + 10, 10)
    ]


def card(watts: int = 30, start: int = 0, end: int = HOUR) -> list[Event]:
    return [sample("A", s, power_mw=watts * 1000) for s in range(start, end + 10, 10)]


def rig(**fields: Any) -> Settings:
    tariff = Electricity(
        from_=dt.date(2026, 1, 1), price_per_kwh="0.20", psu_efficiency="0.9", **fields
    )
    plug = Meter(name="plug", kind="shelly", url="http://192.0.2.1")
    return settings("A", electricity=[tariff], meters=[plug])


def told(path: Path, made: Settings, events: list[Event], hours: float = 1) -> dict[str, Any]:
    period = Period("span", START, START + round(hours * HOUR) * SECOND)
    witnessed = heartbeats(0, hours * HOUR, ["on-A"])
    return month(ledger(path / "ledger", [*witnessed, *events]), made, period, LATER)


def test_the_wall_contains_the_cards(tmp_path: Path) -> None:
    """100 W at the wall, 30 W in the card, a supply of 90 %: 60 W are the host's, and an hour
    costs 0.1 kWh, not 0.1 and the card's."""
    document = told(tmp_path, rig(), [*card(), *wall(0, HOUR, 100)])
    energy = document["energy_uj"]
    assert energy["wall"] == 100 * HOUR * 10**6
    assert energy["cards"] == 30 * HOUR * 10**6
    assert energy["host"] == (90 - 30) * HOUR * 10**6
    assert energy["billed"] == energy["wall"]
    assert energy["metered"] == {
        "supplied": 90 * HOUR * 10**6,
        "cards": 30 * HOUR * 10**6,
        "host": 60 * HOUR * 10**6,
        "unassigned": 0,
    }
    # Two lines in four quarter hours are rounded to the nano each.
    assert document["cost_nano"]["energy"] == pytest.approx(0.1 * 0.20 * 10**9, abs=8)
    assert document["at_least"] == ["no hardware price is set"]


def test_the_wall_covers_what_a_card_does_not_tell(tmp_path: Path) -> None:
    """Without any reading of the card all of the wall's energy is paid for, once."""
    document = told(tmp_path, rig(), wall(0, HOUR, 100))
    assert document["energy_uj"]["cards"] is document["energy_uj"]["idle_draw"] is None
    assert document["energy_uj"]["host"] == 90 * HOUR * 10**6
    assert document["energy_uj"]["unknown_ns"] == HOUR * SECOND
    assert document["cost_nano"]["energy"] == pytest.approx(0.1 * 0.20 * 10**9, abs=8)
    assert document["at_least"] == ["no hardware price is set"]


def test_energy_and_carbon_that_nobody_told_are_unknown(tmp_path: Path) -> None:
    made = rig(carbon_g_per_kwh=380)
    made.meters.clear()
    document = told(tmp_path, made, [])
    energy = document["energy_uj"]
    assert energy["cards"] is energy["idle_draw"] is energy["host"] is document["carbon_ug"] is None
    # Ten minutes of the hour were told: 30 W behind a supply of 90 %, 1/180 kWh of 380 g each.
    document = told(tmp_path, made, card(end=600))
    assert document["energy_uj"]["cards"] == 30 * 600 * 10**6
    assert document["carbon_ug"] == 380 * 10**6 // 180


@pytest.mark.parametrize("watts", [None, 50])
def test_a_silent_wall_is_unknown_or_the_constant_and_says_so(
    tmp_path: Path, watts: int | None
) -> None:
    """A plug without a counter falls silent from minute 15 to minute 30."""
    events = [
        Sample(**{f: getattr(e, f) for f in e.__struct_fields__} | {"energy_uj_total": None})
        for e in [*wall(0, 900, 100), *wall(1800, HOUR, 100, since=1800)]
    ]
    document = told(tmp_path, rig(host_watts=watts), [*card(), *events])
    host, flags = document["energy_uj"]["host"], document["quality"]["flags"]
    assert host == (60 * 2700 + (watts or 0) * 900) * 10**6
    silent = "the wall was not metered for 15.0 min"
    assert (silent in document["at_least"]) == (watts is None)
    assert (f"{silent}: the declared host power counts there" in flags) == (watts is not None)


def test_less_than_the_cards_stays_negative_and_is_counted(tmp_path: Path) -> None:
    document = told(tmp_path, rig(), [*card(300), *wall(0, HOUR, 100)])
    assert document["energy_uj"]["host"] == (90 - 300) * HOUR * 10**6
    assert document["cost_nano"]["energy"] == pytest.approx(0.1 * 0.20 * 10**9, abs=8)
    assert document["quality"]["negative_buckets"] == 4
    assert any("told less than the cards" in flag for flag in document["quality"]["flags"])


def test_two_meters_add_up_and_one_alone_is_not_the_wall(tmp_path: Path) -> None:
    made = rig()
    made.meters.append(Meter(name="strip", kind="tasmota", url="http://192.0.2.2"))
    both = [*wall(0, HOUR, 70), *wall(0, 1800, 30, name="strip")]
    document = told(tmp_path, made, [*card(), *both])
    assert document["energy_uj"]["wall"] == 100 * 1800 * 10**6
    assert "the wall was not metered for 30.0 min" in document["at_least"]


def test_a_meter_that_no_setting_names_moves_nothing(tmp_path: Path) -> None:
    made = rig(host_watts=60)
    made.meters.clear()
    document = told(tmp_path, made, [*card(), *wall(0, HOUR, 100)])
    assert document["energy_uj"]["wall"] is None
    assert document["energy_uj"]["host"] == 60 * HOUR * 10**6


def test_a_counter_that_began_anew_is_told_by_power(tmp_path: Path) -> None:
    events = [*wall(0, 1790, 100), *wall(1800, HOUR, 100, since=1795)]
    document = told(tmp_path, rig(), [*card(), *events])
    assert document["energy_uj"]["wall"] == 100 * HOUR * 10**6
    assert document["quality"]["counter_resets"] == 1


def test_without_meter_and_constant_the_host_is_unknown(tmp_path: Path) -> None:
    made = rig()
    made.meters.clear()
    document = told(tmp_path, made, card())
    assert document["energy_uj"]["host"] is None
    assert "host power is not declared" in document["at_least"]
    assert document["quality"]["flags"][0].startswith("cost is at least what is said: ")


def test_a_late_meter_is_told_apart_from_a_card() -> None:
    seen = Health(sample_age_s={"GPU-a": 3.0, "plug": 900.0})
    told = settings_words.sources(seen, ["strip"], {"plug": "", "strip": ""})
    assert told == "The collector keeps events; 2 meters without a reading."


def not_yet(made: Settings) -> Settings:
    """Its only card comes into service on the next day."""
    made.hardware.append(
        Hardware(name="card", price="1000", in_service=dt.date(2026, 10, 6), life_years=4)
    )
    return made


def test_what_the_wall_tells_before_any_card_is_in_service_is_unassigned(tmp_path: Path) -> None:
    """100 W for an hour at 0.20: 0.02, and 0.005 in each quarter of it; 90 W are the host's."""
    document = told(tmp_path, not_yet(rig(carbon_g_per_kwh=380)), [*card(), *wall(0, HOUR, 100)])
    energy, whole = document["energy_uj"], 90 * HOUR * 10**6
    assert energy["wall"] == 100 * HOUR * 10**6
    assert (energy["cards"], energy["host"], energy["unassigned"]) == (0, whole, whole)
    assert energy["metered"] == {"supplied": whole, "cards": 0, "host": 0, "unassigned": whole}
    assert document["cost_nano"]["energy"] == document["cost_nano"]["total"] == 20_000_000
    assert document["states_cost_nano"]["unassigned"] == 20_000_000
    assert document["carbon_ug"] == 38_000_000
    assert document["at_least"] == []


def test_the_constant_counts_before_any_card_is_in_service_while_the_host_is_up(
    tmp_path: Path,
) -> None:
    """60 W behind the supply for the half hour that is witnessed: 0.03 kWh ÷ 0.9 at 0.20."""
    made = not_yet(rig(host_watts=60))
    made.meters.clear()
    period = Period("span", START, START + HOUR * SECOND)
    seen = heartbeats(0, 1800 - 30 + 10, ["on-A"])
    document = month(ledger(tmp_path / "ledger", seen), made, period, LATER)
    energy = document["energy_uj"]
    assert energy["host"] == energy["unassigned"] == 60 * 1800 * 10**6
    assert (energy["wall"], energy["metered"]) == (None, None)
    assert document["cost_nano"]["energy"] == 2 * 3_333_333  # 0.00333… in each quarter of an hour
    assert document["carbon_ug"] is None


def test_before_any_card_is_in_service_an_undeclared_host_is_unknown(tmp_path: Path) -> None:
    made = not_yet(rig())
    made.meters.clear()
    document = told(tmp_path, made, [])
    assert document["energy_uj"]["host"] is document["energy_uj"]["unassigned"] is None
    assert document["at_least"] == ["host power is not declared"]


@pytest.mark.parametrize("figure", ["supplied", "cards", "host", "unassigned"])
def test_books_that_tell_other_than_the_wall_are_not_published(tmp_path: Path, figure: str) -> None:
    document = told(tmp_path, rig(), [*card(), *wall(0, HOUR, 100)])
    document["energy_uj"]["metered"][figure] += 1
    with pytest.raises(BrokenIdentity, match=r"cards \+ host \+ unassigned = metered"):
        check(document, [], 0)


def test_a_host_of_no_watts_is_known(tmp_path: Path) -> None:
    made = rig(host_watts=0)
    made.meters.clear()
    document = told(tmp_path, made, card())
    assert document["energy_uj"]["host"] == 0
    assert document["at_least"] == ["no hardware price is set"]
