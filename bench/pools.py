"""Three engines to choose between: scripted ones, or real llama.cpp servers over a random model."""

import contextlib
import json
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.cards import MODEL
from bench.children import free_address, running

sys.path.append(str(Path(__file__).parent.parent / "tests"))
from rig.llama import LlamaServer, llama_servers, make_model  # the tests' own real engines

ENGINES = 3
SLOTS = 2
SCRIPTED_SPEED = 4.0
# One core computes it about as slowly as a card computes a large model: a prompt of 1,500 tokens
# takes near a second.
WIDTH, LAYERS = 160, 4
CONTEXT_TOKENS = 8192


@dataclass(frozen=True)
class Pool:
    """Engines that answer, until the block ends that started them.

    `kind` is what the settings call them, `model` what they call theirs; `speed`, how many times
    as fast as they claim their clock runs; `answered` asks how many requests each has computed.
    """

    urls: Sequence[str]
    kind: str
    model: str
    speed: float
    answered: Callable[[], list[int]]


@contextlib.contextmanager
def scripted(folder: Path, cache_tokens: int) -> Iterator[Pool]:
    """Engines by script (`bench.cards`), each with room for so many tokens in its cache."""
    addresses = [free_address() for _ in range(ENGINES)]
    urls = [f"http://{address}" for address in addresses]
    command = [sys.executable, "-m", "bench.cards", str(SCRIPTED_SPEED), str(SLOTS)]
    command += [str(cache_tokens), *(address.rpartition(":")[2] for address in addresses)]
    with running(command, f"{urls[0]}/health", folder / "engines.log"):
        yield Pool(urls, "vllm", MODEL, SCRIPTED_SPEED, lambda: [_scripted(url) for url in urls])


@contextlib.contextmanager
def llamas(folder: Path, answer_tokens: int) -> Iterator[Pool]:
    """llama.cpp servers of one thread each, their prompt caches on and empty. They count tokens
    and no requests: each must be for `answer_tokens`, which the model never ends early."""
    model = folder / "random.gguf"
    if not model.exists():
        make_model(model, width=WIDTH, layers=LAYERS)
    with llama_servers(
        ENGINES, folder, model=model, slots=SLOTS, context=CONTEXT_TOKENS
    ) as servers:
        yield Pool(
            [server.url for server in servers],
            "llama_cpp",
            json.loads(servers[0].get("/v1/models"))["data"][0]["id"],
            1.0,
            lambda: [round(_predicted(server) / answer_tokens) for server in servers],
        )


def _scripted(url: str) -> int:
    with urllib.request.urlopen(f"{url}/figures", timeout=5) as answer:  # noqa: S310
        return int(json.load(answer)["requests"])


def _predicted(server: LlamaServer) -> float:
    return server.metrics()["llamacpp:tokens_predicted_total"]
