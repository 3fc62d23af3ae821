"""The LiteLLM callback: what it tells, what it chooses, and that the proxy never feels it."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rig.collecting import until
from rig.events import read
from rig.litellm_proxy import PLUGIN, PROXY, proxied
from rig.receiver import Receiver
from rig.upstream import Upstream, answer, stream_head

sys.path.insert(0, str(PLUGIN))
from rigledger_litellm import Handler, books, choice, sender
from rigledger_litellm.choice import Chooser

needs_proxy = pytest.mark.skipif(
    not PROXY.exists(), reason="no LiteLLM: `make litellm` installs it"
)
ODD = (
    st.none()
    | st.integers()
    | st.text()
    | st.floats()
    | st.lists(st.none())
    | st.dictionaries(st.text(), st.none())
)
# As LiteLLM 1.108 logs a stream over an engine that tells its usage, less what is never looked at.
TOLD = {
    "id": "chatcmpl-7",
    "litellm_call_id": "6c963ca4",
    "call_type": "acompletion",
    "cache_hit": False,
    "stream": True,
    "status": "success",
    "startTime": 1795999245.671660,
    "endTime": 1795999245.846071,
    "completionStartTime": 1795999245.788898,
    "response_time": 0.11723804473876953,
    "metadata": {
        "user_api_key_hash": "88dc28d0f030c55ed4ab77ed8faf098196cb1c05",
        "usage_object": {
            "completion_tokens": 3,
            "prompt_tokens": 45,
            "completion_tokens_details": {"reasoning_tokens": 0},
            "prompt_tokens_details": {"cached_tokens": 40},
        },
    },
    "prompt_tokens": 45,
    "completion_tokens": 3,
    "api_base": "http://127.0.0.1:9911/v1",
    "model_group": "tiny",
    "model_id": "card1",
    "messages": [{"role": "user", "content": "a secret"}],
    "response": {"choices": [{"message": {"content": "a secret"}}]},
    "hidden_params": {"additional_headers": {"llm_provider-x-request-id": "eng-1"}},
}


def accepted(event):
    """The event as the collector's own contract reads it."""
    events, rejected = read(json.dumps([event]).encode())
    assert not rejected
    return events[0][1]


def test_a_stream_tells_card_tokens_cached_part_and_first_token():
    attempt = accepted(books.event(TOLD, "desk"))
    assert (attempt.engine, attempt.model, attempt.rig) == ("card1", "tiny", "desk")
    assert (attempt.input_tokens, attempt.cache_read_tokens, attempt.output_tokens) == (45, 40, 3)
    assert (attempt.request_id, attempt.response_id) == ("eng-1", "chatcmpl-7")
    assert attempt.ttft_ns == pytest.approx(117_238_045, abs=1000)
    # `response_time` is the first token's; the call took longer.
    assert attempt.duration_ns == pytest.approx(174_411_058, abs=1000)
    assert attempt.key.startswith("k1:")
    assert "88dc" not in attempt.key
    assert "secret" not in repr(attempt)


def test_a_whole_answer_has_no_first_token_and_a_failure_no_tokens():
    whole = {**TOLD, "stream": None, "completionStartTime": TOLD["endTime"]}
    assert accepted(books.event(whole, "desk")).ttft_ns is None
    failed = {
        **TOLD,
        "status": "failure",
        "prompt_tokens": 0,
        "metadata": {"usage_object": {}},
        "error_information": {"error_class": "InternalServerError"},
    }
    attempt = accepted(books.event(failed, "desk"))
    assert (attempt.status, attempt.input_tokens) == ("upstream_error", None)
    assert attempt.usage_source == "missing"
    late = {**failed, "error_information": {"error_class": "APITimeoutError"}}
    assert accepted(books.event(late, "desk")).status == "timeout"


def test_what_no_card_computed_is_no_event():
    assert books.event({**TOLD, "cache_hit": True}, "desk") is None
    assert books.event({**TOLD, "model_id": None, "api_base": None}, "desk") is None


def test_an_address_stands_for_an_engine_without_its_secrets():
    address = "https://me:secret@host:8000/v1?key=secret#secret"
    told = {**TOLD, "model_id": None, "api_base": address}
    assert accepted(books.event(told, "desk")).engine == "https://host:8000/v1"
    assert books.event({**told, "api_base": "no address"}, "desk") is None


