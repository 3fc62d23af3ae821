"""What a page says when there is nothing to show yet, and what to do next."""

import streamlit as st

from analytics.compare import named
from analytics.identities import BrokenIdentity
from collector.manifest import LedgerError
from collector.migrations import SchemaTooNew
from collector.settings import Settings, SettingsError

TAP = """
[[engines]]
name = "card0"
url = "http://127.0.0.1:8001"
gpus = ["GPU-…"]  # its UUID, from `nvidia-smi -L`

[[taps]]
engine = "card0"
listen = "127.0.0.1:9001"
"""

ROUTER = """
[router]
listen = "127.0.0.1:8080"      # clients send their requests here
policy = "estimated_wait"
"""

HARDWARE = """
[[hardware]]
name = "workstation"
price = "17000"
in_service = 2026-10-01
life_years = 4
"""

ELECTRICITY = """
[[electricity]]
from = 2026-10-01
price_per_kwh = "0.20"
"""

PRICES = """
[[compare.prices]]
name = "an API"
input = "0.15"
cache_read = "0.003"
output = "0.60"
"""


SHEETS = """
[compare]
sheets = ["deepseek/deepseek-v4.1-flash", "anthropic/claude-haiku-4-5"]
"""


def no_ledger(settings: Settings) -> None:
    """Nothing was ever collected here."""
    st.subheader("No ledger yet", anchor=False)
    st.markdown(
        f"There is no ledger in `{settings.store_path()}`. Start the collector and leave it "
        "running; this page fills itself. To look around first, try the demo."
    )
    st.code(
        "rigledger up          # collector, taps and these pages\n"
        "rigledger up --demo   # a made-up rig",
        language="bash",
    )


def unreadable(settings: Settings, error: Exception) -> None:
    """The ledger is there and cannot be told: why, and what to do."""
    if isinstance(error, BrokenIdentity):
        st.error(
            f"The books do not add up, so nothing is shown: {error}. This is a defect of "
            "rigledger; please report it with this line."
        )
        return
    if isinstance(error, LedgerError | SchemaTooNew | SettingsError):
        st.error(f"{error}.")
        return
    st.error(
        f"The ledger in {settings.store_path()} cannot be read: {error}. "
        "See that the folder is readable and whole, then reload the page."
    )


def no_requests(period: str, settings: Settings) -> None:
    """The ledger is there, but no request ended in the period."""
    st.subheader(f"No requests in {period}", anchor=False)
    fronts = [tap.listen for tap in settings.taps if tap.front]
    ports = [door] if (door := settings.router.listen) else fronts
    if ports := ports or [tap.listen for tap in settings.taps]:
        doors = ", ".join(f"`http://{port}/v1`" for port in ports)
        st.markdown(f"Point your clients or your router at {doors}: every request is then counted.")
        return
    st.markdown(
        "Requests are counted by taps, one port per engine. Add one to `rigledger.toml`, restart "
        "`rigledger up` and point your clients at its port:"
    )
    st.code(TAP.strip(), language="toml")


def no_router(settings: Settings) -> None:
    """Requests, but no decision: how to get a router that tells its own."""
    st.subheader("No router told its decisions yet", anchor=False)
    if door := settings.router.listen:
        st.markdown(
            f"Point your clients at `http://{door}/v1`: the router then chooses the card of each "
            "request, and its decisions are told here. It runs with `rigledger up`, or alone with "
            "`rigledger route`."
        )
        return
    st.markdown(
        "What another router did is told below as far as the cards show it. To have each decision "
        "on the books, with what was predicted and what came of it, let rigledger choose: add to "
        "`rigledger.toml`, start `rigledger up` (or `rigledger route` alone) and point your "
        "clients at its port:"
    )
    st.code(ROUTER.strip(), language="toml")


def no_sheets() -> None:
    """Nothing to compare with: how to choose price sheets, or write one's own."""
    st.subheader("No API prices to compare with", anchor=False)
    st.markdown(
        "Choose price sheets from those that come along, `rigledger prices list` shows them, and "
        "name them in `rigledger.toml`:"
    )
    st.code(SHEETS.strip(), language="toml")
    st.markdown("Or write the prices down yourself, per million tokens:")
    st.code(PRICES.strip(), language="toml")


def missing_assumptions(settings: Settings) -> None:
    """Prices that nobody has told yet, each with the lines that tell it."""
    told = (
        (settings.hardware, "hardware price", "the rig itself counts as free", HARDWARE),
        (settings.electricity, "electricity price", "energy is not priced", ELECTRICITY),
        (named(settings), "API prices", "there is nothing to compare with", PRICES),
    )
    for given, name, effect, lines in told:
        if not given:
            with st.expander(f"No {name} set: {effect}. Add to rigledger.toml …"):
                st.code(lines.strip(), language="toml")
