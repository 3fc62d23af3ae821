"""llama.cpp's timings and native answers, after answers recorded from its own server."""

import json

import pytest

from collector.formats import llama_cpp
from collector.formats.answer import Observer
from collector.formats.usage import Usage

TIMINGS = {
    "cache_n": 44,
    "prompt_n": 1,
    "prompt_ms": 0.49,
    "prompt_per_token_ms": 0.49,
    "prompt_per_second": 2040.8,
    "predicted_n": 8,
    "predicted_ms": 1.23,
    "predicted_per_token_ms": 0.15375,
    "predicted_per_second": 6504.1,
}
WHOLE = {
    "choices": [
        {
            "finish_reason": "length",
            "index": 0,
            "message": {"role": "assistant", "content": "eight tokens"},
        }
    ],
    "created": 1796000000,
    "model": "tiny.gguf",
    "object": "chat.completion",
    "usage": {
        "completion_tokens": 8,
        "prompt_tokens": 45,
        "total_tokens": 53,
        "prompt_tokens_details": {"cached_tokens": 44},
    },
    "id": "chatcmpl-abc",
    "timings": TIMINGS,
}


def observe(body, content_type, **options):
    observer = Observer(**options)
    observer.start(200, {"Content-Type": content_type})
    observer.feed(body, 1000)
    return observer.finish()


def stream(*documents, done=True):
    lines = [f"data: {json.dumps(each)}\n\n" for each in documents]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def part(delta, finish=None, index=0, **more):
    choice = {"finish_reason": finish, "index": index, "delta": delta}
    return {"choices": [choice], "model": "tiny.gguf", "id": "chatcmpl-abc", **more}


def test_a_whole_answer_tells_usage_and_timings():
    told = observe(json.dumps(WHOLE).encode(), "application/json; charset=utf-8")
    assert told.usage.input_tokens == 45
    assert told.usage.cache_read_tokens == 44
    assert told.usage.output_tokens == 8
    assert told.usage.source == "engine"
    assert told.usage.raw == {"usage": WHOLE["usage"], "timings": TIMINGS}
    assert told.generation_ns == 1_230_000
    assert (told.model, told.finish_reason) == ("tiny.gguf", "length")


def test_a_stream_without_usage_tells_its_timings():
    chunks = [part({"content": "t"}) for _ in range(8)]
    told = observe(
        stream(
            part({"role": "assistant", "content": None}),
            *chunks,
            part({}, "length", timings=TIMINGS),
        ),
        "text/event-stream",
    )
    assert told.usage == Usage(45, 44, None, 8, None, None, None, "engine", {"timings": TIMINGS})
    assert told.content_chunks == 8


def test_the_usage_chunk_and_the_timings_agree():
    told = observe(
        stream(
            part({"content": "t"}),
            part({}, "length", timings=TIMINGS),
            {"choices": [], "id": "chatcmpl-abc", "usage": WHOLE["usage"], "timings": TIMINGS},
        ),
        "text/event-stream",
    )
    assert (told.usage.input_tokens, told.usage.output_tokens) == (45, 8)


def test_the_prompt_is_cached_and_new_tokens_together():
    usage = llama_cpp.timings({"cache_n": 100, "prompt_n": 20, "predicted_n": 3})
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (120, 100, 3)


def test_without_cache_n_the_whole_prompt_is_unknown():
    usage = llama_cpp.timings({"prompt_n": 20, "predicted_n": 3})
    assert usage.input_tokens is None
    assert usage.cache_read_tokens is None
    assert usage.output_tokens == 3


def test_drafts_are_told_only_where_there_are_some():
    assert llama_cpp.timings(TIMINGS).draft_tokens is None
    drafted = llama_cpp.timings(TIMINGS | {"draft_n": 9, "draft_n_accepted": 5})
    assert (drafted.draft_tokens, drafted.draft_accepted_tokens) == (9, 5)


def test_several_choices_share_the_prompt_and_add_their_output():
    told = observe(
        stream(
            part({}, "length", index=0, timings=TIMINGS),
            part({}, "length", index=1, timings=TIMINGS | {"predicted_n": 5}),
        ),
        "text/event-stream",
    )
    assert (told.usage.input_tokens, told.usage.output_tokens) == (45, 13)


def final(index, cache_n, prompt_n, predicted_n):
    """The last chunk of a native choice."""
    told = {"cache_n": cache_n, "prompt_n": prompt_n, "predicted_n": predicted_n}
    counts = {"tokens_evaluated": cache_n + prompt_n, "tokens_predicted": predicted_n}
    return {"index": index, "content": "", "stop": True, **counts, "timings": told}


def usage_chunk(predicted_n):
    """What ends a choice of a chat: it names none."""
    told = {"completion_tokens": predicted_n, "prompt_tokens": 45, "total_tokens": 45 + predicted_n}
    return {"choices": [], "usage": told, "timings": TIMINGS | {"predicted_n": predicted_n}}