def test_a_call_that_is_logged_twice_is_one_event():
    assert books.event(TOLD, "desk") == books.event(TOLD, "desk")
    retried = {**TOLD, "startTime": TOLD["startTime"] + 0.01}
    assert books.event(retried, "desk")["event_id"] != books.event(TOLD, "desk")["event_id"]


@given(st.dictionaries(st.sampled_from(sorted(TOLD)), ODD))
def test_whatever_is_logged_is_an_event_that_is_taken_or_none(odd):
    handler = Handler({})
    taken = []
    handler.sender.put = taken.append
    handler._log({"standard_logging_object": {**TOLD, **odd}})
    handler._log(odd)
    handler._log(None)
    for call in taken:
        event = books.event(call, "desk")
        assert event == books.event({**TOLD, **odd}, "desk")
        if event is not None:
            accepted(event)


def test_no_text_of_a_call_is_kept():
    assert "secret" not in repr(books.noted(TOLD))
    assert books.event(books.noted(TOLD), "desk") == books.event(TOLD, "desk")


def test_a_call_of_which_no_event_can_be_made_holds_nothing_up():
    with Receiver() as receiver:
        queue = sender.Sender(
            receiver.url, lambda call: call if call["event_id"] else {"n": object()}
        )
        for number in range(3):
            queue.put({"event_id": str(number) if number else ""})
        receiver.wait_events(2)
        queue.close()
        assert queue.dropped == 1


def test_a_queue_that_is_full_counts_what_it_drops(monkeypatch, caplog):
    monkeypatch.setattr(sender, "QUEUE_EVENTS", 3)
    queue = sender.Sender("http://127.0.0.1:9", dict)
    queue._begin = lambda: None
    for number in range(5):
        queue.put({"event_id": str(number)})
    assert queue.dropped == 2
    (told,) = caplog.records  # once, not at each
    assert told.getMessage() == (
        "calls are missing from the books, as 3 wait for the collector already"
    )
    assert [event["event_id"] for event in queue._queue] == ["0", "1", "2"]


def test_all_that_waits_arrives_once_when_the_collector_is_back():
    with Receiver() as receiver:
        receiver.mode = "500"
        queue = sender.Sender(receiver.url, dict)
        for number in range(1200):
            queue.put({**books.event(TOLD, "desk"), "event_id": str(number)})
        receiver.wait_posts(1)
        receiver.mode = "ok"
        receiver.wait_events(1200)
        assert queue.dropped == 0
        queue.close()


def test_what_the_collector_refuses_is_counted(caplog):
    with Receiver() as receiver:
        receiver.refuse = {"1", "3"}
        queue = sender.Sender(receiver.url, dict)
        for number in range(4):
            queue.put({"event_id": str(number)})
        receiver.wait_events(2)
        queue.put({"event_id": "1"})  # alone: nothing of the batch is taken
        until(lambda: not queue._queue)
        assert queue.dropped == 3
        queue.close()
    (told,) = caplog.records
    assert "the collector refuses them" in told.getMessage()


def test_an_answer_that_is_no_receipt_takes_nothing():
    with Receiver() as receiver:
        receiver.mode = "bare"
        queue = sender.Sender(receiver.url, dict)
        queue.put({"event_id": "0"})
        receiver.wait_posts(1)
        receiver.mode = "ok"
        receiver.wait_events(1)
        until(lambda: not queue._queue)
        assert queue.dropped == 0
        queue.close()


