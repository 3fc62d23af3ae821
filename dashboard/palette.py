"""The colours of the theme as charts take them: scales, ramps and the hatch of the unknown."""

from typing import Any

import altair as alt

from analytics.render.colours import DARK, LIGHT, Palette

__all__ = [
    "DARK",
    "FONT",
    "LIGHT",
    "STATES",
    "STATE_WORDS",
    "STEP_WORDS",
    "Palette",
    "between",
    "fixed",
    "hatched",
    "ink_on",
    "of_cards",
    "palette",
    "solid_states",
]

# Bottom to top in a strip, and the order of every legend.
STATES = ("busy", "stranded", "headroom", "idle", "other", "off", "unknown")
FONT = '"Source Sans", "Source Sans 3", sans-serif'

STATE_WORDS = {
    "busy": "busy",
    "stranded": "stranded",
    "headroom": "headroom",
    "idle": "idle",
    "other": "other use",
    "off": "off",
    "unknown": "unknown",
}

STEP_WORDS = {
    "at_peak": "at peak",
    "below_peak": "below peak",
    "stranded": "stranded",
    "headroom": "headroom",
    "idle": "idle",
    "off": "off",
    "other": "other use",
    "unknown": "unknown",
    "unassigned": "unassigned",
}


def palette(dark: bool) -> Palette:
    """The colours of the theme."""
    return DARK if dark else LIGHT


def of_cards(cards: list[str], colours: Palette) -> dict[str, str]:
    """A colour for each card, from dark to light in the order of the rig."""
    last = len(colours.ramp) - 1
    found = {}
    for number, card in enumerate(cards):
        at = last * number / max(1, len(cards) - 1)
        low = min(int(at), last - 1)
        found[card] = between(colours.ramp[low], colours.ramp[low + 1], at - low)
    return found


def between(one: str, other: str, share: float) -> str:
    """The colour at a share of the way from one to another."""
    parts = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (one, other)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*parts, strict=True))


def ink_on(colour: str) -> str:
    """Black or white, whichever stands out more: on any colour 4.5 to 1 and better."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "#000000" if (light + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"


def solid_states(colours: Palette) -> dict[str, str]:
    """The states with a plain colour: all but `unknown`."""
    return {state: colours.states[state] for state in STATES if state != "unknown"}


def fixed(shades: dict[str, str]) -> alt.Scale:
    """A scale that gives each name its own colour, whatever else is drawn."""
    return alt.Scale(domain=list(shades), range=list(shades.values()))


def hatched(colours: Palette, stripes: int) -> Any:
    """A fill of diagonal strokes, as a gradient with hard stops.

    Chart renderers have no pattern fill that works in the page, in SVG and in print alike;
    a striped gradient does. `stripes` grows with the width that is filled.
    """
    stops = []
    for stripe in range(stripes):
        start = stripe / stripes
        middle = (stripe + 0.45) / stripes
        end = (stripe + 1) / stripes
        for offset, colour in (
            (start, colours.hatch),
            (middle, colours.hatch),
            (middle, colours.hatch_ground),
            (end, colours.hatch_ground),
        ):
            stops.append(alt.GradientStop(color=colour, offset=round(offset, 6)))
    gradient: Any = alt.Gradient
    return gradient(gradient="linear", stops=stops, x1=0, y1=0, x2=1, y2=1)
