"""Wire formats beside OpenAI's chat: Messages, Responses, Ollama, SGLang, vLLM's extras.

The documents have the shapes that the engines' public sources give them.
"""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.formats import anthropic, ndjson, responses, sglang
from collector.formats.answer import Observer
from collector.formats.usage import Usage

SSE = {"Content-Type": "text/event-stream"}
JSON = {"Content-Type": "application/json"}
LINES = {"Content-Type": "application/x-ndjson"}


def named(*documents):
    """A stream of events that bear their type as their name."""
    events = [(each["type"], json.dumps(each)) for each in documents]
    return "".join(f"event: {name}\ndata: {data}\n\n" for name, data in events).encode()


def lines(*documents):
    return b"".join(json.dumps(each).encode() + b"\n" for each in documents)


def read(body, form, headers=SSE, cuts=(), status=200):
    observer = Observer(form=form)
    observer.start(status, headers)
    places = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    for at_ns, (start, end) in enumerate(itertools.pairwise(places)):
        observer.feed(body[start:end], at_ns)
    return observer, observer.finish()


def tokens(usage):
    return (
        usage.input_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.output_tokens,
        usage.reasoning_tokens,
        usage.source,
    )


def delta(**more):
    return {"type": "content_block_delta", "index": 0, "delta": more}


MESSAGE_START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "model": "qwen",
        "usage": {
            "input_tokens": 3,
            "cache_read_input_tokens": 1000,
            "cache_creation_input_tokens": 123,
            "output_tokens": 1,
        },
    },
}
MESSAGES = named(
    MESSAGE_START,
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    delta(type="thinking_delta", thinking="hm"),
    delta(type="text_delta", text="Grüße"),
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn"},
        "usage": {"output_tokens": 7},
    },
    {"type": "message_stop"},
)


@given(st.lists(st.integers(0, len(MESSAGES)), max_size=8))
def test_messages_add_the_cached_and_the_written_part_to_the_prompt(cuts):
    observer, told = read(MESSAGES, "anthropic", cuts=cuts)
    assert tokens(told.usage) == (1126, 1000, 123, 7, None, "engine")
    assert (told.response_id, told.model, told.finish_reason) == ("msg_1", "qwen", "end_turn")
    assert observer.done and not observer.failed


def test_messages_cut_off_count_what_came():
    cut = MESSAGES.index(b"event: message_delta")
    observer, told = read(MESSAGES[:cut], "anthropic", cuts=[MESSAGES.index(b"Gr")])
    assert tokens(told.usage) == (1126, 1000, 123, 2, None, "derived")
    assert told.first_token_ns == 0
    assert not observer.done


def test_messages_of_an_engine_that_does_not_report_its_cache():
    told = anthropic.usage({"input_tokens": 40, "output_tokens": 2})
    assert tokens(told) == (40, None, None, 2, None, "engine")


def test_a_whole_message():
    body = {
        "id": "msg_2",
        "type": "message",
        "model": "qwen",
        "stop_reason": "max_tokens",
        "content": [{"type": "text", "text": "secret"}],
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 0, "output_tokens": 9},
    }
    _, told = read(json.dumps(body).encode(), "anthropic", JSON)
    assert tokens(told.usage) == (5, 0, None, 9, None, "engine")
    assert (told.response_id, told.finish_reason) == ("msg_2", "max_tokens")
    assert "secret" not in repr(told)


def test_an_error_in_a_stream_of_messages():
    observer, _ = read(
        named(MESSAGE_START, {"type": "error", "error": {"type": "overloaded_error"}}), "anthropic"
    )
    assert observer.failed


RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "model": "qwen",
    "status": "completed",
    "usage": {
        "input_tokens": 50,
        "input_tokens_details": {"cached_tokens": 32, "cache_write_tokens": 18},
        "output_tokens": 6,
        "output_tokens_details": {"reasoning_tokens": 4},
        "total_tokens": 56,
    },
}
RESPONSES = named(
    {"type": "response.created", "response": {**RESPONSE, "status": "in_progress", "usage": None}},
    {"type": "response.reasoning_text.delta", "delta": "hm", "item_id": "rs_1"},
    {"type": "response.output_text.delta", "delta": "Hi", "item_id": "msg_1"},
    {"type": "response.output_text.done", "text": "Hi", "item_id": "msg_1"},
    {"type": "response.completed", "response": RESPONSE},
)


@given(st.lists(st.integers(0, len(RESPONSES)), max_size=8))
def test_responses_count_the_cached_part_as_part_of_the_prompt(cuts):
    observer, told = read(RESPONSES, "responses", cuts=cuts)
    assert tokens(told.usage) == (50, 32, 18, 6, 4, "engine")
    assert (told.response_id, told.finish_reason) == ("resp_1", "completed")
    assert told.content_chunks == 2
    assert observer.done


@pytest.mark.parametrize(
    ("told", "chunks"), [("é", 1), ("", 0), (None, 0), ({"text": "a"}, 0), (["a"], 0), (3, 0)]
)
def test_only_a_text_that_a_response_adds_is_a_token(told, chunks):
    for kind, counted in (("response.output_text.delta", chunks), ("response.created", 0)):
        _, found = read(named({"type": kind, "delta": told}), "responses")
        assert (found.content_chunks, found.text_bytes) == (counted, 2 * counted)


