"""Engines with different models behind one door: who asks for a model comes to one that has it."""

import asyncio
import gzip
import json

import pytest
import uvloop
from rig.doored import doored, fleet
from rig.tapped import body_of, exchange, request
from rig.upstream import Upstream, Wire, answer

from router.form_field import boundary, form_field
from router.receipt import Receipt

MIB = 1 << 20
JSON = b"Content-Type: application/json"
CHAT = b"/v1/chat/completions"
FORM_TYPE = 'multipart/form-data; boundary="=-x-="'


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, 60))


def serving(model: str):
    """An engine that tells its one model, and by its answers which it is."""

    async def play(wire: Wire) -> None:
        told = {"id": model, "data": [{"id": model}], "choices": []}
        await wire.send(answer(json.dumps(told).encode(), JSON))

    return play


def chat(content: object, **more: object) -> bytes:
    messages = [{"role": "user", "content": content}]
    return json.dumps({"messages": messages, "model": "gemma", **more}).encode()


def picture(size_bytes: int) -> bytes:
    url = "data:image/png;base64," + "A" * size_bytes
    return chat([{"type": "text", "text": "hi"}, {"type": "image_url", "image_url": {"url": url}}])


def form(model: str) -> bytes:
    """A form in which the file holds what looks like fields."""
    lines = [
        "--=-x-=",
        'Content-Disposition: form-data; name="file"; filename="name=model.wav"',
        "Content-Type: audio/wav",
        "",
        'RIFF\r\n\r\nContent-Disposition: form-data; name="model"\r\n\r\nqwen',
        "--=-x-=",
        'content-disposition: form-data; name="model"',
        "",
        model,
        "--=-x-=--",
        "",
    ]
    return "\r\n".join(lines).encode()


ASKED = {
    "a small chat": (CHAT, chat("hi"), ()),
    "a picture of 5 MiB": (CHAT, picture(5 * MIB), ()),
    "a picture of 20 MiB": (CHAT, picture(20 * MIB), ()),
    "5 MiB of many values": (CHAT, chat("hi", x=[0] * (5 * MIB // 3)), ()),
    "half a surrogate pair": (CHAT, chat("\ud83d"), ()),
    "NaN": (CHAT, chat("hi", top_p=float("nan")), ()),
    "a byte order mark": (CHAT, b"\xef\xbb\xbf" + chat("hi"), ()),
    "a raw line break": (CHAT, chat("a?b").replace(b"?", b"\n"), ()),
    "bytes outside UTF-8": (CHAT, chat("a?b").replace(b"?", b"\xff"), ()),
    "gzip": (CHAT, gzip.compress(picture(5 * MIB)), (b"Content-Encoding: gzip",)),
    "count_tokens": (b"/v1/messages/count_tokens", chat("hi"), ()),
    "tokenize": (b"/tokenize", b'{"prompt": "hi", "model": "gemma"}', ()),
    "speech": (b"/v1/audio/speech", b'{"input": "hi", "model": "gemma"}', ()),
    "transcriptions": (
        b"/v1/audio/transcriptions", form("gemma"), (f"Content-Type: {FORM_TYPE}".encode(),),
    ),
    "an edit of an image": (
        b"/v1/images/edits", form("gemma"), (f"Content-Type: {FORM_TYPE}".encode(),),
    ),
}  # fmt: skip


@pytest.mark.parametrize("asked", ASKED)
def test_a_request_comes_to_an_engine_that_serves_its_model(asked):
    target, body, headers = ASKED[asked]

    async def scenario():
        async with (
            Upstream(serving("qwen")) as one,
            Upstream(serving("gemma")) as two,
            doored(fleet(one.url, two.url, policy="round_robin")) as front,
        ):
            await front.door.ask_models()
            for _ in range(3):
                raw = await exchange(front.port, request(body, *headers, target=target))
                assert json.loads(body_of(raw))["id"] == "gemma"
                assert two.requests[-1].body == body
            assert front.idle()
            assert {row.model for row in front.events} <= {"gemma"}

    run(scenario())


def test_one_model_is_asked_of_an_engine_that_serves_it():
    async def scenario():
        async with (
            Upstream(serving("qwen")) as one,
            Upstream(serving("org/gemma")) as two,
            doored(fleet(one.url, two.url)) as front,
        ):
            await front.door.ask_models()
            for name in (b"org/gemma", b"org%2Fgemma"):
                for _ in range(2):
                    asking = request(b"", method=b"GET", target=b"/v1/models/" + name)
                    assert json.loads(body_of(await exchange(front.port, asking)))["id"] == (
                        "org/gemma"
                    )

    run(scenario())


def test_what_asks_for_no_tokens_is_held_only_where_its_model_matters():
    """Held, it is bounded as any body is; passed on, it is not."""

    async def scenario():
        body = b'{"prompt": "' + b"x" * 2000 + b'"}'
        for second, status in (("qwen", b"200"), ("gemma", b"413")):
            async with (
                Upstream(serving("qwen")) as one,
                Upstream(serving(second)) as two,
                doored(fleet(one.url, two.url), receipt=Receipt(body_bytes=1000)) as front,
            ):
                await front.door.ask_models()
                raw = await exchange(front.port, request(body, target=b"/tokenize"))
                assert raw.split()[1] == status
                assert front.idle()

    run(scenario())


@pytest.mark.parametrize(
    ("content_type", "parting"),
    [
        (FORM_TYPE, b"=-x-="),
        ("Multipart/Form-Data; charset=x; boundary=abc", b"abc"),
        ("multipart/mixed; boundary=abc", None),
        ("multipart/form-data", None),
        ("application/json", None),
        ("", None),
        (";;", None),
    ],
)
def test_a_form_tells_what_parts_its_fields(content_type, parting):
    assert boundary(content_type) == parting


@pytest.mark.parametrize(
    ("body", "model"),
    [
        (form("gemma"), "gemma"),
        (form("gemma")[:-30], None),
        (b"--=-x-=\r\nContent-Disposition: form-data; name=model\r\n\r\nq\r\n--=-x-=--", "q"),
        (b'--=-x-=\r\nContent-Disposition: form-data; name="models"\r\n\r\nq\r\n--=-x-=--', None),
        (b"--=-x-=\r\n--=-x-=\r\n--=-x-=--", None),
        (b"--=-x-=", None),
        (b"", None),
    ],
)
def test_a_field_is_found_in_a_whole_form_alone(body, model):
    assert form_field(body, b"=-x-=", "model") == model
