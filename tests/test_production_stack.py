"""The production-stack callback: what it tells, and that the router never feels it."""

import json
import sys
from pathlib import Path

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st
from rig.collecting import collecting, rows, until
from rig.events import read
from rig.llama import LlamaServer
from rig.production_stack import PLUGIN, routed
from rig.receiver import Receiver
from starlette.requests import Request

sys.path.insert(0, str(PLUGIN))
from rigledger_production_stack import Handler, books

LITELLM = PLUGIN.parent / "litellm"
USAGE = {
    "prompt_tokens": 45,
    "completion_tokens": 3,
    "total_tokens": 48,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
# As vLLM answers.
WHOLE = {
    "id": "chatcmpl-7",
    "object": "chat.completion",
    "model": "tiny",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": 'a secret: "usage": {"prompt_tokens": 9}'},
            "finish_reason": "stop",
        }
    ],
    "usage": USAGE,
    "prompt_logprobs": None,
}
SETTINGS = '[rig]\nname = "desk"\n[collector]\nlisten = "127.0.0.1:0"\n'
CALLBACKS = "rigledger_production_stack.handler"


def request(path: str = "/v1/chat/completions", headers: dict[str, str] | None = None) -> Request:
    told = [(name.encode(), value.encode()) for name, value in (headers or {}).items()]
    return Request(
        {
            "type": "http", "method": "POST", "scheme": "http", "server": ("router", 80),
            "path": path, "query_string": b"", "headers": told,
        }
    )  # fmt: skip


def called(content: bytes, path: str = "/v1/chat/completions", asked: object = None) -> list[dict]:
    """What the sender is handed for a call."""
    handler, taken = Handler({}), []
    handler.sender.put = taken.append
    call = request(path, {"x-request-id": "mine"})
    assert handler.pre_request(call, b"", asked) is None
    handler.post_request(call, bytearray(content))
    assert handler.sender.dropped == 0
    return taken


def attempt(content: bytes, path: str = "/v1/chat/completions", asked: object = None):
    """The event of a call, as the collector's own contract reads it."""
    (call,) = called(content, path, asked)
    assert "secret" not in repr(call)
    events, rejected = read(json.dumps([books.event(call, "desk")]).encode())
    assert not rejected
    return events[0][1]


def stream(*events: object, end: bytes = b"data: [DONE]\n\n") -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events) + end


def chunk(**more: object) -> dict:
    return {"id": "chatcmpl-9", "object": "chat.completion.chunk", "model": "tiny", **more}


def delta(text: str, finish: str | None = None) -> dict:
    return chunk(choices=[{"index": 0, "delta": {"content": text}, "finish_reason": finish}])


def tokens(told) -> tuple:
    return told.input_tokens, told.cache_read_tokens, told.output_tokens, told.reasoning_tokens


def test_a_whole_answer_tells_its_tokens_and_no_engine_and_no_first_token():
    told = attempt(json.dumps(WHOLE).encode())
    assert (told.rig, told.source, told.engine) == ("desk", books.SOURCE, books.ENGINE)
    assert (told.gpus, told.ttft_ns) == ([], None)
    assert (told.request_id, told.response_id) == ("mine", "chatcmpl-7")
    assert (told.model, told.operation, told.finish_reason) == ("tiny", "chat", "stop")
    assert (told.status, told.http_status, told.usage_source) == ("ok", None, "engine")
    assert tokens(told) == (45, 40, 3, 2)
    assert told.duration_ns >= 0


def test_a_stream_tells_its_tokens_at_its_end():
    long = [delta("a secret " * 20) for _ in range(400)]  # far more than is looked at
    told = attempt(stream(*long, delta("", "stop"), chunk(choices=[], usage=USAGE)))
    assert tokens(told) == (45, 40, 3, 2)
    assert (told.response_id, told.status, told.finish_reason) == ("chatcmpl-9", "ok", "stop")


def test_a_stream_without_usage_is_an_answer_of_unknown_tokens():
    told = attempt(stream(delta("a"), delta("b", "length")))
    assert tokens(told) == (None, None, None, None)
    assert (told.status, told.usage_source, told.finish_reason) == ("ok", "missing", "length")


