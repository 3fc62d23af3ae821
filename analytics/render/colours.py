"""One colour per state and per kind of amount, for light and dark pages and reports.

The colours differ in lightness first (they stay apart in grey and for colour-blind eyes) and in
hue second. Time without a witness is hatched, so that it never looks like a measured state.
"""

from dataclasses import dataclass


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
