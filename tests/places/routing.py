"""Where the figures of the routing page come from."""

import datetime as dt
from fractions import Fraction
from math import log2

from places.common import NAMES, NANO, Rows, Told, day_name
from rig.units import count, places_for, printed, share, short, span
from rig.walk import LAYOUT, Place

CAUSES = {"misrouted": "computed on another card", "new": "new"}


def shares(month: Told) -> Rows:
    """Each day's requests by card, upon each other as shares of the day."""
    rows = []
    for each in month["routing"]["by_day"]:
        every, day, at = sum(each["requests"].values()), int(each["name"][-2:]), 0
        for card, name in NAMES.items():
            number = each["requests"][card]
            rows.append(
                {"key": card, "card": name, "start": day - 0.45, "end": day + 0.45,
                 "low": at / every, "high": (at + number) / every, "requests": number,
                 "when": day_name(each["name"]), "share": share(number / every)}
            )  # fmt: skip
            at += number
    return rows


def hits(month: Told) -> Rows:
    """Decisions at the means of what they predicted and what was reported, and the diagonal."""
    rows: Rows = []
    for each in month["routing"]["hits"]["pairs"]:
        predicted, actual = (
            each[figure] / each["decisions"] for figure in ("hit_tokens", "actual_hit_tokens")
        )
        side = "as predicted" if predicted == actual else "less" if actual < predicted else "more"
        rows.append(
            {"decisions": each["decisions"], "predicted": predicted, "actual": actual, "side": side}
        )
    most = 1.08 * max(max(row["predicted"], row["actual"]) for row in rows)
    return [*rows, *({"predicted": end, "actual": end} for end in (0, most))]


def regrets(month: Told) -> Rows:
    """Decisions by powers of two of the milliseconds, on their side of zero."""
    rows = []
    for each in month["routing"]["regret"]["bins"]:
        ms = each["from_ms"]
        at = log2(abs(ms)) + 1
        side, sign = ("later", 1) if ms > 0 else ("sooner", -1)
        span_of = f"{abs(ms)} ms to {abs(2 * ms) if abs(ms) < 500 else 1} "
        text = span_of + ("ms" if abs(ms) < 500 else "s") + f" {side}"
        rows.append(
            {"start": sign * at - 0.44, "end": sign * at + 0.44, "decisions": each["decisions"],
             "side": side, "text": text}
        )  # fmt: skip
    return rows


def causes(month: Told) -> Rows:
    """What computing prompts cost by why, as printed beside their sum."""
    told = month["missed"]
    amounts = [each["cost_nano"] for each in told]
    texts = printed(amounts, places_for(sum(amounts)))
    return [
        {"cause": each["cause"], "label": each["why"], "cost": each["cost_nano"] / NANO,
         "text": text, "tokens": count(each["tokens"]), "requests": count(each["requests"]),
         "time": span(each["ns"])}
        for each, text in zip(told, texts, strict=True)
    ]  # fmt: skip


def gantt(month: Told) -> Rows:
    """The attempts of the ledger around the episode, cut at its window, in seconds since it began;
    and where the other card stood by."""
    (episode,) = month["routing"]["herding"]["episodes"]
    began, ended = (
        round(dt.datetime.fromisoformat(episode[end]).timestamp()) * NANO for end in ("from", "to")
    )
    first, last = began - 5 * NANO, ended + 5 * NANO
    rows: Rows = [{"from": -5, "to": (last - began) / NANO}]
    stood = {"name": "on-B", "time": span(ended - began)}
    rows.append(stood | {"from": 0, "to": (ended - began) / NANO})
    for each in month["attempts"]:
        start = each["received_at_ns"]
        end = start + each["duration_ns"]
        computes = start + (each["wait_ns"] or 0)
        phases = {"waiting": (start, computes), "computing, first token untold": (computes, end)}
        for phase, (low, high) in phases.items():
            cut = (min(max(at, first), last) for at in (low, high))
            left, right = ((at - began) / NANO for at in cut)
            if left < right:
                who = each["session"] or each["event_id"]
                row = {"phase": phase, "who": who, "time": short(high - low)}
                rows.append(row | {"from": left, "to": right})
    return rows


def misses(month: Told) -> Rows:
    """Causes with any token, dearest first, and what each cost on either card."""
    told = month["routing"]["misses"]
    cards = {each["name"]: each["causes"] for each in told["by_card"]}
    rows = [
        {"cause": cause, "why": why, **told["causes"][cause]}
        | {card: own[cause]["cost_nano"] for card, own in cards.items()}
        for cause, why in CAUSES.items()
    ]
    kept = {cause for cause, sums in told["causes"].items() if sums["tokens"]}
    assert kept == set(CAUSES)
    return sorted(rows, key=lambda row: -row["cost_nano"])


