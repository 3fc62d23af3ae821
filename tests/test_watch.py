"""Whatever a client and an engine send, one event comes of it that the collector takes."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from rig.events import read

from collector.settings import EngineSettings
from router.labels import Labels
from router.request_copy import RequestCopy, endpoint
from router.watch import Origin, Watch

ORIGIN = Origin("tap", "desk", None, Labels(b"k" * 32))
ENGINE = EngineSettings(name="card0", url="http://127.0.0.1:1", gpus=["GPU-0"], model="declared")
CHAT = "/v1/chat/completions"
SSE = {"Content-Type": "text/event-stream"}
JSON = {"Content-Type": "application/json"}

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=80), inner),
    max_leaves=8,
)
usage = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": values,
        "completion_tokens": values,
        "total_tokens": values,
        "prompt_tokens_details": values | st.fixed_dictionaries({"cached_tokens": values}),
        "note": values,
    },
)
timings = st.fixed_dictionaries(
    {},
    optional={
        "cache_n": values,
        "prompt_n": values,
        "predicted_n": values,
        "prompt_ms": values,
        "predicted_ms": values,
        "draft_n": values,
    },
)
answers = st.fixed_dictionaries(
    {},
    optional={
        "id": values,
        "model": values,
        "choices": values | st.just([{"delta": {"content": "x"}, "finish_reason": "stop"}]),
        "usage": values | usage,
        "timings": values | timings,
        "error": values,
        "stop": st.booleans(),
        "stop_type": values,
        "tokens_evaluated": values,
        "tokens_predicted": values,
        "prompt_progress": values,
    },
)


def booked(watch, status="ok"):
    """The event as the collector reads it; AssertionError when it refuses it."""
    watch.end(status)
    event = watch.event("e-1", ORIGIN, ENGINE)
    found, rejected = read(b"[" + msgspec.json.encode(event) + b"]")
    assert rejected == []
    assert [each for _, each in found] == [event]
    return event


@given(answers, st.sampled_from([SSE, JSON]), st.sampled_from(["ok", "client_abort", "timeout"]))
def test_any_answer_becomes_an_event_that_is_taken(document, headers, status):
    watch = Watch("POST", CHAT, CIMultiDict(), "r")
    body = json.dumps(document).encode()
    watch.answered(200, headers)
    watch.passed(b"data: " + body + b"\n\n" if headers is SSE else body, 1)
    booked(watch, status)


@given(values, st.text(max_size=400))
def test_any_request_becomes_an_event_that_is_taken(model, word):
    told = word.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")
    headers = CIMultiDict({"X-Session-ID": told, "X-Project": told, "Content-Encoding": told})
    watch = Watch("POST", CHAT, headers, told)
    watch.copy.add(json.dumps({"model": model, "stream": True}).encode())
    watch.copy.read()
    booked(watch, "upstream_error")


@pytest.mark.parametrize("odd", ["x" * 257, "\udcff\udcfe", "a\tb", "é"])
def test_a_request_id_that_the_ledger_cannot_hold_is_told_by_its_hash(odd):
    one, same = (booked(Watch("POST", CHAT, CIMultiDict(), odd)).request_id for _ in range(2))
    assert one == same
    assert one.startswith("k1:")
    plain = booked(Watch("POST", CHAT, CIMultiDict(), "x" * 256)).request_id
    assert plain == "x" * 256
    assert booked(Watch("POST", CHAT, CIMultiDict(), "")).request_id is None


def test_the_first_end_counts():
    watch = Watch("POST", CHAT, CIMultiDict(), "r")
    watch.end("timeout")
    assert booked(watch, "ok").status == "timeout"


def test_a_whole_answer_has_its_first_token_before_its_generation_time():
    watch = Watch("POST", CHAT, CIMultiDict(), "r")
    watch.answered(200, JSON)
    watch.passed(json.dumps({"timings": {"prompt_ms": 1.0, "predicted_ms": 0.001}}).encode(), 1)
    event = booked(watch)
    assert event.ttft_ns == event.duration_ns - 1000


def test_impossible_generation_times_give_no_first_token():
    watch = Watch("POST", CHAT, CIMultiDict(), "r")
    watch.answered(200, JSON)
    watch.passed(json.dumps({"timings": {"prompt_ms": 1.0, "predicted_ms": 1e9}}).encode(), 1)
    assert booked(watch).ttft_ns is None


def test_models_are_named_by_the_answer_then_the_request_then_the_settings():
    def event(asked, answered):
        watch = Watch("POST", CHAT, CIMultiDict(), "r")
        watch.copy.add(json.dumps({"model": asked}).encode())
        watch.copy.read()
        watch.answered(200, JSON)
        watch.passed(json.dumps({"model": answered}).encode(), 1)
        return booked(watch)

    assert event("asked", "told").model == "told"
    assert event("asked", None).model == "asked"
    assert event(None, None).model == "declared"


@pytest.mark.parametrize(
    ("path", "expected", "counted"),
    [
        ("/v1/chat/completions", "chat", True),
        ("/chat/completions?a=1", "chat", True),
        ("/v1/completions/", "completion", True),
        ("/completion", "completion", True),
        ("/v1/embeddings", "embedding", False),
        ("/v1/rerank", "rerank", False),
        ("/v2/rerank", "rerank", False),
        ("/v1/messages", "chat", True),
        ("/v1/responses", "chat", True),
        ("/api/chat", "chat", True),
        ("/api/generate", "completion", True),
        ("/api/embed", "embedding", False),
        ("/v1/messages/count_tokens", None, False),
        ("/v1/models", None, False),
        ("/health", None, False),
        ("/", None, False),
    ],
)
def test_operations_go_by_the_path(path, expected, counted):
    asked = endpoint("POST", path)
    assert (asked.operation, asked.counts_chunks) == (expected, counted)
    assert endpoint("GET", path).operation is None


def test_a_copy_forgets_what_is_too_long_and_what_it_has_read():
    copy = RequestCopy()
    for _ in range(6):
        copy.add(b"x" * 1_000_000)
    assert copy._body is None
    copy = RequestCopy()
    copy.add(b'{"model": "m", "stream": true}')
    copy.read()
    assert (copy.model, copy.stream, copy._body) == ("m", True, None)
