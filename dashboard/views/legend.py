"""Legends as HTML: a colour, its name, its meaning."""

from collections.abc import Container, Iterable

from dashboard import meanings
from dashboard.palette import STATE_WORDS, STATES, Palette

Item = tuple[str, str, str]  # fill, name, meaning


def states(shown: Container[str], colours: Palette) -> str:
    """The states that are shown, in their order."""
    return items(
        (
            (
                hatch(colours) if state == "unknown" else colours.states[state],
                STATE_WORDS[state],
                meanings.STATES[state],
            )
            for state in STATES
            if state in shown
        ),
        colours,
    )


def hatch(colours: Palette) -> str:
    """What stands for what nobody knows."""
    return (
        f"repeating-linear-gradient(135deg, {colours.hatch} 0 2px, {colours.hatch_ground} 2px 5px)"
    )


def items(told: Iterable[Item], colours: Palette) -> str:
    """Swatches with their words, as many beside each other as fit."""
    rows = [
        '<div style="display:flex;gap:8px;align-items:baseline">'
        '<span style="flex:none;width:14px;height:14px;border-radius:3px;'
        f'align-self:center;border:1px solid {colours.line};background:{fill}"></span>'
        f'<span>{name} <span style="color:{colours.quiet}">{meaning}</span></span></div>'
        for fill, name, meaning in told
    ]
    return (
        '<div style="display:grid;grid-template-columns:repeat(auto-fill,minmax(310px,1fr));'
        f'gap:6px 24px;font-size:0.875rem">{"".join(rows)}</div>'
    )