def test_a_stream_that_was_cut_has_failed():
    told = attempt(stream(delta("a"), delta("b"), end=b'data: {"id": "chat'))
    assert (told.status, told.response_id) == ("upstream_error", "chatcmpl-9")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b'{"object": "error", "message": "a secret", "type": "NotFoundError", "code": 404}', 404),
        (b'{"error": {"message": "a secret", "type": "x", "code": 503}}', 503),
        (b'{"error": "a secret"}', None),
        (b'{"detail": "Not Found"}', None),
        (stream({"error": {"message": "a secret", "code": 500}}), 500),
        (stream(delta("a"), {"error": {"message": "a secret", "code": "odd"}}), None),
        (b"Internal Server Error", None),
        (b'{"id": "chatcmpl-7", "choices": [', None),
        (b": ping\n\n", None),
        (b"", None),
    ],
)
def test_what_is_no_answer_has_failed(body: bytes, code: int | None):
    told = attempt(body, asked={"model": "asked"})
    assert (told.status, told.http_status) == ("upstream_error", code)
    assert told.usage_source == "missing"
    assert told.model in ("asked", "tiny")


def test_responses_and_messages_tell_their_tokens_too():
    usage = {
        "input_tokens": 45,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 3,
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    response = {"id": "resp_1", "object": "response", "model": "tiny", "usage": usage}
    for body in (
        json.dumps(response).encode(),
        stream(
            {"type": "response.created", "response": {**response, "usage": None}},
            {"type": "response.completed", "response": response},
            end=b"",
        ),
    ):
        told = attempt(body, "/v1/responses")
        assert tokens(told) == (45, 40, 3, 2)
        assert (told.status, told.response_id, told.operation) == ("ok", "resp_1", "chat")
    begun = {"input_tokens": 5, "cache_read_input_tokens": 40, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "model": "tiny", "usage": begun}
    ends = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    said = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "a secret"}}
    events = stream(
        {"type": "message_start", "message": message},
        *[said] * 20,
        {**ends, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
        end=b"",
    )
    told = attempt(b"event: message_start\n" + events, "/v1/messages")
    assert tokens(told) == (45, 40, 3, None)
    assert (told.status, told.response_id, told.finish_reason) == ("ok", "msg_1", "end_turn")


@pytest.mark.parametrize(("chars", "told_usage"), [(40_000, "engine"), (400_000, "missing")])
def test_a_stream_may_end_in_a_long_event(chars: int, told_usage: str):
    """Responses tell all that they answered once more at their end."""
    response = {"id": "resp_1", "output": "x" * chars, "usage": {"input_tokens": 45}}
    told = attempt(
        stream(
            {
                "type": "response.created",
                "response": {"id": "resp_1", "instructions": "x" * 40_000},
            },
            {"type": "response.output_text.delta", "delta": "x"},
            {"type": "response.completed", "response": response},
            end=b"",
        ),
        "/v1/responses",
    )
    assert (told.status, told.response_id, told.usage_source) == ("ok", "resp_1", told_usage)


def test_of_a_long_answer_only_the_end_is_read():
    data = [{"index": n, "embedding": [0.25] * 1000} for n in range(80)]
    usage = {"prompt_tokens": 45, "total_tokens": 45, "completion_tokens": 0}
    document = {"id": "embd-1", "object": "list", "data": data, "model": "tiny", "usage": usage}
    told = attempt(json.dumps(document).encode(), "/v1/embeddings", {"model": "asked"})
    assert tokens(told) == (45, None, 0, None)
    assert (told.status, told.operation, told.model) == ("ok", "embedding", "asked")
    document["usage"] = {"inside": usage}
    inside = {"data": data, "more": {"usage": usage}}  # of a part, not of the answer
    for other in (document, inside):
        told = attempt(json.dumps(other).encode(), "/v1/embeddings")
        assert (told.usage_source, told.status) == ("missing", "ok")


@pytest.mark.parametrize("path", ["/tokenize", "/v1/audio/transcriptions"])
def test_what_asks_for_no_tokens_is_no_attempt(path: str):
    assert called(b'{"tokens": [1]}', path) == []


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "model", "usage", "choices", "response", "message", "error", "code", "type",
                 "delta", "finish_reason", "input_tokens", "prompt_tokens_details"]
            ) | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.binary(max_size=300) | JSON.map(json.dumps).map(str.encode) | JSON.map(stream))
