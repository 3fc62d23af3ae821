"""Tariffs and meters that contradict themselves."""

from collections.abc import Iterator

from collector.settings import Electricity, Meter, Settings
from collector.settings_fault import Fault
from collector.settings_power import DAY_MINUTES, HOLIDAYS, WEEKDAYS, Window

Place = tuple[str | int, ...]


def electricity_faults(settings: Settings) -> Iterator[Fault]:
    """Entries that cannot be used, in order; the windows of each before its price."""
    seen = set()
    for index, tariff in enumerate(settings.electricity):
        place: Place = ("electricity", index)
        odd = list(_windows(tariff, place))
        yield from odd or [*_holidays(tariff, place), *_price(tariff, place)]
        if tariff.psu_efficiency_e4 == 0:
            yield Fault(
                (*place, "psu_efficiency"),
                "a power supply cannot have efficiency 0",
                'write a share from 0.0001 to 1 in quotes, like "0.92"',
            )
        if tariff.from_ in seen:
            yield Fault(
                (*place, "from"),
                f"two tariffs start on {tariff.from_}",
                "keep one of them or give the later one its own date",
            )
        seen.add(tariff.from_)


def _windows(tariff: Electricity, place: Place) -> Iterator[Fault]:
    for number, window in enumerate(tariff.windows):
        if not window.kinds:
            yield Fault(
                (*place, "windows", number, "days"),
                f"{window.days!r} names no days",
                f"write {', '.join(WEEKDAYS)}, ranges like mon-fri, or {HOLIDAYS}",
            )
        start, end = window.minutes
        if start == end or start >= DAY_MINUTES or end > DAY_MINUTES:
            yield Fault(
                (*place, "windows", number, "hours"),
                f"{window.hours!r} is no stretch of the day",
                'write local time from and to, like "16-21", "22-6" or "0-24"',
            )


def _holidays(tariff: Electricity, place: Place) -> Iterator[Fault]:
    named = any(HOLIDAYS in window.kinds for window in tariff.windows)
    if tariff.holidays is None:
        if named:
            yield Fault(
                (*place, "holidays"),
                "a window names holidays, and nothing says whose",
                'add holidays with a country, or country and region, like "US" or "DE-BE"',
            )
        return
    from holidays import country_holidays  # noqa: PLC0415 (few need it, and it is slow)

    country, _, region = tariff.holidays.partition("-")
    try:
        country_holidays(country, subdiv=region or None)
    except NotImplementedError:
        yield Fault(
            (*place, "holidays"),
            f"no holidays are known for {tariff.holidays!r}",
            'write a country, or country and region, in ISO 3166 codes, like "US" or "DE-BE"',
        )
    if not named:
        yield Fault(
            (*place, "holidays"),
            "no window names them, so they change nothing",
            'add a window with days = "holidays" before the others, or leave this out',
        )


def _price(tariff: Electricity, place: Place) -> Iterator[Fault]:
    if tariff.series is not None:
        for key in ("price_per_kwh", "windows"):
            if getattr(tariff, key):
                yield Fault(
                    (*place, key),
                    "the price series already tells the price of every hour",
                    f"leave out either series or {key}",
                )
        return
    if tariff.price_per_kwh is not None:
        return
    if not tariff.windows:
        yield Fault(
            (*place, "price_per_kwh"),
            "missing",
            'add it in quotes, like "0.20", or windows or a series in its place',
        )
        return
    open_at = next(_uncovered(tariff.windows), None)
    if open_at is not None:
        day, minute = open_at
        yield Fault(
            (*place, "price_per_kwh"),
            f"no window holds on {day} at {minute // 60}:{minute % 60:02}",
            "add price_per_kwh for the time outside of the windows",
        )


def _uncovered(windows: list[Window]) -> Iterator[tuple[str, int]]:
    """Weekdays and minutes in which no window holds."""
    for number, day in enumerate(WEEKDAYS):
        before = WEEKDAYS[number - 1]
        for minute in range(DAY_MINUTES):
            if not any(_holds(window, day, before, minute) for window in windows):
                yield day, minute


def _holds(window: Window, day: str, before: str, minute: int) -> bool:
    start, end = window.minutes
    if start < end:
        return day in window.kinds and start <= minute < end
    return (day in window.kinds and minute >= start) or (before in window.kinds and minute < end)


def meter_faults(settings: Settings) -> Iterator[Fault]:
    """Meters that cannot be asked or told apart, in order."""
    seen = set()
    for index, meter in enumerate(settings.meters):
        place: Place = ("meters", index)
        if (meter.name, meter.from_) in seen:
            yield Fault(
                (*place, "name"),
                f"two meters are called {meter.name!r} from the same day on",
                "give each meter its own name, or the later entry its own `from`",
            )
        seen.add((meter.name, meter.from_))
        if meter.until is not None and meter.until <= meter.from_:
            yield Fault(
                (*place, "until"),
                f"{meter.until} is not after its first day {meter.from_}",
                "write the first day on which the meter is gone",
            )
        yield from _entities(meter, place)


def _entities(meter: Meter, place: Place) -> Iterator[Fault]:
    told = {"power_entity": meter.power_entity, "energy_entity": meter.energy_entity}
    if meter.kind == "home_assistant":
        if not any(told.values()):
            yield Fault(
                (*place, "power_entity"),
                "missing",
                'add power_entity or energy_entity, like "sensor.rig_power"',
            )
        return
    for key, value in {**told, "token_file": meter.token_file}.items():
        if value is not None:
            yield Fault(
                (*place, key), f"a {meter.kind} has none", f"leave {key} out, or correct kind"
            )
