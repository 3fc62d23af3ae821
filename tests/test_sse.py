"""The reader of server-sent events: the same payloads, however the bytes are cut."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.formats.sse import Reader


def payloads(stream: bytes, cuts: list[int] | None = None, limit_bytes: int = 1 << 21):
    reader = Reader(limit_bytes)
    places = [0, *sorted(cuts or []), len(stream)]
    found = []
    for start, end in itertools.pairwise(places):
        found += reader.feed(stream[start:end])
    return found + reader.close(), reader.skipped


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b": keep-alive\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 7\nretry: 1\ndata: a\n\n", [b"a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b"data: a\r\ndata: b\r\n\r\n", [b"a\nb"]),
        (b"data: a", [b"a"]),
        (b"data: a\n", [b"a"]),
        (b"data: a\r", [b"a"]),
        (b"\xef\xbb\xbfdata: a\n\n", [b"a"]),
        (b"data\n\n", [b""]),
        (b"datum: a\n\n", []),
        (b"database: a\n\n", []),
        (b"data : a\n\n", []),
        (b"\n\n\r\n\r\r", []),
        (b"", []),
        ("data: é😀\n\n".encode(), ["é😀".encode()]),
    ],
)
def test_payloads_at_every_single_cut(stream, expected):
    assert payloads(stream) == (expected, 0)
    for cut in range(len(stream) + 1):
        assert payloads(stream, [cut]) == (expected, 0), cut
        assert payloads(stream, [cut, cut]) == (expected, 0), cut  # nothing came in between
    assert payloads(stream, list(range(len(stream)))) == (expected, 0)


line = st.binary(max_size=12).map(lambda b: b.replace(b"\r", b"").replace(b"\n", b""))
event = st.lists(line, min_size=1, max_size=3)


@given(
    st.lists(event, max_size=5),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.lists(st.integers(0, 400), max_size=12),
)
def test_any_cutting_gives_what_was_sent(events, end, cuts):
    stream = b"".join(b"".join(b"data: " + li + end for li in ev) + end for ev in events)
    cuts = [min(cut, len(stream)) for cut in cuts]
    assert payloads(stream, cuts) == ([b"\n".join(ev) for ev in events], 0)


@given(st.binary(max_size=300), st.lists(st.integers(0, 300), max_size=10))
def test_noise_reads_the_same_in_one_piece_and_in_many(stream, cuts):
    assert payloads(stream, [min(cut, len(stream)) for cut in cuts]) == payloads(stream)


def test_a_line_of_one_mebibyte_is_read():
    long = b"x" * (1 << 20)
    stream = b"data: " + long + b"\n\n"
    assert payloads(stream, list(range(0, len(stream), 65_536))) == ([long], 0)


def test_what_is_longer_than_the_limit_is_skipped_and_counted_and_not_kept():
    reader = Reader(limit_bytes=1000)
    assert reader.feed(b"data: ") == []
    for _ in range(10_000):
        assert reader.feed(b"y" * 1000) == []
    assert len(reader._line) <= 1000
    assert reader.feed(b"\n\ndata: after\n\n") == [b"after"]
    assert reader.skipped == 1


def test_a_mark_of_order_is_one_at_the_very_beginning_alone():
    late = b"x" * 100 + b"\n\xef\xbb\xbf\ndata: a\n\ndata: b\n\n"
    for cut in range(len(late)):
        assert payloads(late, [cut], limit_bytes=50) == ([b"b"], 1), cut


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_limit_is_the_same_however_the_line_is_cut(end):
    fits, too_long = b"data: " + b"x" * 44, b"data: " + b"y" * 45
    stream = fits + end * 2 + too_long + end * 2 + b":" + too_long + end + fits + end * 2 + fits
    for cut in range(len(stream)):
        assert payloads(stream, [cut], limit_bytes=50) == ([b"x" * 44] * 2, 2), cut


def test_many_lines_of_one_event_are_bounded_together():
    reader = Reader(limit_bytes=1000)
    for _ in range(10_000):
        assert reader.feed(b"data: " + b"z" * 100 + b"\n") == []
    assert sum(map(len, reader._data)) <= 1000
    assert reader.feed(b"\ndata: after\n\n") == [b"after"]
    assert reader.skipped == 1