def test_whatever_is_answered_is_an_event_that_is_taken(content: bytes):
    attempt(content.replace(b"secret", b""))


def test_a_hook_that_fails_is_counted_and_nothing_more():
    handler = Handler({})
    handler.pre_request(object(), b"", None)
    handler.post_request(object(), b"")
    handler.post_request(request(), b"")  # nobody noted its coming
    assert handler.sender.dropped == 2


def test_it_sends_as_the_litellm_callback_does():
    """Two distributions that need nothing, not even each other: each has the sender whole."""
    one = PLUGIN / "rigledger_production_stack" / "sender.py"
    assert one.read_text() == (LITELLM / "rigledger_litellm" / "sender.py").read_text()


def ask(url: str, number: int, stream: bool) -> bytes:
    body = {
        "model": "tiny",
        "messages": [{"role": "user", "content": f"question {number % 2}"}],
        "max_tokens": 3 + number,
        "stream": stream,
    }
    if stream:
        body["stream_options"] = {"include_usage": True}
    headers = {"X-Request-ID": f"call-{number}"}
    with requests.post(
        f"{url}/v1/chat/completions", json=body, headers=headers, timeout=60
    ) as reply:
        assert reply.status_code == 200, reply.text
        return reply.content


def usage_of(body: bytes) -> dict:
    """Read as plainly as can be."""
    if body.startswith(b"{"):
        return json.loads(body)["usage"]
    lines = [line for line in body.decode().split("\n") if '"usage":{' in line]
    return json.loads(lines[-1].removeprefix("data: "))["usage"]


def test_every_call_of_a_router_is_in_a_real_ledger(tmp_path: Path, two_llamas: list[LlamaServer]):
    with collecting(tmp_path, SETTINGS, {}) as collector:
        environment = {"RIGLEDGER_URL": collector, "RIGLEDGER_RIG": "desk"}
        with routed(tmp_path, two_llamas[0].url, environment, CALLBACKS) as url:
            seen = [usage_of(ask(url, number, number % 2 == 0)) for number in range(6)]
            bad = requests.post(f"{url}/v1/chat/completions", json={"model": "tiny"}, timeout=60)
            assert bad.status_code >= 400
            until(lambda: len(rows(tmp_path, "attempt")) == 7)
        found = rows(tmp_path, "attempt")
    told = {row["request_id"]: row for row in found}
    assert told.keys() == {None, *(f"call-{number}" for number in range(6))}
    assert (told[None]["status"], told[None]["input_tokens"]) == ("upstream_error", None)
    for number, usage in enumerate(seen):
        row = told[f"call-{number}"]
        assert (row["status"], row["finish_reason"]) == ("ok", "length")
        assert (row["engine"], row["gpus"], row["ttft_ns"]) == (books.ENGINE, [], None)
        assert row["output_tokens"] == 3 + number == usage["completion_tokens"]
        assert row["input_tokens"] == usage["prompt_tokens"]
        assert row["cache_read_tokens"] == usage["prompt_tokens_details"]["cached_tokens"]


# Handlers whose thread hangs, or whose queue is flooded with what cannot be sent.
FAULTY = """
import time
from rigledger_production_stack import Handler
class Flooding(Handler):
    def post_request(self, request, response_content):
        for _ in range(20000):
            self.sender.put({"x": object(), "y": "z" * 1000})
blocking, flooding = Handler(), Flooding()
blocking.sender._post = lambda *_: time.sleep(1e6)
"""


@pytest.mark.parametrize(
    ("callbacks", "state"),
    [
        (CALLBACKS, "hung"),
        (CALLBACKS, "gone"),
        ("faulty.blocking", "gone"),
        ("faulty.flooding", "gone"),
    ],
)
def test_a_router_answers_and_ends_whatever_the_collector_does(
    tmp_path: Path, two_llamas: list[LlamaServer], callbacks: str, state: str
):
    (tmp_path / "faulty.py").write_text(FAULTY)
    with Receiver() as receiver:
        receiver.mode = "hang"
        environment = {"RIGLEDGER_URL": receiver.url if state == "hung" else "http://127.0.0.1:9"}
        with routed(tmp_path, two_llamas[0].url, environment, callbacks) as url:
            for number in range(4):
                assert usage_of(ask(url, number, number % 2 == 0))["completion_tokens"]
