"""What is known of the prices per million tokens, where cost or tokens are known in part.

Cost that is at least what is said makes a price at least so much, tokens that are at least what is
said make it at most so much. All outputs take a price's bound from here.
"""

from collections.abc import Mapping
from typing import Any

from analytics.bounds import Bound, known, over

Month = Mapping[str, Any]


def price_bounds(month: Month) -> dict[str, dict[str, Any]]:
    """The bounds of a month's `cost_per_mtok`, in its shape; None where there is no price."""
    return {name: _bounds(month, name) for name in month["cost_per_mtok"]}


def bound_of(month: Month, name: str) -> Bound:
    """The bound of a price per million output tokens: `full`, `active` or `marginal`."""
    told = month.get("cost_per_mtok_bound")
    # A month that was closed earlier tells no bounds.
    bound: Bound | None = told[name]["output"] if told else _of_output(month, name)
    return bound or "exactly"


def _bounds(month: Month, name: str) -> dict[str, Any]:
    price, tokens = month["cost_per_mtok"][name], month["tokens"]
    unread = tokens["missing_split_input"]
    kinds: dict[str, Bound] = {
        "new": _untold(month, name, unread),
        # Without its input nobody knows how much of a request's prefill was done before.
        "recomputed": "open" if unread else _cost(month, name),
        "output": _untold(month, name, tokens["missing_split_output"]),
    }
    all_tokens = _untold(month, name, tokens["missing_input"] + tokens["missing_output"])
    return {
        "output": _where(price["output"], _of_output(month, name)),
        "all": _where(price["all"], all_tokens),
        "by_kind": {kind: _where(price["by_kind"][kind], kinds[kind]) for kind in kinds},
    }


def _of_output(month: Month, name: str) -> Bound:
    return _untold(month, name, month["quality"]["missing_output"])


def _untold(month: Month, name: str, requests: int) -> Bound:
    """That of a price over tokens that some requests did not tell."""
    return over(_cost(month, name), known(at_least=requests > 0))


def _cost(month: Month, name: str) -> Bound:
    least = month["marginal_at_least"] if name == "marginal" else month["at_least"]
    return known(at_least=bool(least))


def _where(price: int | None, bound: Bound) -> Bound | None:
    return None if price is None else bound
