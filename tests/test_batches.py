"""Several choices and several prompts in one request: what a real llama.cpp counted is booked."""

import asyncio
import json

import pytest
from rig.llama import LlamaServer
from rig.tapped import exchange, request, tapped

PROMPTS = ["one two three four five six seven", "a b c"]
CHAT = {"messages": [{"role": "user", "content": "hello there friend"}], "max_tokens": 5}
WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}
COMPLETIONS = {"prompt": PROMPTS, "max_tokens": 5}
NATIVE = {"prompt": PROMPTS, "n_predict": 5}


def counted(server: LlamaServer) -> tuple[int, int]:
    """(prompt tokens computed, tokens put out) by the server's own count."""
    told = server.metrics()
    names = ("llamacpp:prompt_tokens_total", "llamacpp:tokens_predicted_total")
    return round(told[names[0]]), round(told[names[1]])


async def booked(server: LlamaServer, path: str, body: dict[str, object]):
    async with tapped(server.url) as tap:
        sent = request(
            json.dumps(body).encode(), b"Content-Type: application/json", target=path.encode()
        )
        assert (await exchange(tap.port, sent)).startswith(b"HTTP/1.1 200")
        (event,) = await tap.booked()
    return event


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", COMPLETIONS | WITH_USAGE),
        ("/v1/completions", COMPLETIONS | {"stream": True}),
        ("/completion", NATIVE | {"stream": True}),
        ("/completion", NATIVE | {"stream": True, "timings_per_token": True}),
        ("/completion", NATIVE),
    ],
)
def test_each_prompt_of_a_batch_counts(two_llamas, path, body):
    server = two_llamas[0]
    prompt_before, output_before = counted(server)
    event = asyncio.run(booked(server, path, body))
    prompt_after, output_after = counted(server)
    assert event.input_tokens - event.cache_read_tokens == prompt_after - prompt_before
    assert event.output_tokens == output_after - output_before == 10
    alone = [asyncio.run(booked(server, path, body | {"prompt": each})) for each in PROMPTS]
    assert event.input_tokens == sum(each.input_tokens for each in alone)
    assert event.usage_source == "engine"


@pytest.mark.parametrize(
    "more", [WITH_USAGE, {"stream": True}, {"timings_per_token": True} | WITH_USAGE]
)
def test_choices_of_one_prompt_count_it_once(two_llamas, more):
    server = two_llamas[0]
    alone = asyncio.run(booked(server, "/v1/chat/completions", CHAT))
    _, before = counted(server)
    event = asyncio.run(booked(server, "/v1/chat/completions", CHAT | {"n": 2} | more))
    _, after = counted(server)
    assert event.input_tokens == alone.input_tokens
    assert event.output_tokens == after - before == 10
    assert event.usage_source == "engine"


@pytest.mark.parametrize(
    ("path", "body", "input_known"),
    [("/v1/chat/completions", CHAT | {"n": 2}, True), ("/v1/completions", COMPLETIONS, False)],
)
def test_what_a_whole_answer_leaves_out_is_unknown(two_llamas, path, body, input_known):
    """Its usage is the first choice's."""
    event = asyncio.run(booked(two_llamas[0], path, body))
    assert (event.input_tokens is not None, event.output_tokens) == (input_known, None)
    assert event.usage_source == "engine"