@pytest.mark.parametrize("state", ["hung", "gone"])
def test_a_program_ends_within_a_second_of_its_end(state):
    program = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from rigledger_litellm.sender import Sender\n"
        "sender = Sender(sys.argv[2], dict); [sender.put({'n': n}) for n in range(100)]\n"
        "time.sleep(1); print(time.monotonic(), flush=True)"
    )
    with Receiver() as receiver:
        receiver.mode = "hang"
        url = receiver.url if state == "hung" else "http://127.0.0.1:9"
        found = subprocess.run(
            [sys.executable, "-c", program, str(PLUGIN), url],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        # A hang would last for ever; the interpreter's own end takes its time on a busy machine.
        assert time.monotonic() - float(found.stdout) < 10
        assert found.stderr == ""


def deployments(count=3):
    return [{"model_info": {"id": f"card{n}"}, "litellm_params": {}} for n in range(count)]


def name(deployment):
    return deployment["model_info"]["id"]


def turn(*texts, system="s"):
    said = [{"role": "system", "content": system}]
    return said + [{"role": "user", "content": text} for text in texts]


def test_a_conversation_goes_home_and_the_system_prompt_alone_is_no_home():
    chooser = Chooser(slots=2)
    (first,) = chooser.choose(deployments(), turn("a"), "1")
    (second,) = chooser.choose(deployments(), turn("b"), "2")
    assert first != second  # the same system prompt does not herd them
    for call, texts in (("3", ("a", "c")), ("4", ("a", "c", "d"))):
        chooser.over("1", name(first))
        chooser.over("3", name(first))
        assert chooser.choose(deployments(), turn(*texts), call) == [first]


def test_a_home_that_is_full_and_busier_than_the_rest_is_left():
    chooser = Chooser(slots=1)
    (home,) = chooser.choose(deployments(), turn("a"), "1")
    (other,) = chooser.choose(deployments(), turn("a", "b"), "2")
    assert other != home


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=40))
def test_calls_that_are_over_leave_nothing_in_flight(calls):
    chooser = Chooser(slots=2)
    taken = []
    for number, (talk, ends) in enumerate(calls):
        (chosen,) = chooser.choose(deployments(), turn(str(talk)), str(number))
        taken.append((str(number), name(chosen)))
        if ends:
            chooser.over(*taken[-1])
    for flight in taken:
        chooser.over(*flight)
    assert not chooser._flights
    assert not any(chooser._busy.values())


def test_the_end_of_a_first_try_does_not_end_the_second():
    chooser = Chooser(slots=1)
    (first,) = chooser.choose(deployments(2), turn("a"), "1")
    (second,) = chooser.choose(deployments(2), turn("b"), "1")  # another card, as the first is busy
    assert second != first
    chooser.over("1", name(first))
    assert chooser._busy[name(second)] == 1
    for _ in range(3):  # nobody could ever tell the end of these
        chooser.choose(deployments(2), turn("c"), None)
    assert sum(chooser._busy.values()) == 1


