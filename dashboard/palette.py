"""One colour per state, for light and dark pages; every chart takes its colours here.

The colours differ in lightness first (they stay apart in grey and for colour-blind eyes) and in
hue second. Time without a witness is hatched, so that it never looks like a measured state.
"""

from dataclasses import dataclass
from typing import Any

import altair as alt

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


@dataclass(frozen=True)
class Palette:
    """Colours of one theme, as hex strings; `hatch` is drawn over `hatch_ground`."""

    states: dict[str, str]
    below_peak: str
    unassigned: str
    hatch: str
    hatch_ground: str
    text: str
    quiet: str
    line: str
    page: str
    own: str
    api: str
    capital: str
    energy: str
    other_cost: str
    ramp: tuple[str, ...]

    def price(self, name: str) -> str:
        """The colour of `full`, `active` or `marginal`: the more is counted, the paler."""
        told = {"marginal": self.own, "active": self.below_peak, "full": self.states["idle"]}
        return told[name]

    def step(self, name: str) -> str:
        """The colour of a step of the waterfall; those of states are the states' own."""
        own = {
            "at_peak": self.states["busy"],
            "below_peak": self.below_peak,
            "unassigned": self.unassigned,
        }
        return own.get(name) or self.states[name]


LIGHT = Palette(
    states={
        "busy": "#0f4c81",
        "stranded": "#cf4a1f",
        "headroom": "#e6a13a",
        "idle": "#dad5ca",
        "other": "#7a52a0",
        "off": "#f0eee9",
        "unknown": "#8b8d94",
    },
    below_peak="#6d9fce",
    unassigned="#a9abb0",
    hatch="#8b8d94",
    hatch_ground="#ffffff",
    text="#1d2129",
    quiet="#5f6672",
    line="#e4e2dd",
    page="#ffffff",
    own="#0f4c81",
    api="#00806f",
    capital="#5d6775",
    energy="#d9a441",
    other_cost="#b9b4e0",
    ramp=("#0b3a63", "#2a7f9e", "#7cc3a2", "#d8d88a"),
)

DARK = Palette(
    states={
        "busy": "#8cc4f5",
        "stranded": "#f0673a",
        "headroom": "#d9a347",
        "idle": "#4d4c4a",
        "other": "#9670c4",
        "off": "#292b31",
        "unknown": "#8a8f99",
    },
    below_peak="#3f7db8",
    unassigned="#6b6f78",
    hatch="#8a8f99",
    hatch_ground="#16181d",
    text="#eceef2",
    quiet="#a2a8b4",
    line="#30333b",
    page="#16181d",
    own="#8cc4f5",
    api="#4fd6b8",
    capital="#98a1af",
    energy="#d9a347",
    other_cost="#6f67ad",
    ramp=("#2b4f77", "#3d8fa8", "#86cda6", "#eee9a4"),
)


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
        found[card] = _between(colours.ramp[low], colours.ramp[low + 1], at - low)
    return found


def _between(one: str, other: str, share: float) -> str:
    parts = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (one, other)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*parts, strict=True))


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
