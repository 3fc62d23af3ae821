"""Routing: is the router helping. What is at stake first, then who got what, and why it cost."""

from typing import Any

import polars as pl
import streamlit as st

from analytics.overview import Overview
from analytics.render import table
from analytics.routing import NONE
from collector.settings import Settings
from dashboard import decision_charts, loaders, routing_charts, sentences, words
from dashboard import routing_meanings as meanings
from dashboard import routing_sentences as said
from dashboard.meanings import CSV
from dashboard.palette import Palette, of_cards, palette
from dashboard.views import empty, episodes, legend, live
from dashboard.views.kept import kept
from dashboard.views.places import four_places


def show(told: Overview, _trend: list[dict[str, Any]], settings: Settings) -> None:
    """Draw the page."""
    month, colours = told.month, palette(st.context.theme.type == "dark")
    if not month["tokens"]["requests"]:
        st.caption(f"Is the router helping? · {sentences.period(month)}{live.mark(month)}")
        empty.no_requests(sentences.period(month), settings)
        return
    names = _names(month, settings)
    answer(month)
    shares(month, names, colours)
    if month["routing"]["decisions"]:
        hits(month["routing"], colours)
        regret(month["routing"], colours)
    else:
        empty.no_router(settings)
    causes(month, names, colours)
    episodes.show(month, names, settings, colours)
    if month["routing"]["decisions"]:
        policies(month["routing"])
    st.download_button(
        "Every figure as CSV",
        lambda: table.as_table({"routing": month["routing"], "currency": month["currency"]}),
        file_name=f"routing-{month['period']['name']}.csv",
        mime="text/csv",
        on_click="ignore",
        help=CSV,
    )


def _names(month: dict[str, Any], settings: Settings) -> dict[str, str]:
    """The cards in the rig's order, and what stands for none of them."""
    cards = [card["name"] for card in month["groups"]["card"]]
    names = loaders.card_names(settings, sorted(cards))
    return {**names, NONE: routing_charts.NOWHERE}


def answer(month: dict[str, Any]) -> None:
    """What another choice of card might have saved, and how the decisions went."""
    told, currency = month["routing"], month["currency"]
    with st.container(key="answer", gap="small"):
        st.caption(f"Is the router helping? · {sentences.period(month)}{live.mark(month)}")
        least = ", at least" if told["at_stake"]["misrouted_nano"] is None else ""
        st.metric(
            f"{currency} another card might have saved{least}",
            said.at_stake(month),
            help=meanings.AT_STAKE,
        )
        st.markdown(said.answer(month))
    if not told["decisions"]:
        return
    found, later, shadow = told["hits"], told["regret"], told["shadow"]
    figures = [
        ("decisions", words.count(told["decisions"]), meanings.DECISIONS),
        ("of predicted hits found", _share(found, "actual_hit_tokens", "hit_tokens"),
         meanings.FOUND),
        ("might have been quicker", _share(later, "regretted", "decisions"), meanings.REGRETTED),
    ]  # fmt: skip
    if shadow and len(shadow) == 1:
        name = sentences.plain(shadow[0]["shadow_policy"])
        agreed = _share(shadow[0], "agreed", "decisions")
        figures.append((f"same as {name}", agreed, meanings.AGREED))
    for place, (label, figure, meaning) in zip(four_places(), figures, strict=False):
        place.metric(label, figure, help=meaning)


def _share(told: dict[str, Any] | None, part: str, whole: str) -> str:
    return words.share(told[part] / told[whole] if told and told[whole] else None)


def shares(month: dict[str, Any], names: dict[str, str], colours: Palette) -> None:
    """Each day's requests by card."""
    told = month["routing"]
    st.subheader("Who got the requests", anchor=False, help=meanings.SHARES)
    st.markdown(said.shares(told, names))
    st.vega_lite_chart(
        kept(routing_charts.shares)(told["by_day"], names, month["period"]["name"], colours),
        theme=None,
        key="shares",
        alt="Share of each card in the requests of each day",
    )
    shades = of_cards([card for card in names if card != NONE], colours)
    counts = {each["name"]: each for each in told["requests_by_card"]}
    items = [
        (
            shades.get(card, legend.hatch(colours)),
            sentences.plain(name),
            f"{words.count(counts[card]['requests'], 'request')}, "
            f"{words.share(counts[card]['share'])}",
        )
        for card, name in names.items()
        if card in counts
    ]
    st.html(legend.items(items, colours))


