"""One engine as the router sees it: its requests in flight, its prefixes, its speed."""

from collections.abc import Iterator

from router.decision import Asked, Card, Decision, Outcome
from router.prefix_index import PrefixIndex
from router.rates import OUTPUT_PRIOR, Decode, Mean, Prefill
from router.waiting import Flight, Pace, wait_s

SENT_TOKENS = 1 << 22
SLOTS_PRIOR = 1


class LiveCard:
    """Counts and estimates of one engine; nothing here reads a clock."""

    def __init__(
        self, name: str, slots: int | None, index_tokens: int, *, remember_all: bool
    ) -> None:
        """`slots` None: learned from how many were seen to decode at once."""
        self.name = name
        self.slots = slots or SLOTS_PRIOR
        self.slots_known = slots is not None
        self.up = True
        self.index = PrefixIndex(index_tokens)
        self.sent = PrefixIndex(SENT_TOKENS) if remember_all else None
        self.prefill = Prefill()
        self.decode = Decode()
        self.output = Mean(OUTPUT_PRIOR)
        self._flights: dict[int, Flight] = {}
        self._last_new = -1
        self._pending_tokens = 0
        self._prefilling_since_ns = 0
        self._decoding = 0
        self._area = 0.0  # decoding requests × ns
        self._area_at_ns = 0

    @property
    def in_flight(self) -> int:
        """Requests from decision to end."""
        return len(self._flights)

    @property
    def pending_tokens(self) -> int:
        """Uncached tokens of requests that have not come to their first token."""
        return self._pending_tokens

    def seen(self, asked: Asked, now_ns: int) -> Card:
        """This card for one decision."""
        prefix = asked.prefix
        depth = self.index.depth(prefix.keys)
        hit_tokens = prefix.tokens[depth - 1] if depth else 0
        sent_tokens = 0
        if self.sent is not None and (sent := self.sent.depth(prefix.keys)):
            sent_tokens = prefix.tokens[sent - 1]
        estimate_s = self._wait_s(now_ns) + (asked.prompt_tokens - hit_tokens) / self.prefill.per_s
        return Card(
            self.name,
            self.slots,
            len(self._flights),
            self._pending_tokens,
            hit_tokens,
            sent_tokens,
            estimate_s * 1e3,
            self.prefill.per_s,
            self.index.budget_tokens - self.index.tokens,
            self._last_new,
        )

    def reserve(self, decision: Decision) -> None:
        """A request is on its way here."""
        asked = decision.asked
        keys, tokens = asked.prefix.keys, asked.prefix.tokens
        depth = self.index.depth(keys)
        new_tokens = asked.prompt_tokens - decision.hit_tokens
        if self._pending_tokens == 0:
            self._prefilling_since_ns = decision.at_ns
        self._flights[decision.number] = Flight(
            new_tokens=new_tokens,
            output_tokens=min(self.output.value, asked.output_tokens_max or self.output.value),
            started_ns=decision.at_ns,
            streams=asked.streams,
            alone=not self._flights,
            keys_before=depth,
            last_use=self.index.last_use(keys[depth - 1]) if depth else 0,
        )
        self._pending_tokens += new_tokens
        if decision.reason == "cold":
            self._last_new = decision.number
        self.index.use(keys, tokens)
        if self.sent is not None:
            self.sent.use(keys, tokens)

    def first_token(self, number: int, now_ns: int) -> Flight | None:
        """A request has come to its first token; None if it is not here or was there before."""
        flight = self._flights.get(number)
        if flight is None or flight.first_token_ns is not None:
            return None
        self._count_decoding(now_ns, 1)
        flight.first_token_ns = now_ns
        flight.batch_area = self._area
        self._pending_tokens -= flight.new_tokens
        self._prefilling_since_ns = now_ns
        if not self.slots_known:
            self.slots = max(self.slots, self._decoding)
        return flight

    def release(self, decision: Decision, outcome: Outcome, now_ns: int) -> Flight | None:
        """A request is over; None if it is not here. Learns what it told."""
        flight = self._flights.pop(decision.number, None)
        if flight is None:
            return None
        if flight.first_token_ns is None:
            self._pending_tokens -= flight.new_tokens
            self._skip_prefill(flight, decision.number, now_ns)
        else:
            self._count_decoding(now_ns, -1)
            self._learn_decode(flight, outcome, now_ns)
        return flight

    def assume(self, peer: "LiveCard") -> None:
        """A card of the same pool has learned; where this one has not yet, it is taken for equal.

        Else the cards that were never tried would look slow, and would never be tried.
        """
        self.prefill.assume(peer.prefill.per_s)
        self.decode.assume(peer.decode)
        self.output.assume(peer.output.value)

    def restarted(self) -> None:
        """The engine was down: nothing of its cache is taken to be left."""
        self.index.clear()
        if self.sent is not None:
            self.sent.clear()

    def _skip_prefill(self, flight: Flight, number: int, now_ns: int) -> None:
        """A request went without a first token: the time for its prompt is no longer counted."""
        if any(each.first_token_ns is None for each in self._before(number)):
            return
        own_ns = 0 if flight.streams else round(flight.new_tokens / self.prefill.per_s * 1e9)
        own_end_ns = max(self._prefilling_since_ns, flight.started_ns) + own_ns
        self._prefilling_since_ns = now_ns if flight.streams else min(now_ns, own_end_ns)

    def _before(self, number: int) -> Iterator[Flight]:
        return (flight for earlier, flight in self._flights.items() if earlier < number)

    def _learn_decode(self, flight: Flight, outcome: Outcome, now_ns: int) -> None:
        first_ns = flight.first_token_ns
        if outcome.status != "ok" or outcome.output_tokens is None or first_ns is None:
            return
        if not flight.streams:  # its first byte came after its last token
            return
        elapsed_ns = now_ns - first_ns
        if elapsed_ns > 0:
            batch = max(1, round((self._area - flight.batch_area) / elapsed_ns))
            self.decode.learn(outcome.output_tokens - 1, elapsed_ns / 1e9, batch)

    def _count_decoding(self, now_ns: int, change: int) -> None:
        self._area += self._decoding * max(0, now_ns - self._area_at_ns)
        self._area_at_ns = now_ns
        self._decoding += change

    def _wait_s(self, now_ns: int) -> float:
        if not self._pending_tokens and len(self._flights) < self.slots:
            return 0.0
        decode_per_s = self.decode.per_s(min(len(self._flights), self.slots))
        pace = Pace(self.slots, self.prefill.per_s, decode_per_s)
        return wait_s(self._flights, pace, self._prefilling_since_ns, now_ns)
