"""The rig itself: the llama.cpp servers are real and keep books that can be checked against."""

import json
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from rig.llama import LlamaServer, llama_servers
from rig.tiny_gguf import syllables, write_model

LONG = "the rig keeps its books. " * 250
COUNTED = {
    "new": "llamacpp:prompt_tokens_total",
    "cached": "llamacpp:prompt_tokens_cached_total",
    "output": "llamacpp:tokens_predicted_total",
}


def counted(server: LlamaServer) -> dict[str, int]:
    told = server.metrics()
    return {name: int(told[metric]) for name, metric in COUNTED.items()}


def grown(server: LlamaServer, before: dict[str, int]) -> dict[str, int]:
    return {name: value - before[name] for name, value in counted(server).items()}


def stream(server: LlamaServer, prompt: str, **options: object) -> urllib.request.Request:
    body = {"messages": [{"role": "user", "content": prompt}], "stream": True} | options
    return urllib.request.Request(
        f"{server.url}/v1/chat/completions",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )


def test_answers_carry_usage_and_timings(two_llamas: list[LlamaServer]) -> None:
    first, second = two_llamas
    assert first.url != second.url
    for server in two_llamas:
        answer = server.chat("how much is a token?", max_tokens=8)
        usage, timings = answer["usage"], answer["timings"]
        assert answer["choices"][0]["finish_reason"] == "length"
        assert usage["completion_tokens"] == timings["predicted_n"] == 8
        assert usage["prompt_tokens"] == timings["prompt_n"] + timings["cache_n"]
        assert timings["predicted_ms"] > 0


def test_metrics_add_up_with_the_answers(two_llamas: list[LlamaServer]) -> None:
    server, other = two_llamas
    before, before_other = counted(server), counted(other)
    usages = [server.chat(LONG, max_tokens=tokens)["usage"] for tokens in (3, 5, 7)]
    cached = [usage["prompt_tokens_details"]["cached_tokens"] for usage in usages]
    prompt = usages[0]["prompt_tokens"]
    assert prompt > 4_000
    assert all(prompt - 16 < hit < prompt for hit in cached[1:])
    assert grown(server, before) == {
        "new": 3 * prompt - sum(cached),
        "cached": sum(cached),
        "output": 15,
    }
    assert grown(other, before_other) == {"new": 0, "cached": 0, "output": 0}


def test_a_stream_ends_with_usage(two_llamas: list[LlamaServer]) -> None:
    options = {"max_tokens": 6, "stream_options": {"include_usage": True}}
    with urllib.request.urlopen(stream(two_llamas[0], "stream", **options), timeout=60) as answer:
        lines = [line.decode().strip() for line in answer if line.strip()]
    assert lines[-1] == "data: [DONE]"
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    text = [chunk["choices"][0]["delta"].get("content") for chunk in chunks if chunk["choices"]]
    assert len([piece for piece in text if piece]) == 6
    assert chunks[-1]["usage"]["completion_tokens"] == 6
    assert chunks[-1]["timings"]["predicted_n"] == 6


def test_only_syllables_are_said(two_llamas: list[LlamaServer]) -> None:
    answer = two_llamas[0].chat("say <s> and </s>", max_tokens=400, temperature=1.5, seed=3)
    assert answer["usage"]["completion_tokens"] == 400
    said = answer["choices"][0]["message"]["content"].replace(" ", "")
    pairs = {said[at : at + 2] for at in range(0, len(said), 2)}
    assert pairs <= set(syllables())


def test_an_answer_can_be_left_in_the_middle(slow_model: Path, tmp_path: Path) -> None:
    with llama_servers(1, tmp_path, model=slow_model) as (server,):
        with urllib.request.urlopen(
            stream(server, "go on", max_tokens=4_000), timeout=60
        ) as answer:
            while b'"content":"' not in answer.readline():
                pass
        while any(slot["is_processing"] for slot in json.loads(server.get("/slots"))):
            time.sleep(0.01)
        assert server.chat("and now?", max_tokens=4)["usage"]["completion_tokens"] == 4
        assert counted(server)["output"] < 4_000
    with pytest.raises(urllib.error.URLError):
        server.get("/health")


def test_a_server_that_does_not_start_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF")
    with (
        pytest.raises(RuntimeError, match="did not start"),
        llama_servers(1, tmp_path, model=broken),
    ):
        pass


def test_the_model_file_depends_on_its_seed_alone(tiny_model: Path, tmp_path: Path) -> None:
    same = write_model(tmp_path / "same.gguf", width=64, layers=2)
    other = write_model(tmp_path / "other.gguf", seed=1)
    assert same.read_bytes() == tiny_model.read_bytes()
    assert other.read_bytes() != same.read_bytes()