def hits(told: dict[str, Any], colours: Palette) -> None:
    """What was predicted to be cached, and what was."""
    st.subheader("Hits, predicted and found", anchor=False, help=meanings.HITS)
    st.markdown(said.hits(told))
    if told["hits"] is not None:
        st.vega_lite_chart(
            kept(decision_charts.hits)(told["hits"]["pairs"], colours),
            theme=None,
            key="hits",
            alt="Decisions by the hit predicted and the hit reported, around the diagonal",
        )


def regret(told: dict[str, Any], colours: Palette) -> None:
    """Whether another card might have been quicker, and what a second policy says."""
    st.subheader("Might another card have been quicker?", anchor=False, help=meanings.REGRET)
    st.markdown(said.regret(told))
    if told["regret"] is not None:
        st.vega_lite_chart(
            kept(decision_charts.regrets)(told["regret"]["bins"], colours),
            theme=None,
            key="regrets",
            alt="Decisions by how much later than estimated elsewhere their first token came",
        )
    for line in said.shadows(told):
        st.markdown(line)


def causes(month: dict[str, Any], names: dict[str, str], colours: Palette) -> None:
    """Why prompts were computed and what that cost, in all and by card."""
    misses, currency = month["routing"]["misses"], month["currency"]
    st.subheader("Why prompts were computed", anchor=False, help=meanings.CAUSES)
    st.markdown(said.causes(month))
    if misses is None:
        return
    st.vega_lite_chart(
        kept(routing_charts.causes)(misses["causes"], currency, colours),
        theme=None,
        key="causes",
        alt="Cost of computing prompts by why they were not read from a cache",
    )
    rows = routing_charts.cause_rows(misses["causes"])
    columns: dict[str, Any] = {"why": [row["label"] for row in rows]}
    for figure, unit in (("tokens", 1), ("requests", 1), ("ns", words.HOUR_NS)):
        columns[figure] = [misses["causes"][row["cause"]][figure] / unit for row in rows]
    number = st.column_config.NumberColumn
    config: dict[str, Any] = {
        "why": st.column_config.TextColumn("why computed"),
        "tokens": number("tokens", format="%,d"),
        "requests": number("requests", format="%,d"),
        "ns": number("card time, h", format="%,.3f"),
    }
    for card in misses["by_card"]:
        own = [card["causes"][row["cause"]] for row in rows]
        costs = [None if sums is None else sums["cost_nano"] / words.NANO for sums in own]
        columns[card["name"]] = pl.Series(costs, dtype=pl.Float64)
        name = names.get(card["name"], card["name"])
        config[card["name"]] = number(f"{name}, {currency}", format="%,.4f")
    st.dataframe(
        pl.DataFrame(columns), hide_index=True, column_config=config, placeholder=words.UNKNOWN
    )


def policies(told: dict[str, Any]) -> None:
    """Every policy's reasons with what came of them."""
    st.subheader("By reason", anchor=False, help=meanings.POLICIES)
    st.markdown(
        "What each policy decided and why: the tokens it believed to be cached, those that were, "
        "and how often another card might have been quicker."
    )
    rows = [
        {"policy": policy["name"], "reason": reason["name"], **reason}
        for policy in told["by_policy"]
        for reason in policy["by_reason"]
    ]
    figures = {
        "decisions": ("decisions", meanings.DECISIONS),
        "hit_tokens": ("predicted, tokens", meanings.PREDICTED),
        "actual_hit_tokens": ("found, tokens", meanings.REPORTED),
        "hits_estimated": ("hits only estimated", meanings.ESTIMATED),
        "regretted": ("might have been quicker", meanings.REGRETTED),
    }
    if not told["estimated"]["hits"]:
        figures.pop("hits_estimated")
    number = st.column_config.NumberColumn
    st.dataframe(
        pl.DataFrame(
            [{name: row[name] for name in ("policy", "reason", *figures)} for row in rows]
        ),
        hide_index=True,
        column_config={
            name: number(title, format="%,d", help=meaning)
            for name, (title, meaning) in figures.items()
        },
        placeholder=words.UNKNOWN,
    )


page = live.page(show)
