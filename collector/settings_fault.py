"""What a refusal says of one setting."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """One setting that cannot be used: its path in the file, what is wrong, what to do."""

    path: tuple[str | int, ...]
    what: str
    remedy: str
