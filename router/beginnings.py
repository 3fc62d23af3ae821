"""Which tools and system prompts several conversations begin with, as what follows them tells."""

from collections import OrderedDict

from router.prefix import Prefix

KEPT = 4096
SEVERAL = ""  # no key is empty


class Beginnings:
    """The prefixes of tools and system prompts, least recently met first.

    Some clients put all of a task into its system prompt. One that a single conversation has begun
    with so far is that conversation's own, and no other card needs it.
    """

    def __init__(self) -> None:
        """None met yet."""
        self._then: OrderedDict[str, str] = OrderedDict()  # the one key that followed, or SEVERAL

    def meet(self, prefix: Prefix) -> int:
        """Take in a prompt; returns how many of its first keys, of `shared` at most, more than one
        conversation has gone on from."""
        common = 0
        then = self._then
        for place, key in enumerate(prefix.keys[: prefix.shared]):
            if place + 1 < len(prefix.keys):
                follows = prefix.keys[place + 1]
                if then.setdefault(key, follows) != follows:
                    then[key] = SEVERAL
                then.move_to_end(key)
            if then.get(key) == SEVERAL:
                common = place + 1
        while len(then) > KEPT:
            then.popitem(last=False)
        return common
