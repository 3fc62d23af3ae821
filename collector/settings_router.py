"""The settings of the router: its front door, and the taps."""

from typing import Annotated, Literal

from msgspec import Meta, field

from collector.settings_types import Address, Table, Text, Url, doc, without_user

Policy = Literal[
    "estimated_wait",
    "round_robin",
    "least_requests",
    "longest_prefix",
    "sglang_cache_aware",
    "two_candidates",
    "load_aware",
    "power_of_two",
    "sglang_balance_0",
    "smg_cache_aware",
    "smg_balance_0",
    "lmetric",
]


class RouterSettings(Table, kw_only=True, frozen=True):
    """One front door over all engines, which chooses among their cards."""

    listen: Annotated[
        Address | None, doc("where clients send their requests; without it there is no door")
    ] = None
    token_file: Annotated[
        Text | None, doc("file with the token that clients show; needed off this machine")
    ] = None
    policy: Annotated[Policy, doc("how the engine of a request is chosen")] = "estimated_wait"
    shadow: Annotated[
        Policy | None, doc("a second policy: what it would have chosen is booked, not followed")
    ] = None
    body_mb: Annotated[
        int, Meta(ge=1, le=1024), doc("largest request body that is taken", "MB")
    ] = 64
    plain_labels: Annotated[
        list[Literal["session", "project"]],
        doc("labels that the books show as clients send them; all others as keyed hashes"),
    ] = field(default_factory=list)


class Tap(Table, kw_only=True, frozen=True):
    """One extra port that passes through to one engine and keeps the books; or, as a front tap, to
    another router, for the labels and request ids that routers drop."""

    engine: Annotated[Text | None, doc("name of the engine behind it")] = None
    front: Annotated[
        Url | None, doc("instead of an engine: the router behind it, whose workers have taps")
    ] = None
    listen: Annotated[Address, doc("where clients or a router send their requests")]

    @property
    def behind(self) -> str:
        """The engine's name, or the router's address as it may be shown."""
        return self.engine or without_user(self.front or "")

    @property
    def name(self) -> str:
        """What it is called in sentences."""
        return f"tap of {self.engine}" if self.engine else f"front tap of {self.behind}"