def again(month: Told) -> Fraction:
    """The part of what computing prompts cost that had been computed before."""
    told = month["routing"]["misses"]["causes"]
    before = sum(told[cause]["cost_nano"] for cause in ("misrouted", "evicted", "rewritten"))
    return Fraction(before, sum(each["cost_nano"] for each in told.values()))


PLACE = Place(
    metrics={
        "USD another card might have saved": "{routing.at_stake.nano:headline}",
        "decisions": "{routing.decisions:count}",
        "of predicted hits found": "{found_share:share}",
        "might have been quicker": "{regretted_share:share}",
        "same as {routing.shadow.0.shadow_policy}": "{agreed_share:share}",
    }.items(),
    sentences=[
        "Is the router helping? · October 2026",
        "At most that, {stake_share:share} of all cost: {routing.at_stake.herding_nano:amount} "
        "while cards stood by beside a queue, {routing.at_stake.misrouted_nano:amount} for prompts "
        "that another card had computed. No verdict: to wait for a warm card, or to send on "
        "to a free one, can be right.",
        "on-A got most, **{routing.requests_by_card.0.share:share}** of the requests, on-B least, "
        "{routing.requests_by_card.1.share:share}. Each day's requests by the card that they ended "
        "on:",
        "{routing.requests_by_card.0.requests:count} requests, "
        "{routing.requests_by_card.0.share:share}",
        "{routing.requests_by_card.1.requests:count} requests, "
        "{routing.requests_by_card.1.share:share}",
        "{routing.hits.decisions:count} decisions told both: predicted were "
        "{routing.hits.hit_tokens:count} tokens, found {routing.hits.actual_hit_tokens:count}, "
        "**{found_share:share}** of them. On the dashed line a hit was as predicted, below it less "
        "was found; the larger a circle, the more decisions. Left out: "
        "{routing.estimated.hits:count} decision whose engine reported no hit, so that it was only "
        "estimated.",
        "In **{routing.regret.regretted:count}** of {routing.regret.decisions:count} decisions "
        "({regretted_share:share}) the first token came later than another card was estimated to "
        "need, by {regret_mean_ms:tenths} s on average; the others, in grey, did not. Left out: "
        "{routing.estimated.regret:count} decision with an estimated hit.",
        "In the shadow, {routing.shadow.0.shadow_policy} would have chosen as "
        "{routing.shadow.0.policy} did in **{agreed_share:share}** of "
        "{routing.shadow.0.decisions:count} decisions. Estimated time to the first token, on "
        "average: {chosen_mean_ms:hundredths} s as chosen, {shadow_mean_ms:hundredths} s in the "
        "shadow.",
        "Computing prompts cost {missed_nano:amount} USD; **{again_share:share}** of it, in blue, "
        "for what had been computed before or for histories that were rewritten.",
        "**1 time** requests waited {routing.herding.threshold_ns:span} or longer while a card of "
        "their pool stood by: **{routing.herding.cost_nano:amount} USD** for the cards that stood "
        "by. There was no shorter one.",
        "**{last_day_name}, {episode_second}, for {episode_ns:span}: {episode.requests:count} "
        "request waited on on-A while on-B stood by.**",
        "[All requests of that day](requests?month=2026-10&day={last_day.name})",
    ],
    tables=[
        ("missed", {
            "why": "{why}", "tokens": "{tokens}", "requests": "{requests}", "ns": "{ns:as_hours}",
            "A": "{A:units}", "B": "{B:units}",
        }),
        ("routing.herding.episodes", {
            "day": "Sat 31 Oct", "from": "{episode_second}", "lasted": "{episode_ns:span}",
            "waited": "{requests}", "queued on": "on-{queued.0}", "stood by": "on-{stood_by.0}",
            "cost": "{cost_nano:units}",
        }),
        ("reasons", {
            "policy": "{policy}", "reason": "{name}", "decisions": "{decisions}",
            "hit_tokens": "{hit_tokens}", "actual_hit_tokens": "{actual_hit_tokens}",
            "hits_estimated": "{hits_estimated}", "regretted": "{regretted}",
        }),
    ],
    charts={
        "Share of each card in the requests of each day": shares,
        "Decisions by the hit predicted and the hit reported, around the diagonal": hits,
        "Decisions by how much later than estimated elsewhere their first token came": regrets,
        "Cost of computing prompts by why they were not read from a cache": causes,
        "Requests on each card of the pool over the seconds of the episode": gantt,
    },
    layout=(*LAYOUT, "top"),
)  # fmt: skip
