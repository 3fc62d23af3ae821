"""How long a request that comes now would wait on a card, from those that are there."""

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

RESIDUAL_SHARE = 0.3  # of a mean answer is still to come where one is longer than the mean


@dataclass(slots=True)
class Flight:
    """A request on this card, from its decision to its end."""

    new_tokens: int
    output_tokens: float
    started_ns: int
    streams: bool
    alone: bool
    keys_before: int
    last_use: int
    first_token_ns: int | None = None
    batch_area: float = 0.0


class Pace(NamedTuple):
    """How fast a card works: requests at once, prompt tokens/s, output tokens/s of each."""

    slots: int
    prefill_per_s: float
    decode_per_s: float


def wait_s(
    flights: Mapping[int, Flight], pace: Pace, prefilling_since_ns: int, now_ns: int
) -> float:
    """Seconds until it would begin to compute; `flights` in the order of their coming.

    With a slot free, what is pending is computed first, one prompt after the other. Else it waits
    for the first slot to become free, after those that wait already.
    """
    done = max(0.0, (now_ns - prefilling_since_ns) / 1e9 * pace.prefill_per_s)
    left = dict(_left_tokens(flights, done))
    if len(flights) < pace.slots:
        return sum(left.values()) / pace.prefill_per_s
    free_at: list[float] = []
    prefilled_s = 0.0
    for place, (number, flight) in enumerate(flights.items()):
        prompt_s = left.get(number, 0.0) / pace.prefill_per_s
        if place >= pace.slots:
            answer_s = flight.output_tokens / pace.decode_per_s
            heapq.heapreplace(free_at, free_at[0] + prompt_s + answer_s)
        elif number in left:
            prefilled_s += prompt_s
            heapq.heappush(free_at, prefilled_s + flight.output_tokens / pace.decode_per_s)
        else:
            heapq.heappush(free_at, _residual_s(flight, pace.decode_per_s, now_ns))
    return free_at[0]


def _left_tokens(flights: Mapping[int, Flight], done: float) -> Iterator[tuple[int, float]]:
    """Prompt tokens still to compute, by request; `done` of them were since the last first token.

    A whole answer shows no first token: such a request counts as prefilled once its time is up.
    """
    for number, flight in flights.items():
        if flight.first_token_ns is None:
            progress = min(done, flight.new_tokens)
            done = 0.0 if flight.streams else done - progress
            yield number, flight.new_tokens - progress


def _residual_s(flight: Flight, decode_per_s: float, now_ns: int) -> float:
    first_ns = flight.first_token_ns or flight.started_ns
    done = max(0, now_ns - first_ns) / 1e9 * decode_per_s
    left = max(flight.output_tokens - done, RESIDUAL_SHARE * flight.output_tokens)
    return left / decode_per_s
