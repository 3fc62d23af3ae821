"""OpenAI's wire format: usage, names, the first token, and streams that end early."""

import itertools
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.formats import openai
from collector.formats.answer import Observer
from collector.formats.usage import Usage, name, numbers

SSE_HEADERS = {"Content-Type": "text/event-stream; charset=utf-8"}
JSON_HEADERS = {"Content-Type": "application/json"}


def sse(*documents, done=True):
    lines = [b"data: " + json.dumps(each).encode() + b"\n\n" for each in documents]
    return b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


def chunk(delta, finish=None, **more):
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "chatcmpl-9", "model": "qwen", "choices": choices, **more}


def read(stream, cuts=(), headers=SSE_HEADERS, status=200, **options):
    observer = Observer(**options)
    observer.start(status, headers)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    for at_ns, (start, end) in enumerate(itertools.pairwise(places)):
        observer.feed(stream[start:end], at_ns)
    return observer, observer.finish()


USAGE = {
    "prompt_tokens": 45,
    "completion_tokens": 8,
    "total_tokens": 53,
    "prompt_tokens_details": {"cached_tokens": 44},
    "completion_tokens_details": {"reasoning_tokens": 3},
}
STREAM = sse(
    chunk({"role": "assistant", "content": None}),
    chunk({"reasoning_content": "hm"}),
    chunk({"content": "Grüße 😀"}),
    chunk({"content": "!"}),
    chunk({}, "stop"),
    {"id": "chatcmpl-9", "model": "qwen", "choices": [], "usage": USAGE},
)


def test_usage_with_all_its_details():
    usage = openai.usage(USAGE)
    assert usage == Usage(45, 44, None, 8, 3, None, None, "engine", {"usage": USAGE})


@pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}])
def test_missing_details_are_unknown_not_zero(details):
    usage = openai.usage(
        {"prompt_tokens": 10, "completion_tokens": 0, "prompt_tokens_details": details}
    )
    assert (usage.input_tokens, usage.output_tokens) == (10, 0)
    assert usage.cache_read_tokens is None
    assert usage.reasoning_tokens is None


def test_zero_cached_tokens_are_known_to_be_zero():
    told = {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 0}}
    assert openai.usage(told).cache_read_tokens == 0


def test_sglang_puts_reasoning_tokens_at_the_top():
    assert openai.usage({"completion_tokens": 5, "reasoning_tokens": 4}).reasoning_tokens == 4


def test_embeddings_emit_nothing_when_total_says_so():
    assert openai.usage({"prompt_tokens": 6, "total_tokens": 6}).output_tokens == 0
    assert openai.usage({"prompt_tokens": 6}).output_tokens is None


@pytest.mark.parametrize("bad", [None, 3, "x", [], {}, {"prompt_tokens": "4"}])
def test_what_is_no_usage_is_missing(bad):
    assert openai.usage(bad).source == "missing"


@pytest.mark.parametrize("bad", [-1, True, 1.5, "8", 2**40 + 1, 2**63, None])
def test_impossible_counts_are_unknown_and_stay_in_raw(bad):
    usage = openai.usage({"prompt_tokens": bad, "completion_tokens": 8})
    assert usage.input_tokens is None
    assert usage.output_tokens == 8
    if isinstance(bad, int) and bad < 2**63:
        assert usage.raw["usage"]["prompt_tokens"] == bad


def test_raw_keeps_numbers_and_drops_texts():
    told = {"a": 1, "b": "secret", "c": {"d": 2.5, "e": "secret"}, "f": [1, "secret"], "g": None}
    assert numbers(told) == {"a": 1, "c": {"d": 2.5}, "f": [1], "g": None}
    assert numbers({"x": float("inf"), "k" * 65: 1, "y": True}) == {"y": True}
    assert len(numbers({str(i): i for i in range(1000)})) == 256


def test_a_whole_stream():
    observer, told = read(STREAM)
    assert told.usage == Usage(45, 44, None, 8, 3, None, None, "engine", {"usage": USAGE})
    assert (told.response_id, told.model, told.finish_reason) == ("chatcmpl-9", "qwen", "stop")
    assert told.content_chunks == 3
    assert observer.done
    assert not observer.failed


@given(st.lists(st.integers(0, len(STREAM)), max_size=40))
def test_any_cutting_of_a_stream_tells_the_same(cuts):
    _, told = read(STREAM, cuts)
    _, whole = read(STREAM)
    assert told.usage == whole.usage
    assert told.content_chunks == 3
    assert (told.response_id, told.finish_reason) == ("chatcmpl-9", "stop")


