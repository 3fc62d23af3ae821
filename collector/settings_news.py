"""What differs between two versions of the settings, in words."""

from typing import Any

import msgspec

from collector.settings import Settings

SHOWN = 3


def news(before: Settings, after: Settings) -> str:
    """The first differences, setting by setting: `usage.active_gap is now '30m' (was '15m')`."""
    old, new = _flat(before), _flat(after)
    found = [
        f"{name} is now {new.get(name, 'gone')} (was {old.get(name, 'not there')})"
        for name in {**old, **new}
        if old.get(name) != new.get(name)
    ]
    if not found:
        return "its comments or its layout"
    more = len(found) - SHOWN
    return ", ".join(found[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _flat(settings: Settings) -> dict[str, str]:
    found: dict[str, str] = {}

    def walk(value: Any, name: str) -> None:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                walk(inner, f"{name}.{key}" if name else key)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for index, inner in enumerate(value, start=1):
                walk(inner, f"{name} {index}")
        else:
            found[name] = repr(value)

    walk(msgspec.to_builtins(settings), "")
    return found
