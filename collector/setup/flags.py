"""The flags of `rigledger init`; light, because every command's `--help` builds them."""

import argparse
from dataclasses import dataclass, field

KINDS = ("ninfer", "llama_cpp", "vllm", "sglang", "ollama", "openai")
NO_TAP = "none"
_EXAMPLE = "url=http://127.0.0.1:8001,kind=llama_cpp,name=card0,cards=GPU-…,tap=127.0.0.1:9001"


@dataclass
class EngineFlags:
    """One `--engine`: what was said of it; None or empty where nothing was."""

    url: str
    kind: str | None = None
    name: str | None = None
    cards: list[str] = field(default_factory=list)
    tap: str | None = None
    slots: int | None = None
    model: str | None = None


def engine(text: str) -> EngineFlags:
    """Parse `url=…,kind=…,name=…,cards=A+B,tap=…,slots=…,model=…`. Raises ArgumentTypeError."""
    given: dict[str, str] = {}
    for part in text.split(","):
        key, sign, value = part.partition("=")
        if not sign or not value or key in given or key not in EngineFlags.__annotations__:
            raise argparse.ArgumentTypeError(
                f"{part!r} is not understood; write it like {_EXAMPLE}"
            )
        given[key] = value
    if "url" not in given:
        raise argparse.ArgumentTypeError(f"url is missing; write it like {_EXAMPLE}")
    if given.get("kind", KINDS[0]) not in KINDS:
        raise argparse.ArgumentTypeError(f"kind is one of {', '.join(KINDS)}")
    if not given.get("slots", "1").isdecimal():
        raise argparse.ArgumentTypeError("slots is a whole number")
    cards = given.pop("cards", "")
    slots = given.pop("slots", None)
    return EngineFlags(
        cards=cards.split("+") if cards else [], slots=int(slots) if slots else None, **given
    )


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Everything that the questions ask, as flags."""
    rig = parser.add_argument_group("the rig")
    rig.add_argument("--name", help="what the rig is called (default: this host's name)")
    rig.add_argument("--time-zone", metavar="ZONE", help="default: the system's")
    rig.add_argument("--currency", metavar="CODE", help="three letters (default: USD)")
    cost = parser.add_argument_group("what it costs")
    cost.add_argument("--hardware-name", metavar="NAME", help="what was bought")
    cost.add_argument("--price", metavar="AMOUNT", help="what all of it cost")
    cost.add_argument("--in-service", metavar="YYYY-MM-DD", help="since when (default: today)")
    cost.add_argument("--life-years", type=int, metavar="YEARS", help="default: 4")
    cost.add_argument("--price-per-kwh", metavar="AMOUNT", help="electricity")
    cost.add_argument(
        "--host-watts", type=int, metavar="W", help="what no card reports (default: not known)"
    )
    engines = parser.add_argument_group("engines")
    engines.add_argument(
        "--engine",
        type=engine,
        action="append",
        default=[],
        metavar="url=…[,key=value…]",
        help=f"one model copy, repeatable: {_EXAMPLE}; cards=A+B for a split model, tap=none "
        "for no tap; also slots= and model=",
    )
    how = parser.add_argument_group("how")
    how.add_argument(
        "--no-input", action="store_true", help="ask nothing, also on a terminal; take defaults"
    )
    how.add_argument("--force", action="store_true", help="replace a file that is there")
    how.add_argument("--print", action="store_true", help="show what would be written; write none")
    how.add_argument(
        "--systemd",
        action="store_true",
        help="write user units of systemd too (for settings that are there: the units alone)",
    )