def test_the_first_token_is_the_first_delta_that_holds_something():
    role = sse(chunk({"role": "assistant", "content": ""}), done=False)
    text = sse(chunk({"content": "a"}), done=False)
    observer = Observer()
    observer.start(200, SSE_HEADERS)
    observer.feed(b": waiting\n\n" + role, 100)
    observer.feed(text[:-1], 200)
    assert not observer.has_begun
    observer.feed(text[-1:], 300)
    assert observer.has_begun
    observer.feed(text, 400)
    assert observer.finish().first_token_ns == 300


def within(told, levels):
    """An object that lies `levels` deep in others."""
    return {"message": within(told, levels - 1)} if levels else told


def emitted(*choices):
    return openai.emitted_bytes(openai.read(json.dumps({"choices": choices}).encode()))


@pytest.mark.parametrize(
    ("delta", "text_bytes"),
    [
        ({"reasoning": "rr"}, 2),
        ({"reasoning_content": "rr", "reasoning": "rr"}, 2),
        ({"reasoning_content": "", "reasoning": "ü"}, 2),
        ({"tool_calls": [{"index": 0}]}, 0),
        ({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, 3),
        ({"function_call": {"name": "f", "arguments": ""}}, 1),
        ({"refusal": "no"}, 2),
        ({"content": "ab", "name": "cde"}, 2),
        ({"content": "ab", "message": within({"content": "cde"}, 3)}, 5),
        ({"content": "ab", "message": within({"content": "cde"}, 30)}, 2),
    ],
)
def test_reasoning_and_tool_calls_are_tokens_too(delta, text_bytes):
    assert emitted({"delta": delta}) == text_bytes


@pytest.mark.parametrize("delta", [{}, None, {"role": "assistant"}, {"content": ""}, "x"])
def test_empty_deltas_are_no_tokens(delta):
    assert emitted({"delta": delta, "text": ""}) is None


@pytest.mark.parametrize("odd", [3, True, ["ab"], {"text": "ab"}])
def test_a_text_that_is_none_is_no_token(odd):
    assert emitted({"text": odd}) is None
    assert openai.emitted_bytes(openai.read(json.dumps({"content": odd}).encode())) is None


@pytest.mark.parametrize(
    ("told", "index"), [(2, 2), (0, 0), (None, 0), (-1, 0), (True, 0), ("1", 0), (1.5, 0)]
)
def test_a_choice_without_a_number_is_the_first(told, index):
    assert openai.index(openai.read(json.dumps({"choices": [{"index": told}]}).encode())) == index
    assert openai.index(openai.read(json.dumps({"index": told}).encode())) == index


def test_of_very_many_choices_all_chunks_count_and_few_are_kept_apart():
    stream = sse(*({"choices": [{"index": at, "text": "a"}]} for at in range(1000)))
    observer = Observer()
    observer.start(200, SSE_HEADERS)
    observer.feed(stream, 1)
    assert len(observer._uncounted) <= 128
    assert observer.finish().usage.output_tokens == 1000


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("qwen", "qwen"),
        ("größer", "größer"),
        ("a\0b", "a?b"),
        ("a\udcffb", "a?b"),  # a byte that was no UTF-8
        ("é" * 300, "é" * 256),
        ("", None),
        (None, None),
        (3, None),
        (["qwen"], None),
    ],
)
def test_a_name_is_what_the_ledger_can_hold(told, kept):
    assert name(told) == kept


def test_the_first_name_that_is_told_stays():
    nameless = {"choices": []}
    stream = sse(nameless, chunk({}, model="", id=3), chunk({}), chunk({}, model="other", id="x"))
    told = read(stream)[1]
    assert (told.response_id, told.model) == ("chatcmpl-9", "qwen")


def test_a_chunk_of_several_choices_is_a_token_if_one_of_them_speaks():
    silent = {"delta": {"role": "assistant"}}
    assert emitted(silent, {"delta": {"content": "ab"}}, {"text": "é"}, silent) == 4
    assert emitted(silent, silent) is None


def test_completions_stream_text():
    stream = sse({"choices": [{"index": 0, "text": "a"}]}, {"choices": [{"text": "b"}]})
    assert read(stream)[1].content_chunks == 2


def test_an_aborted_stream_counts_its_chunks_and_knows_no_input():
    end = STREAM.index(b"!") + 5
    _, told = read(STREAM[:end])
    assert told.usage == Usage(output_tokens=2, source="derived")