def test_each_choice_of_a_chat_ends_with_a_usage_of_its_own():
    token = [part({"content": "t"}, index=index) for index in (0, 1)]
    ended = [part({}, "length", index=index) for index in (0, 1)]
    told = observe(
        stream(token[0], token[1], ended[0], usage_chunk(1), token[1], ended[1], usage_chunk(2)),
        "text/event-stream",
    )
    usage = told.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.output_tokens) == (45, 44, 3)
    assert usage.source == "engine"


def test_a_choice_cut_off_after_another_has_ended_counts_its_chunks():
    told = observe(
        stream(
            part({"content": "t"}, index=0),
            part({"content": "t"}, index=1),
            part({}, "length", index=0),
            usage_chunk(1),
            part({"content": "t"}, index=1),
            done=False,
        ),
        "text/event-stream",
    )
    assert (told.usage.input_tokens, told.usage.output_tokens) == (45, 3)
    assert told.usage.source == "derived"


@pytest.mark.parametrize(
    ("prompts", "input_tokens", "cache_read_tokens"),
    [(2, 30, 6), (1, 7, 6), (None, None, None), (3, None, None)],
)
def test_a_batch_adds_up_its_prompts(prompts, input_tokens, cache_read_tokens):
    observer = Observer()
    observer.prompts = prompts
    observer.start(200, {"Content-Type": "text/event-stream"})
    observer.feed(stream(final(1, 6, 1, 3), final(0, 0, 23, 5), done=False), 1000)
    usage = observer.finish().usage
    assert (usage.input_tokens, usage.cache_read_tokens) == (input_tokens, cache_read_tokens)
    assert usage.output_tokens == 8


@pytest.mark.parametrize(("told", "output_tokens"), [(8, None), (13, 13)])
def test_of_a_whole_answers_choices_the_figures_may_be_the_firsts_alone(told, output_tokens):
    """The usage repeats the first one's 8 tokens, or it has all 13."""
    second = {"finish_reason": "length", "index": 1, "message": {"content": "five"}}
    usage = WHOLE["usage"] | {"completion_tokens": told}
    body = WHOLE | {"choices": [*WHOLE["choices"], second], "usage": usage}
    found = observe(json.dumps(body).encode(), "application/json").usage
    assert (found.input_tokens, found.output_tokens, found.source) == (45, output_tokens, "engine")


def test_timings_on_every_token_let_an_aborted_stream_tell_its_input():
    early = TIMINGS | {"predicted_n": 1}
    told = observe(
        stream(part({"content": "t"}, timings=early), part({"content": "t"}), done=False),
        "text/event-stream",
    )
    assert (told.usage.input_tokens, told.usage.output_tokens) == (45, 2)
    assert told.usage.source == "derived"


def test_prompt_progress_tells_the_input_before_any_token():
    progress = {"total": 900, "cache": 256, "processed": 512, "time_ms": 10}
    told = observe(
        stream({"choices": [], "prompt_progress": progress}, done=False), "text/event-stream"
    )
    assert told.usage.input_tokens == 900
    assert told.usage.cache_read_tokens == 256
    assert (told.usage.output_tokens, told.usage.source) == (0, "derived")


def test_a_native_answer_evaluated_is_the_whole_prompt_and_cached_is_no_reuse():
    body = {
        "content": "text",
        "stop": True,
        "stop_type": "limit",
        "model": "tiny.gguf",
        "tokens_predicted": 8,
        "tokens_evaluated": 45,
        "tokens_cached": 52,
    }
    told = observe(json.dumps(body).encode(), "application/json")
    assert (told.usage.input_tokens, told.usage.output_tokens) == (45, 8)
    assert told.usage.cache_read_tokens is None
    assert told.finish_reason == "limit"


def test_a_native_stream():
    told = observe(
        stream(
            {"content": "a", "stop": False, "tokens_predicted": 1, "tokens_evaluated": 45},
            {"content": "b", "stop": False, "tokens_predicted": 2, "tokens_evaluated": 45},
            {
                "content": "",
                "stop": True,
                "stop_type": "eos",
                "tokens_predicted": 2,
                "tokens_evaluated": 45,
                "timings": TIMINGS | {"predicted_n": 2},
            },
            done=False,
        ),
        "text/event-stream",
    )
    assert (told.usage.input_tokens, told.usage.output_tokens) == (45, 2)
    assert told.usage.cache_read_tokens == 44
    assert told.content_chunks == 2


@pytest.mark.parametrize(
    "told",
    [
        {"predicted_ms": 2.0},
        {"prompt_ms": 1.0},
        {"prompt_ms": 1.0, "predicted_ms": -1.0},
        {"prompt_ms": True, "predicted_ms": 2.0},
        None,
    ],
)
def test_generation_time_needs_both_times(told):
    assert llama_cpp.generation_ns(told) is None
