"""What a closed month's books tell otherwise now, and why."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from collector.clock import from_ns as instant
from collector.settings import Settings

# These say where things lie and how they are reached; no figure rests on them.
APART = {"store", "collector", "dashboard", "taps", "router", "meters"}
NAMES = ("name", "step", "sheet", "at")  # what a row of a list is known by, the first that it has
JUDGED = {("headroom", "slo"), ("headroom", "needed")}
Content = Mapping[str, Any]


def restatement(old: Content, new: Content, settings: Settings) -> dict[str, Any] | None:
    """How two contents of a month (`close.content`) differ; None where every figure is the same.

    `settings` are those of the new one. at: when the new one was computed; figures: each figure
    that both tell, old and new; groups: how many rows of each grouping changed; why: the inputs
    that changed, as far as the ledger keeps them.
    """
    figures = [
        {"figure": name, "old": before, "new": after}
        for name, before, after in _figures("", old["report"], new["report"])
    ]
    groups = _groups(old["report"]["groups"], new["report"]["groups"])
    if not figures and not groups:
        return None
    return {
        "number": None,
        "at": instant(new["closed_at_ns"]).isoformat(),
        "figures": figures,
        "groups": groups,
        "why": list(_why(old, new, settings)),
    }


def kept(settings: Settings) -> dict[str, Any]:
    """The settings that a month's figures rest on, as plain values; without any address."""
    told: dict[str, Any] = msgspec.to_builtins(settings)
    told = {table: value for table, value in told.items() if table not in APART}
    told["engines"] = [
        {key: value for key, value in engine.items() if key != "url"} for engine in told["engines"]
    ]
    return told


def _figures(path: str, old: Any, new: Any) -> Iterator[tuple[str, Any, Any]]:
    """Leaves that differ, by their dotted names. What only one program version tells is no news."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old:
            # What a target says of a month is a judgement, and no figure of its books.
            if key in new and (path or key != "groups") and (path, key) not in JUDGED:
                yield from _figures(f"{path}.{key}" if path else key, old[key], new[key])
    elif _named(old) and _named(new):
        before, after = _by_name(old), _by_name(new)
        for name in [*before, *(name for name in after if name not in before)]:
            yield from _figures(f"{path}.{name}", before.get(name), after.get(name))
    elif old != new:
        yield path, old, new


def _named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, dict) and any(key in row for key in NAMES) for row in value
    )


def _by_name(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {str(next(row[key] for key in NAMES if key in row)): row for row in rows}


def _groups(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, int]:
    changed = {}
    for name in old:
        if name not in new:
            continue
        before, after = _by_name(old[name]), _by_name(new[name])
        rows = [row for row in {*before, *after}
                if row not in before or row not in after
                or any(True for _ in _figures(row, before[row], after[row]))]  # fmt: skip
        if rows:
            changed[name] = len(rows)
    return changed


def _why(old: Content, new: Content, settings: Settings) -> Iterator[dict[str, Any]]:
    before, after = old["inputs"], new["inputs"]
    changes = list(_settings_changes(old, settings))
    yield from ({"input": "settings", "what": what} for what in changes)
    for sheet, digest in after["sheets"].items():
        if sheet in before["sheets"] and before["sheets"][sheet] != digest:
            yield {"input": "sheets", "what": f"the price sheet {sheet} changed"}
    yield from _news(before, after)
    if before["rules"] != after["rules"]:
        versions = f"{before['version']} → {after['version']}"
        yield {"input": "program", "what": f"the program's rules changed ({versions})"}
    elif before["assumptions"] != after["assumptions"] and not changes:
        yield {"input": "settings", "what": "a file that the settings name changed"}
    if before.get("tables", after["tables"]) != after["tables"]:
        what = "the table of the time zone or of the holidays changed with a program's version"
        yield {"input": "program", "what": what}
    if old["report"]["quality"].get("damaged") != new["report"]["quality"].get("damaged"):
        yield {"input": "ledger", "what": "rows of the ledger were lost to damage or told again"}


def _news(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Hours of each kind of event that got late or revised events."""
    if old["ledger"] != new["ledger"]:
        what = "the ledger's manifest was built anew: what was news before cannot be told from now"
        yield {"input": "ledger", "what": what}
        return
    for kind, hours in new["news"].items():
        before = dict(map(tuple, old["news"].get(kind, [])))
        late = [hour for hour, number in hours if before.get(hour) != number]
        if late:
            span = "1 hour" if len(late) == 1 else f"{len(late):,} hours"
            what = f"{span} got late or revised events of kind {kind}"
            first = instant(late[0] * 3_600 * 10**9).isoformat()
            yield {
                "input": "events", "kind": kind, "hours": len(late), "first": first, "what": what
            }  # fmt: skip


def _settings_changes(old: Content, settings: Settings) -> Iterator[str]:
    before, after, declared = (
        _entries(told) for told in (old["settings"], kept(settings), _declared(settings))
    )
    last_day = f"{old['month']}-31"
    for label, entry in after.items():
        if label not in before:
            if _since(entry) <= last_day and declared.get(label):
                yield f"{label} was added"
            continue
        for key, value in entry.items():
            known = key in before[label]
            if before[label].get(key) != value and (known or key in declared.get(label, {})):
                yield f"{label}: {key} {_told(before[label].get(key))} → {_told(value)}"
    for label, entry in before.items():
        if label not in after and _since(entry) <= last_day:
            yield f"{label} was removed"


def _entries(told: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every table by what people know it by: `electricity from 2026-10-01`."""
    found: dict[str, dict[str, Any]] = {}
    for table, value in told.items():
        rows = value if isinstance(value, list) else [value]
        for row in rows:
            words = [table, *([f'"{row["name"]}"'] if isinstance(value, list) and "name" in row
                              else [])]  # fmt: skip
            words += [f"from {row['from']}"] if "from" in row else []
            label = " ".join(words)
            while label in found:
                label += " (another)"
            found[label] = row
    return found


def _told(value: Any) -> str:
    return "unset" if value is None else str(value)


def _since(entry: Mapping[str, Any]) -> str:
    return str(entry.get("from") or entry.get("in_service") or "")


def _declared(value: Any) -> Any:
    """Settings without what stands at its default."""
    if isinstance(value, list):
        return [_declared(item) for item in value]
    if not isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    fields = [(field, getattr(value, field.name)) for field in msgspec.structs.fields(value)]
    return {
        field.encode_name: _declared(item)
        for field, item in fields
        if not _is_default(field, item) and field.encode_name not in APART
    }


def _is_default(field: msgspec.structs.FieldInfo, item: Any) -> bool:
    if field.default is not msgspec.NODEFAULT:
        return bool(item == field.default)
    factory = field.default_factory
    return factory is not msgspec.NODEFAULT and bool(item == factory())