def test_what_is_no_text_is_told_apart_by_its_parts():
    chooser = Chooser(slots=9)
    image = {"type": "image_url", "image_url": {"url": "data:" + "x" * 10_000}}
    said = [{"role": "user", "content": [{"type": "text", "text": "a"}, image]}]
    other = [{"role": "user", "content": [{"type": "text", "text": "b"}, image]}]
    calls = [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f"}}]}]
    more = [{"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "g"}}]}]
    keys = [choice._keys(messages)[-1] for messages in (said, other, said + calls, said + more)]
    assert len(set(keys)) == 4
    (home,) = chooser.choose(deployments(), said, "1")
    assert chooser.choose(deployments(), said + calls, "2") == [home]


USAGE = {
    "prompt_tokens": 45,
    "completion_tokens": 3,
    "total_tokens": 48,
    "prompt_tokens_details": {"cached_tokens": 40},
}


def chunk(**more):
    told = {"id": "chatcmpl-9", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return b"data: " + json.dumps({**told, **more}).encode() + b"\n\n"


async def engine(wire):
    """Whole, streamed or failing, as the request's last message says."""
    if not wire.received.body:  # the proxy looks around
        await wire.send(answer(b"", status=b"404 Not Found"))
        return
    asked = json.loads(wire.received.body)
    if asked["messages"][-1]["content"] == "fail":
        await wire.send(answer(b'{"error": {"message": "no"}}', status=b"500 Internal Error"))
    elif asked.get("stream"):
        await wire.send(stream_head(b"X-Request-ID: from-the-engine"))
        delta = {"index": 0, "delta": {"content": "a"}}
        end = {"index": 0, "delta": {}, "finish_reason": "stop"}
        pieces = [chunk(choices=[delta]), chunk(choices=[end]), chunk(choices=[], usage=USAGE)]
        for piece in [*pieces, b"data: [DONE]\n\n", b""]:
            await wire.send_chunk(piece)
    else:
        choice = {"index": 0, "message": {"role": "assistant", "content": "hi"},
                  "finish_reason": "stop"}  # fmt: skip
        whole = {"id": "chatcmpl-8", "object": "chat.completion", "created": 1, "model": "m"}
        body = json.dumps({**whole, "choices": [choice], "usage": USAGE}).encode()
        await wire.send(answer(body, b"Content-Type: application/json"))


async def ask(session, url, content="hi", stream=False, said=None):
    said = said or [{"role": "user", "content": content}]
    body = {"model": "tiny", "messages": said, "stream": stream}
    if stream:
        body["stream_options"] = {"include_usage": True}
    async with session.post(f"{url}/v1/chat/completions", json=body) as response:
        return response.status, await response.read()


# Two more handlers beside the real one: the thread of one hangs, the other floods its queue with
# what cannot be sent.
FAULTY = """
import time
from rigledger_litellm.handler import Handler
class Exploding(Handler):
    def _log(self, kwargs):
        for _ in range(20000):
            self.sender.put({"x": object(), "y": "z" * 1000})
blocking, exploding = Handler({}), Exploding({})
blocking.sender._post = lambda *_: time.sleep(1e6)
exploding.sender._url = "http://127.0.0.1:9"
"""
CALLBACKS = ["rigledger_litellm.handler", "faulty.blocking", "faulty.exploding"]


@needs_proxy
def test_every_call_of_a_real_proxy_is_on_the_books(tmp_path: Path):
    (tmp_path / "faulty.py").write_text(FAULTY)

    async def scenario(receiver):
        async with Upstream(engine) as a, Upstream(engine) as b, Upstream(engine) as c:
            ups, environment = (a, b, c), {"RIGLEDGER_URL": receiver.url, "RIGLEDGER_ROUTE": "1"}
            with proxied(tmp_path, [up.url for up in ups], environment, CALLBACKS) as url:
                async with aiohttp.ClientSession() as session:
                    for number in range(12):
                        status, body = await ask(session, url, str(number), stream=number % 2 == 0)
                        assert status == 200
                        assert b'"content":"hi"' in body or b"[DONE]" in body
                    assert (await ask(session, url, "fail"))[0] == 500
                    receiver.wait_events(13)
                    told = [accepted(event) for event in receiver.events.values()]
                    check_books(told, {f"card{n}": calls(up) for n, up in enumerate(ups)})
                    for talk in range(4):
                        said = []
                        for turns in range(3):
                            said.append({"role": "user", "content": f"{talk}.{turns}"})
                            assert (await ask(session, url, said=said))[0] == 200
                    receiver.wait_events(25)
            for talk in range(4):
                homes = [sum(first == f"{talk}.0" for first in calls(up)) for up in ups]
                assert sorted(homes) == [0, 0, 3]  # all turns of a conversation on one card

    with Receiver() as receiver:
        asyncio.run(scenario(receiver))


def calls(up):
    """How each conversation began that an engine received."""
    bodies = [json.loads(each.body) for each in up.requests if each.body]
    return [body["messages"][0]["content"] for body in bodies]


def check_books(told, seen):
    by_engine = {name: sum(each.engine == name for each in told) for name in seen}
    assert by_engine == {name: len(each) for name, each in seen.items()}
    well = [each for each in told if each.status == "ok"]
    assert len(well) == 12
    for each in well:
        assert (each.input_tokens, each.cache_read_tokens, each.output_tokens) == (45, 40, 3)
        assert 0 <= (each.ttft_ns or 0) <= each.duration_ns
    streams = [each for each in well if each.ttft_ns is not None]
    assert len(streams) == 6
    assert {each.request_id for each in streams} == {"from-the-engine"}


def test_a_hook_that_fails_is_counted_and_nothing_more():
    handler = Handler({})
    handler.sender.put = lambda event: 1 / 0
    asyncio.run(handler.async_log_success_event({"standard_logging_object": TOLD}, None, 0, 0))
    handler.log_failure_event({}, None, 0, 0)
    assert handler.sender.dropped == 2
    routing = Handler({"RIGLEDGER_ROUTE": "1"})
    odd = [object(), None]
    assert asyncio.run(routing.async_filter_deployments("m", odd, object())) is odd