def test_a_whole_response_and_one_that_was_cut_short():
    _, told = read(json.dumps(RESPONSE).encode(), "responses", JSON)
    assert tokens(told.usage) == (50, 32, 18, 6, 4, "engine")
    cut = {**RESPONSE, "status": "incomplete", "incomplete_details": {"reason": "max_output"}}
    assert responses.hear(json.dumps(cut).encode()).finish_reason == "max_output"
    failed = {"type": "response.failed", "response": {**RESPONSE, "status": "failed"}}
    assert responses.hear(json.dumps(failed).encode()).failed


OLLAMA = lines(
    {"model": "qwen", "message": {"role": "assistant", "content": "Hi"}, "done": False},
    {"model": "qwen", "message": {"role": "assistant", "content": "!"}, "done": False},
    {
        "model": "qwen",
        "message": {"role": "assistant", "content": ""},
        "done": True,
        "done_reason": "stop",
        "total_duration": 9_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": 30,
        "prompt_eval_cached_count": 20,
        "prompt_eval_duration": 3_000_000,
        "eval_count": 3,
        "eval_duration": 4_000_000,
    },
)


@given(st.lists(st.integers(0, len(OLLAMA)), max_size=8))
def test_ollama_tells_its_figures_in_the_last_line(cuts):
    observer, told = read(OLLAMA, "ollama", LINES, cuts)
    assert tokens(told.usage) == (30, 20, None, 3, None, "engine")
    assert (told.model, told.finish_reason) == ("qwen", "stop")
    assert told.generation_ns == 4_000_000
    assert observer.done
    assert observer.streamed


def test_an_old_ollama_leaves_out_what_was_cached():
    body = {"model": "q", "response": "Hi", "done": True, "eval_count": 2}
    _, told = read(json.dumps(body).encode(), "ollama", JSON)
    assert tokens(told.usage) == (None, None, None, 2, None, "engine")


def test_embeddings_of_ollama_have_no_output():
    body = {"model": "q", "embeddings": [[0.1]], "prompt_eval_count": 8}
    _, told = read(json.dumps(body).encode(), "ollama", JSON)
    assert tokens(told.usage) == (8, None, None, 0, None, "engine")


def test_sglang_generate_is_cumulative():
    def meta(output):
        return {"id": "r1", "prompt_tokens": 9, "completion_tokens": output, "cached_tokens": 8}

    stream = b"".join(
        b"data: " + json.dumps({"text": "x" * n, "meta_info": meta(n)}).encode() + b"\n\n"
        for n in (1, 2, 3)
    )
    _, told = read(stream + b"data: [DONE]\n\n", "sglang")
    assert tokens(told.usage) == (9, 8, None, 3, None, "engine")
    assert told.response_id == "r1"


@pytest.mark.parametrize("odd", [None, [], "x", 3, {}, {"completion_tokens": "8"}])
def test_sglang_without_its_figures_still_tells_its_text(odd):
    heard = sglang.hear(json.dumps({"text": "a", "meta_info": odd}).encode())
    assert heard.token
    assert (heard.usage, heard.finish_reason) == (Usage(), None)


def test_vllm_tells_how_long_a_request_was_queued():
    body = {
        "id": "c1",
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        "metrics": {"queue_time_ms": 1.5, "time_to_first_token_ms": 3, "generation_time_ms": 20.25},
    }
    _, told = read(json.dumps(body).encode(), "openai", JSON)
    assert (told.wait_ns, told.generation_ns) == (1_500_000, 20_250_000)


def test_sglang_tells_its_drafts_beside_the_usage():
    body = {
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
        "sglext": {
            "spec_tokens_details": {"spec_num_proposed_drafts": 8, "spec_num_correct_drafts": 3}
        },
    }
    _, told = read(json.dumps(body).encode(), "openai", JSON)
    assert (told.usage.draft_tokens, told.usage.draft_accepted_tokens) == (8, 3)


@pytest.mark.parametrize("form", ["anthropic", "responses", "ollama", "sglang"])
@given(
    body=st.binary(max_size=200)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "usage",
                        "type",
                        "message",
                        "delta",
                        "response",
                        "meta_info",
                        "id",
                        "input_tokens",
                        "output_tokens",
                        "eval_count",
                        "done",
                        "x",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
        max_leaves=20,
    ).map(lambda told: json.dumps(told).encode())
)
def test_nothing_that_an_engine_says_breaks_the_books(form, body):
    for headers in (JSON, SSE, LINES):
        _, told = read(body, form, headers)
        assert isinstance(told.usage, Usage)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=6))
def test_lines_are_the_same_however_they_are_cut(data, cuts):
    reader = ndjson.Reader()
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    found = [line for a, b in itertools.pairwise(places) for line in reader.feed(data[a:b])]
    assert found + reader.close() == [line for line in data.split(b"\n") if line.strip()]


def test_a_line_that_is_too_long_is_dropped_and_counted():
    reader = ndjson.Reader(limit_bytes=4)
    assert reader.feed(b"12345\n1234\n12") + reader.feed(b"345") + reader.close() == [b"1234"]
    assert reader.skipped == 2


def test_a_limit_of_lines_is_the_same_however_they_are_cut():
    fits, too_long = b"x" * 20, b"y" * 21
    stream = b"\n".join([fits, too_long, b" ", fits, too_long])
    for cut in range(len(stream) + 1):
        reader = ndjson.Reader(limit_bytes=20)
        found = reader.feed(stream[:cut]) + reader.feed(stream[cut:]) + reader.close()
        assert (found, reader.skipped) == ([fits, fits], 2), cut
