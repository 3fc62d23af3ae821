"""Work for simulated cards: branches that share a system prompt, and agents that branch.

What is asked depends on the seed alone, never on when it is answered: each branch has a source of
chance of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from router.prefix import Prefix


@dataclass
class Turn:
    """A request, its answer's length, and what its end leads to: later turns with their times."""

    prefix: Prefix
    answer: str
    output_tokens: int
    then: Callable[[float], "list[Start]"]


Start = tuple[float, Turn]


@dataclass
class Talk:
    """A conversation as it grows."""

    keys: tuple[str, ...]
    tokens: tuple[int, ...]

    def say(self, key: str, tokens: int) -> "Talk":
        """The same with one more message."""
        return Talk((*self.keys, key), (*self.tokens, self.tokens[-1] + tokens))


def burst(
    rng: Random, *, branches: int = 12, turns: int = 3, gap_s: float = 0.4, system: int = 5000
) -> list[Start]:
    """Branches that share a system prompt, one every `gap_s`, each of so many turns."""
    talk = Talk(("system",), (system,))
    return [(place * gap_s, _turns(talk, turns, _own(rng), 1)) for place in range(branches)]


def rounds(rng: Random, *, talks: int = 6, turns: int = 12, gap_s: float = 8.0) -> list[Start]:
    """Conversations that share a system prompt and take turns, one request at a time."""
    saying = [(Talk(("system",), (5000,)), _own(rng)) for _ in range(talks)]
    starts = list[Start]()
    for _ in range(turns):
        for place, (before, own) in enumerate(saying):
            asked, talk, turn = _turn(before, own, (500, 3000), (80, 500))
            saying[place] = (talk, own)
            starts.append((len(starts) * gap_s, Turn(asked, *turn, lambda _: [])))
    return starts


def apart(rng: Random, *, talks: int = 12, turns: int = 8, gap_s: float = 4.0) -> list[Start]:
    """Conversations that have nothing in common, one every `gap_s`: each puts its whole task into
    a system prompt, and speaks after it in so many turns."""
    return [(place * gap_s, _task(f"task {place}", turns, _own(rng))) for place in range(talks)]


def _task(key: str, turns: int, rng: Random) -> Turn:
    talk = Talk((key,), (rng.randint(3000, 20_000),))
    answer, output_tokens = f"answer {rng.getrandbits(64)}", rng.randint(80, 500)
    goes_on = talk.say(answer, output_tokens)

    def then(end_s: float) -> list[Start]:
        return [(end_s + rng.uniform(0.3, 4.0), _turns(goes_on, turns, rng, 1))]

    return Turn(Prefix(talk.keys, talk.tokens, 1), answer, output_tokens, then)


def trees(rng: Random, *, tasks: int, every_s: float, size: int = 1) -> list[Start]:
    """Agents: a root, then 3 to 6 branches of it with 2 to 5 turns each; tasks come at random.

    `size` multiplies all that is said to them.
    """
    at_s, starts = 0.0, list[Start]()
    for _ in range(tasks):
        at_s += rng.expovariate(1 / every_s)
        starts.append((at_s, _root(_own(rng), size)))
    return starts


def _root(rng: Random, size: int) -> Turn:
    root = Talk(("system",), (12_000,))
    asked, talk, turn = _turn(root, rng, (500 * size, 4000 * size), (100, 600))
    branches = [(rng.randint(2, 5), _own(rng)) for _ in range(rng.randint(3, 6))]

    def then(end_s: float) -> list[Start]:
        return [
            (end_s + own.uniform(0.1, 1.0), _turns(talk, turns, own, size))
            for turns, own in branches
        ]

    return Turn(asked, *turn, then)


def _turns(before: Talk, left: int, rng: Random, size: int) -> Turn:
    asked, talk, turn = _turn(before, rng, (200 * size, 2500 * size), (80, 500))

    def then(end_s: float) -> list[Start]:
        if left == 1:
            return []
        return [(end_s + rng.uniform(0.3, 4.0), _turns(talk, left - 1, rng, size))]

    return Turn(asked, *turn, then)


def _turn(
    talk: Talk, rng: Random, said: tuple[int, int], answered: tuple[int, int]
) -> tuple[Prefix, Talk, tuple[str, int]]:
    """One more question and its answer: what is asked, the talk after it, key and length."""
    talk = talk.say(f"question {rng.getrandbits(64)}", rng.randint(*said))
    answer, output_tokens = f"answer {rng.getrandbits(64)}", rng.randint(*answered)
    asked = Prefix(talk.keys, talk.tokens, 1)
    return asked, talk.say(answer, output_tokens), (answer, output_tokens)


def _own(rng: Random) -> Random:
    return Random(rng.getrandbits(64))  # noqa: S311
