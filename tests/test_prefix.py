"""Equal keys mean equal prompts up to there, whoever sends them and in whatever shape."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from router.labels import Labels
from router.prefix import CHUNK_CHARS, prefix_of
from router.prefix_chain import ATTACHMENT_TOKENS, KEYS_MAX, MESSAGE_TOKENS

LABELS = Labels(b"s" * 32)
SYSTEM = {"role": "system", "content": "be brief"}
HELLO = {"role": "user", "content": "hello"}
ANSWER = {"role": "assistant", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "ls", "parameters": {"type": "object"}}}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)


def chat(*messages, **fields):
    return prefix_of({"messages": list(messages), **fields}, "chat", LABELS, 0.25)


def test_a_key_is_a_keyed_hash_over_pieces_with_their_lengths():
    def piece(data: bytes) -> bytes:
        return len(data).to_bytes(8, "little") + data

    pieces = b"".join(map(piece, [b"m", b"system", b"be brief"]))
    digest = hashlib.blake2b(pieces, key=b"s" * 32, person=b"prefix", digest_size=12)
    assert chat(SYSTEM, HELLO, model="m").keys[0] == f"k1:{digest.hexdigest()}"


def test_a_conversation_that_goes_on_keeps_its_keys():
    first = chat(SYSTEM, HELLO, tools=[TOOL])
    second = chat(SYSTEM, HELLO, ANSWER, HELLO, tools=[TOOL])
    assert second.keys[: len(first.keys)] == first.keys
    assert second.tokens[: len(first.tokens)] == first.tokens
    assert (len(first.keys), len(second.keys), first.shared) == (3, 5, 2)


def test_tokens_are_bytes_of_text_and_what_stands_around_a_message():
    prefix = prefix_of(
        {"messages": [{"role": "user", "content": "ä" * 50}, ANSWER]}, "chat", LABELS, 0.5
    )
    assert prefix.tokens == (50 + MESSAGE_TOKENS, 51 + 2 * MESSAGE_TOKENS)
    assert (prefix.input_tokens, prefix.shared_tokens) == (59, 0)


@pytest.mark.parametrize(
    "other",
    [
        {"messages": [HELLO, SYSTEM]},
        {"messages": [SYSTEM, {"role": "assistant", "content": "hello"}]},
        {"messages": [SYSTEM, HELLO], "model": "another"},
        {"messages": [SYSTEM, HELLO], "tools": [TOOL]},
        {"messages": [SYSTEM, {**HELLO, "name": "bob"}]},
        {"messages": [{"role": "system", "content": "be briefhello"}, {"role": "user"}]},
        {"messages": [SYSTEM, HELLO], "previous_response_id": "resp_1"},
    ],
)
def test_what_an_engine_would_see_otherwise_has_other_keys(other):
    assert prefix_of(other, "chat", LABELS, 0.25).keys[-1] != chat(SYSTEM, HELLO).keys[-1]


def test_another_installation_has_other_keys():
    body = {"messages": [HELLO]}
    other = Labels(b"t" * 32)
    assert prefix_of(body, "chat", LABELS, 0.25).keys != prefix_of(body, "chat", other, 0.25).keys


def test_marks_that_steer_a_cache_change_nothing():
    marked = {"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}
    assert chat(SYSTEM, {"role": "user", "content": [marked]}) == chat(SYSTEM, HELLO)
    tool = {**TOOL, "cache_control": {"type": "ephemeral"}}
    assert chat(HELLO, tools=[tool]) == chat(HELLO, tools=[TOOL])


def test_each_shape_of_a_system_prompt_is_shared():
    anthropic = chat(HELLO, system=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])
    assert (len(anthropic.keys), anthropic.shared) == (3, 2)
    plain = chat(HELLO, system="be brief")
    assert plain == chat(SYSTEM, HELLO)
    responses = prefix_of({"instructions": "be brief", "input": "hello"}, "chat", LABELS, 0.25)
    assert responses == plain
    late = chat(HELLO, SYSTEM)
    assert late.shared == 0


def test_an_image_counts_as_an_image_not_as_its_bytes():
    part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10**6}}
    other = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "B" * 10**6}}
    one, two = (chat({"role": "user", "content": [each]}) for each in (part, other))
    assert one.tokens == two.tokens == (ATTACHMENT_TOKENS + MESSAGE_TOKENS,)
    assert one.keys != two.keys


def test_an_image_in_a_tools_result_counts_as_one():
    image = {"type": "image", "source": {"type": "base64", "data": "A" * 10**6}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [image]}
    tokens = chat({"role": "user", "content": [result]}).input_tokens
    assert ATTACHMENT_TOKENS < tokens < ATTACHMENT_TOKENS + 50


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "look", "images": ["A" * 10**6]},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [
                {"type": "input_image", "image_url": "data:image/png;base64," + "A" * 10**6}
            ],
        },
        {
            "type": "computer_call_output",
            "call_id": "c1",
            "output": {"type": "computer_screenshot", "image_url": "data:" + "A" * 10**6},
        },
    ],
)
def test_images_elsewhere_count_as_images_too(message):
    assert ATTACHMENT_TOKENS < chat(message).input_tokens < ATTACHMENT_TOKENS + 50


def test_what_stands_around_a_bare_prompt_is_a_part_of_it():
    bare = prefix_of({"prompt": "a"}, "completion", LABELS, 0.25)
    for field in ("system", "suffix", "context"):
        around = prefix_of({"prompt": "a", field: "b"}, "completion", LABELS, 0.25)
        assert around.keys != bare.keys
        assert around.input_tokens > bare.input_tokens


def test_a_bare_prompt_is_cut_into_chunks():
    def prompt(value):
        return prefix_of({"prompt": value}, "completion", LABELS, 0.25)

    short, long = prompt("a" * CHUNK_CHARS), prompt("a" * CHUNK_CHARS + "b")
    assert long.keys[:1] == short.keys
    assert len(long.keys) == 2
    assert prompt(["a" * CHUNK_CHARS]) == short
    assert prompt(list(range(3000))).tokens == (1024, 2048, 3000)
    assert prompt(["a", "b"]).keys == ()
    assert prompt([]).keys == ()


def test_what_is_no_prompt_has_no_prefix():
    assert prefix_of({"input": "hello"}, "embedding", LABELS, 0.25).keys == ()


def test_a_very_long_conversation_keeps_its_head_and_its_end():
    turns = [{"role": "user", "content": str(number)} for number in range(2000)]
    prefix = chat(SYSTEM, *turns)
    assert len(prefix.keys) == len(prefix.tokens) == KEYS_MAX
    assert prefix.keys[0] == chat(SYSTEM).keys[0]
    assert prefix.keys[-2] == chat(SYSTEM, *turns[:-1]).keys[-1]


def test_a_conversation_is_known_by_its_first_message_however_long_it_grows():
    turns = [{"role": "user", "content": str(number)} for number in range(1300)]
    (first,) = {chat(SYSTEM, *turns[:n]).keys[1] for n in (1, 2, 1022, 1023, 1024, 1025, 1300)}
    assert first == chat(SYSTEM, HELLO | {"content": "0"}).keys[1]
    before, after = (chat(SYSTEM, *turns[:n]).keys for n in (1290, 1292))
    assert after[:-2] == before[:2] + before[4:]  # all but the new is known from the turn before


@pytest.mark.parametrize(
    ("heads", "own", "shared"), [(600, 600, 512), (1100, 3, 1021), (1020, 10, 1014), (3, 1100, 3)]
)
def test_of_a_very_long_head_the_first_own_message_is_kept_too(heads, own, shared):
    system = [{"role": "system", "content": f"rule {number}"} for number in range(heads)]
    turns = [{"role": "user", "content": str(number)} for number in range(own)]
    prefix = chat(*system, *turns)
    assert (len(prefix.keys), prefix.shared) == (KEYS_MAX, shared)
    assert prefix.keys[shared] == chat(*system, turns[0]).keys[-1]
    assert list(prefix.tokens) == sorted(set(prefix.tokens))


@given(body=st.dictionaries(st.sampled_from(["messages", "input", "prompt", "tools"]), JSON))
def test_nothing_that_a_client_sends_raises(body):
    for operation in ("chat", "completion", "rerank"):
        prefix = prefix_of(body, operation, LABELS, 0.25)
        assert len(prefix.keys) == len(prefix.tokens)
        assert list(prefix.tokens) == sorted(prefix.tokens)


@given(st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), st.text()), max_size=8))
def test_keys_meet_as_far_as_conversations_do(turns):
    messages = [{"role": role, "content": text} for role, text in turns]
    whole = chat(*messages)
    for length in range(len(messages)):
        assert chat(*messages[:length]).keys == whole.keys[:length]
    assert len(set(whole.keys)) == len(whole.keys)
