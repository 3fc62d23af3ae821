"""The settings page's sentences: what is assumed, and what a change would do."""

import datetime as dt
import difflib
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

from analytics.preview import Effect
from collector.probe import Health
from collector.settings import Electricity, Settings
from collector.settings_check import Fault
from collector.settings_edit import Append, Change
from collector.settings_fields import tables
from dashboard import words
from dashboard.sentences import plain

SILENT_S = 300


def assumed(settings: Settings, lost_nano: int, today: dt.date) -> str:
    """What the rig is taken to cost, in one or two sentences; `lost_nano` in value per day."""
    currency = settings.rig.currency
    rig = _rig(settings, lost_nano, today)
    tariff = in_force(settings, today)
    if tariff is None:
        return f"{rig}. No electricity price is in force, so **energy is not priced**."
    return (
        f"{rig}; a kWh costs **{kwh(tariff, currency)}** since {day(tariff.from_)}, and "
        f"{_host(settings, tariff)}."
    )


def kwh(tariff: Electricity, currency: str) -> str:
    """What a kWh costs: `0.2 USD`, `0.2 to 0.41 USD by the hour`, `what the price series tells`."""
    if tariff.series is not None:
        return "what the price series tells"
    told = [window.price for window in tariff.windows]
    told += [] if tariff.price_per_kwh is None else [tariff.price_per_kwh]
    low, high = min(told, key=Decimal), max(told, key=Decimal)
    return f"{low} {currency}" if low == high else f"{low} to {high} {currency} by the hour"


def _host(settings: Settings, tariff: Electricity) -> str:
    if settings.meters:
        return "what the host draws beside its cards is metered at the wall"
    if tariff.host_watts is None:
        return "**what the host draws beside its cards is not declared**"
    return f"the host draws {tariff.host_watts:,} W beside its cards"


def _rig(settings: Settings, lost_nano: int, today: dt.date) -> str:
    """What was paid for the assets that are there today, and what a day of them costs."""
    if not settings.hardware:
        return "No hardware price is set, so **the rig itself counts as free**"
    there = [a for a in settings.hardware if a.retired is None or a.retired > today]
    a_day = f"**{words.headline(lost_nano)} {settings.rig.currency}**"
    price = sum(asset.price_nano for asset in there)
    rented = any(asset.method == "rented" for asset in there)
    if not price:
        return f"The rig is rented for {a_day} a day" if rented else f"The rig costs {a_day} a day"
    bought = f"**{words.cents(price).removesuffix('.00')} {settings.rig.currency}**"
    if rented:
        return f"The rig cost {bought}; with what is rented it takes {a_day} a day"
    return f"The rig cost {bought} and loses {a_day} of its value a day"


def dated(amounts: Mapping[str, str]) -> str:
    """Amounts by date as one types them: `2027-10-01 11000, 2028-10-01 8000`."""
    return ", ".join(f"{day} {amount}" for day, amount in sorted(amounts.items()))


def read_dated(text: str) -> dict[str, str]:
    """The other way round; what is no date or no amount stays as it is, for the refusal to name."""
    found = {}
    for part in text.split(","):
        day, _, amount = part.strip().partition(" ")
        if day:
            found[day] = amount.strip()
    return found


def in_force(settings: Settings, today: dt.date) -> Electricity | None:
    """The electricity entry that counts today; None where none does yet."""
    begun = [entry for entry in settings.electricity if entry.from_ <= today]
    return max(begun, key=lambda entry: entry.from_, default=None)


def price(tariff: Electricity | None) -> str:
    """The price of a kWh as a figure; `by the hour` where it is no single one."""
    if tariff is None:
        return words.UNKNOWN
    if tariff.series is not None or tariff.windows or tariff.price_per_kwh is None:
        return "by the hour"
    return tariff.price_per_kwh


def host_power(settings: Settings, tariff: Electricity | None) -> str:
    """What the host draws beside its cards, as a figure; `metered` where the wall tells."""
    if settings.meters:
        return "metered"
    if tariff is None or tariff.host_watts is None:
        return words.UNKNOWN
    return f"{tariff.host_watts:,}"


def day(date: dt.date) -> str:
    """A date as people write it: 1 October 2026."""
    return f"{date.day} {date:%B %Y}"