def test_usage_on_every_chunk_is_cumulative_the_last_one_counts():
    def with_usage(text, emitted):
        told = {"prompt_tokens": 7, "completion_tokens": emitted}
        return chunk({"content": text}, usage=told)

    _, told = read(sse(with_usage("a", 1), with_usage("b", 2), with_usage("c", 4)))
    assert (told.usage.input_tokens, told.usage.output_tokens) == (7, 4)
    assert told.usage.source == "engine"


def test_chunks_after_the_last_usage_are_added_and_called_derived():
    told = {"prompt_tokens": 7, "completion_tokens": 4}
    stream = sse(chunk({"content": "a"}, usage=told), chunk({"content": "b"}), done=False)
    usage = read(stream)[1].usage
    assert (usage.input_tokens, usage.output_tokens, usage.source) == (7, 5, "derived")


def test_a_whole_answer():
    body = json.dumps(
        {
            "id": "chatcmpl-1",
            "model": "tiny.gguf",
            "choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "length"}],
            "usage": USAGE,
        }
    ).encode()
    for cut in range(0, len(body), 7):
        _, told = read(body, [cut], JSON_HEADERS)
        assert told.usage.output_tokens == 8
        assert told.first_token_ns is None
        assert (told.response_id, told.finish_reason) == ("chatcmpl-1", "length")


def test_a_body_too_long_to_keep_is_read_at_its_end():
    text = 'a"usage":{"prompt_tokens":1}' * 500_000
    body = json.dumps({"choices": [{"message": {"content": text}}], "usage": USAGE}).encode()
    body = body.replace(b'"usage": {', b'"usage":{')
    assert len(body) > 9_000_000
    observer, told = read(body, range(0, len(body), 65_536), JSON_HEADERS)
    assert told.usage.input_tokens == 45
    assert observer._body is None


def test_half_a_body_is_missing():
    _, told = read(b'{"choices": [], "usa', [], JSON_HEADERS)
    assert told.usage == Usage()
    assert told.unreadable == 1


@pytest.mark.parametrize(("coding", "wbits"), [("gzip", 31), ("deflate", 15)])
def test_packed_streams_are_read_from_a_copy(coding, wbits):
    packer = zlib.compressobj(wbits=wbits)
    packed = packer.compress(STREAM) + packer.flush()
    headers = SSE_HEADERS | {"Content-Encoding": coding}
    for cuts in ([], range(len(packed))):
        assert read(packed, cuts, headers)[1].usage.output_tokens == 8


@pytest.mark.parametrize("coding", ["br", "zstd"])
def test_an_unknown_coding_is_missing_and_not_zero(coding):
    observer, told = read(b"\x00\x01", [], SSE_HEADERS | {"Content-Encoding": coding})
    assert told.usage == Usage()
    assert observer.has_begun  # no first token can be waited for


def test_damaged_packing_is_missing():
    observer, told = read(b"not gzip at all", [], SSE_HEADERS | {"Content-Encoding": "gzip"})
    assert told.usage == Usage()
    assert observer.has_begun


def test_an_error_inside_a_stream_is_a_failure():
    observer, _ = read(sse(chunk({"content": "a"}), {"error": {"message": "x"}}, done=False))
    assert observer.failed


def test_two_documents_in_one_event_are_both_read():
    one, two = chunk({"content": "a"}), chunk({"content": "b"})
    stream = f"data: {json.dumps(one)}\ndata: {json.dumps(two)}\n\n".encode()
    assert read(stream)[1].content_chunks == 2


def test_streams_of_another_shape_are_missing():
    _, told = read(sse({"type": "message_start"}), counts_chunks=False)
    assert told.usage == Usage()


@given(st.binary(max_size=400), st.sampled_from([SSE_HEADERS, JSON_HEADERS]))
def test_noise_never_raises(noise, headers):
    read(noise, [len(noise) // 2], headers)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
fields = st.sampled_from(
    ["id", "model", "choices", "usage", "timings", "prompt_progress", "stop", "tokens_evaluated"]
)


@given(st.dictionaries(fields, json_values))
def test_fields_of_any_type_never_raise_and_never_leave_text_in_raw(document):
    _, told = read(sse(document))
    for value in (told.usage.input_tokens, told.usage.output_tokens):
        assert value is None or value >= 0
    if told.usage.raw:
        assert '"' not in json.dumps(list(_leaves(told.usage.raw)))


def _leaves(value):
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value
