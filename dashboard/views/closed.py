"""What stands over the pages of a closed month: whether its books are still as they were filed."""

from typing import Any

import streamlit as st

from analytics.wording import local
from collector.closed import DamagedClosing
from collector.invocation import invocation
from collector.settings import Settings
from dashboard import loaders, words
from dashboard.sentences import plain

TOTAL = "cost_nano.total"


def note(settings: Settings, month: str) -> None:
    """Say so where the month is closed; nothing for one that is open."""
    try:
        document = loaders.as_closed(settings, month)
    except DamagedClosing as error:
        st.error(f"This closed month was changed: {plain(str(error))}.")
        return
    except loaders.UNREADABLE:
        return  # the page itself says what cannot be read
    if document is None:
        return
    differs = [each for each in document["restated"] if each["number"] is None]
    if differs:
        st.warning(otherwise(month, document, differs[0]), icon=":material/lock:")
    else:
        st.info(as_filed(month, document), icon=":material/lock:")


def as_filed(month: str, document: dict[str, Any]) -> str:
    """The sentence over a month whose figures are those that were filed."""
    filed = [each["number"] for each in document["restated"]]
    last = f"as in restatement {filed[-1]}" if filed else "as filed then"
    closed_on = local(document["closed"]["at"], document["period"]).date()
    return f"{words.month_name(month)} was closed on {closed_on}; its figures are {last}."


def otherwise(month: str, document: dict[str, Any], now: dict[str, Any]) -> str:
    """The sentence over a month whose books have changed since they were filed."""
    told = {each["figure"]: each for each in now["figures"]}
    rows = sum(now["groups"].values())
    parts = [words.count(len(told), "figure")] if told else []
    if rows:
        parts.append(f"{words.count(rows, 'row')} of its tables")
    changed = " and ".join(parts) or "its books"
    total = ""
    if TOTAL in told:
        old, new = (words.cents(told[TOTAL][each]) for each in ("old", "new"))
        total = f", its cost from {old} to {new} {plain(document['currency'])}"
    whys = [plain(each["what"]) for each in now["why"]]
    why = f" Why: {'; '.join(whys)}." if whys else ""
    command = invocation(loaders.config_path())
    closed_on = local(document["closed"]["at"], document["period"]).date()
    return (
        f"{words.month_name(month)} was closed on {closed_on}. Since it was last filed,"
        f" {changed} changed{total}; this page shows the books as they stand now.{why}"
        f" `{command} report {month}` tells the month as it was closed, and"
        f" `{command} close {month} --restate` files the change."
    )
