"""What `rigledger prices` takes: its own commands, their flags and their meanings."""

import argparse
import datetime as dt
from collections.abc import Callable, Mapping
from pathlib import Path

Run = Callable[[argparse.Namespace], int]
SHEET = "such as deepseek/deepseek-v4.1-flash"
TOKENS = {
    "input": "input tokens in total, cached and written ones included",
    "output": "output tokens in total, reasoning included",
    "cache-read": "input tokens that come from the provider's cache",
    "cache-write": "input tokens that are written to it",
    "reasoning": "output tokens that are reasoning",
}
PRICES = {
    "input": "price of input",
    "output": "price of output",
    "cache-read": "price of cached input",
    "cache-write": "price of input that is written to the cache",
}


def declare(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Declare every command of `prices` with its flags."""
    _list(actions.add_parser("list", help="every sheet with its prices in force now"))
    _show(actions.add_parser("show", help="a sheet with all that it knows, as TOML"))
    _cost(actions.add_parser("cost", help="what a request costs on a sheet at an instant"))
    _add(actions.add_parser("add", help="a flat sheet of your own, or its new prices"))
    _import(actions.add_parser("import", help="sheets from LiteLLM's or OpenRouter's price lists"))
    _update(actions.add_parser("update", help="fetch the newest price lists of genai-prices"))
    for action in actions.choices.values():
        action.add_argument(
            "--config", type=Path, metavar="FILE", default=argparse.SUPPRESS, help="settings"
        )


def mount(
    actions: "argparse._SubParsersAction[argparse.ArgumentParser]", runs: Mapping[str, Run]
) -> None:
    """Say what each command runs."""
    for name, parser in actions.choices.items():
        parser.set_defaults(run=runs[name])


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")


def _list(parser: argparse.ArgumentParser) -> None:
    parser.description = "Every sheet with its prices in force now, per million tokens."
    words = 'part of a name, or a pattern like "*/qwen*"'
    parser.add_argument("pattern", nargs="?", default="*", metavar="NAME", help=words)
    _json(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    parser.description = "A sheet as TOML, as a sheet of your own may be written."
    parser.add_argument("sheet", metavar="SHEET", help=SHEET)
    _json(parser)


def _cost(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "What a request costs on a sheet at an instant; exit status 1 where the sheet has no price."
    )
    parser.add_argument("sheet", metavar="SHEET", help=SHEET)
    for flag, words in TOKENS.items():
        default = None if flag == "input" else 0
        parser.add_argument(
            f"--{flag}",
            type=_count,
            metavar="N",
            default=default,
            required=default is None,
            help=words,
        )
    words = "when the request comes in, like 2026-11-25T02:00:00Z (default: now)"
    parser.add_argument("--at", type=instant_of, metavar="INSTANT", help=words)
    words = "a term that the sheet knows, such as processing=batch"
    parser.add_argument(
        "--term", type=_term, action="append", default=[], metavar="NAME=VALUE", help=words
    )
    words = "how long what is written is to live, where that has its own price, such as 1h"
    parser.add_argument("--ttl", default="default", metavar="TIME", help=words)
    _json(parser)


def _add(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Write a flat sheet into own.toml of your sheet folder, prices per million tokens. For a "
        "sheet that is there, --from says since when the new prices count; the old ones stay."
    )
    parser.add_argument("sheet", metavar="NAME", help="such as provider/model")
    for flag, words in PRICES.items():
        parser.add_argument(
            f"--{flag}", metavar="PRICE", required=flag in {"input", "output"}, help=words
        )
    parser.add_argument("--currency", default="USD", metavar="CODE", help="default: USD")
    words = "since when these prices count (default: since ever)"
    parser.add_argument("--from", dest="since", type=instant_of, metavar="INSTANT", help=words)


def _import(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Take a public price list into your sheet folder: LiteLLM's "
        "model_prices_and_context_window.json or OpenRouter's /models. Sheets that are there and "
        "cost something else now get a new period; what a sheet cannot say is listed."
    )
    parser.add_argument("kind", choices=("litellm", "openrouter"))
    parser.add_argument("file", type=Path, metavar="FILE")
    words = 'only models of this name or pattern, like "dashscope/*"; may be repeated'
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help=words)
    words = "since when these prices count (default: new sheets since today, changes since now)"
    parser.add_argument("--from", dest="since", type=instant_of, metavar="INSTANT", help=words)


def _update(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Fetch genai-prices' newest price lists into your sheet folder. Nothing else of this "
        "program's prices ever uses the network. What cannot be fetched leaves the old in place."
    )
    parser.add_argument("--url", metavar="URL", help="fetch from here instead")


def instant_of(text: str) -> dt.datetime:
    """An instant with its offset. Raises ArgumentTypeError for any other text."""
    try:
        instant = dt.datetime.fromisoformat(text)
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no instant; write it with its offset, like 2026-11-25T02:00:00Z"
        )
    return instant


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > 2**40:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens")
    return int(text)


def _term(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    if not (name and value):
        raise argparse.ArgumentTypeError(f"{text!r} is no term; write NAME=VALUE")
    return name, value