def effect(told: Sequence[Effect], currency: str) -> str:
    """`This changes October 2026 from 4.47 to 4.12 and November 2026 so far from 4.61 to 4.25 …`"""
    if not told:
        return "There is no ledger yet, so no month changes."
    changed = [e for e in told if e.before != e.after]
    same = [e for e in told if e.before == e.after]
    found = []
    for without_output in (False, True):
        unit = f"{currency} in all" if without_output else f"{currency} per million output tokens"
        some = [e for e in changed if (e.before.full_nano_per_mtok is None) == without_output]
        if some:
            found.append(f"This changes {_and(_changed(e) for e in some)} {unit}.")
    if same:
        verb = "stay as they are" if len(same) > 1 else "stays as it is"
        found.append(f"{_and(_same(e, currency) for e in same)} {verb}.")
    return " ".join(found)


def _changed(told: Effect) -> str:
    before, after = _figures(told)
    return f"**{_name(told)}** from **{before}** to **{after}**"


def _same(told: Effect, currency: str) -> str:
    unit = " in all" if told.before.full_nano_per_mtok is None else ""
    return f"**{_name(told)}** ({_figures(told)[0]} {currency}{unit})"


def _figures(told: Effect) -> tuple[str, str]:
    """Both figures with as many digits as it takes to see them differ."""
    pair = (told.before.full_nano_per_mtok, told.after.full_nano_per_mtok)
    if pair[0] is None or pair[1] is None:
        pair = (told.before.cost_nano, told.after.cost_nano)
        return words.cents(pair[0]), words.cents(pair[1])
    shown = (words.headline(pair[0]), words.headline(pair[1]))
    if pair[0] == pair[1] or shown[0] != shown[1]:
        return shown
    for decimals in range(2, 10):
        shown = (words.cents(pair[0], decimals), words.cents(pair[1], decimals))
        if shown[0] != shown[1]:
            break
    return shown


def _name(told: Effect) -> str:
    return words.month_name(told.month) + (" so far" if told.provisional else "")


def _and(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last


def reach(changes: Sequence[Change]) -> str:
    """Which time a change counts for."""
    if isinstance(changes[0], Append):
        return "A new entry counts from its first day on; the entries before it stay as they are."
    return (
        "A correction counts for all the time that the entry covers, past months too; the old "
        "value stays in the file as a comment."
    )


def refusal(fault: Fault) -> str:
    """A field's own sentence: what is wrong and what to write, as one types it in a form."""
    names = [part for part in fault.path if isinstance(part, str)]
    table = tables().get(".".join(names[:-1]))
    titles = {s.key: s.title for s in table.settings} if table else {}
    remedy = fault.remedy.replace(" in quotes", "").replace(" without quotes", "")
    return plain(f"{titles.get(names[-1], names[-1])}: {fault.what}; {remedy}.")


def lines(before: str, after: str) -> str:
    """The lines that go and come, as a diff with one line around them."""
    old, new = before.splitlines(), after.splitlines()
    # What is inserted stands whole behind the line that it follows; a plain diff may shift it.
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    ends = (len(old) - tail, len(new) - tail)
    found = [f" {line}" for line in old[max(0, head - 1) : head]]
    found += difflib.ndiff(old[head : ends[0]], new[head : ends[1]], linejunk=None)
    found += [f" {line}" for line in old[ends[0] : ends[0] + 1]]
    return "\n".join(
        line[0] + line[2:] if line[1:2] == " " and line[0] in "+-" else line
        for line in found
        if not line.startswith("?")
    )


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def sources(health: Health, silent: Sequence[str], meters: Iterable[str] = ()) -> str:
    """How the sources are, in one sentence; `silent` told nothing yet, `meters` are no cards."""
    if health.trouble is not None:
        told = plain(health.trouble[:1].upper() + health.trouble[1:])
        return told.replace("\\`", "`") + "."  # a command stands as code
    down = [name for name, up in health.engine_up.items() if not up]
    late = {name for name, age in health.sample_age_s.items() if age > SILENT_S} | {*silent}
    late_meters = late & {*meters}
    parts = []
    if down:
        parts.append(f"{words.count(len(down), 'engine')} down")
    for count, what in ((len(late - late_meters), "card"), (len(late_meters), "meter")):
        if count:
            parts.append(f"{words.count(count, what)} without a reading")
    if parts:
        return f"The collector keeps events; {_and(parts)}."
    if not health.sample_age_s and not health.engine_up:
        return "The collector keeps events; no card and no engine has told anything since it began."
    return "The collector keeps events, and every source it knows is telling."


def age(seconds: float) -> str:
    """`12 s ago`."""
    return f"{words.span(round(seconds * words.NANO))} ago"
