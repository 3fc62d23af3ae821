"""`python -m bench.hook_calls URL CALLS`: time the LiteLLM callback's hooks, call by call.

A program of its own that imports nothing but the plugin, so that the Python of a LiteLLM proxy can
run it; prints JSON: the seconds of each call by hook (`log`, `choose`), and those of an empty
hook (`empty`).
"""

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).parent.parent / "router" / "plugins" / "litellm"
EVERY_S = 0.001  # a thousand calls a second
CARDS = ("card0", "card1", "card2")
CONVERSATIONS, MESSAGES, MESSAGE_CHARS = 50, 12, 2_000
WARM = 200


class Empty:
    """A callback that does nothing."""

    async def async_log_success_event(self, *_: Any) -> None:
        """Do nothing."""


def told(number: int) -> dict[str, Any]:
    """A call as LiteLLM logs it."""
    start = 1_795_999_245.5 + number / 100
    return {
        "id": f"chatcmpl-{number}",
        "litellm_call_id": f"call-{number}",
        "call_type": "acompletion",
        "stream": True,
        "status": "success",
        "startTime": start,
        "completionStartTime": start + 0.1,
        "endTime": start + 2.0,
        "metadata": {
            "user_api_key_hash": "88dc28d0f030c55ed4ab77ed8faf098196cb1c05",
            "usage_object": {
                "prompt_tokens": 4500,
                "completion_tokens": 300,
                "prompt_tokens_details": {"cached_tokens": 4000},
            },
        },
        "model_group": "m",
        "model_id": CARDS[number % 3],
        "api_base": "http://127.0.0.1:8000/v1",
        "hidden_params": {"additional_headers": {"llm_provider-x-request-id": f"eng-{number}"}},
    }


def messages(number: int) -> list[dict[str, str]]:
    """A conversation that grows by two messages a turn, with its system prompt."""
    whose, turn = number % CONVERSATIONS, number // CONVERSATIONS % (MESSAGES // 2)
    said = [{"role": "system", "content": "s" * MESSAGE_CHARS}]
    for place in range(2 * turn + 1):
        text = f"{whose} {place} " + "w" * MESSAGE_CHARS
        said.append({"role": ("user", "assistant")[place % 2], "content": text})
    return said


async def timed(
    count: int, asked: Callable[[int], tuple[Any, ...]], hook: Callable[..., Awaitable[Any]]
) -> list[float]:
    """Seconds of each call of a hook with what is asked of it, paced."""
    seconds = []
    for number in range(WARM + count):
        await asyncio.sleep(EVERY_S)
        given = asked(number)
        start = time.perf_counter()
        await hook(*given)
        seconds.append(time.perf_counter() - start)
    return seconds[WARM:]


async def measure(url: str, count: int) -> dict[str, list[float]]:
    """The hooks one after the other, the sender's thread at work beside them."""
    sys.path.insert(0, str(PLUGIN))
    from rigledger_litellm import Handler  # noqa: PLC0415

    handler = Handler({"RIGLEDGER_URL": url, "RIGLEDGER_ROUTE": "1"})
    deployments = [{"model_info": {"id": card}} for card in CARDS]

    def logged(number: int) -> tuple[Any, ...]:
        return {"standard_logging_object": told(number)}, None, None, None

    def routed(number: int) -> tuple[Any, ...]:
        call = {"litellm_call_id": f"call-{number}"}
        return "m", deployments, messages(number), call

    return {
        "empty": await timed(count, logged, Empty().async_log_success_event),
        "choose": await timed(count, routed, handler.async_filter_deployments),
        "log": await timed(count, logged, handler.async_log_success_event),
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(sys.argv[1], int(sys.argv[2])))))
