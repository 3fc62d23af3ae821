"""What is believed to be cached: against a plain list that is trimmed by hand."""

from hypothesis import given
from hypothesis import strategies as st

from router.prefix_index import ENTRY_TOKENS_MIN, PrefixIndex


def use(index, path):
    """A prompt as a path of letters; each letter has a hundred tokens."""
    index.use(keys(path), [100 * (place + 1) for place in range(len(path))])


def keys(path):
    return [path[: place + 1] for place in range(len(path))]


def test_the_beginning_of_a_prompt_is_forgotten_last():
    index = PrefixIndex(300)
    use(index, "abc")
    use(index, "x")
    assert [index.depth(keys(path)) for path in ("abc", "abd", "x", "y")] == [2, 2, 1, 0]
    assert (index.tokens, len(index)) == (300, 3)


def test_what_is_used_again_stays():
    index = PrefixIndex(400)
    use(index, "ab")
    use(index, "x")
    use(index, "ab")
    use(index, "yz")
    assert [index.depth(keys(path)) for path in ("ab", "x", "yz")] == [2, 0, 2]


def test_what_was_used_since_is_what_a_cache_must_hold():
    index = PrefixIndex(10_000)
    use(index, "abc")
    last = index.last_use("abc")
    use(index, "xy")
    use(index, "abd")
    use(index, "xy")
    # x, xy, a, ab, abd; abc itself was last used before.
    assert index.used_since(last) == 500
    assert index.last_use("unknown") == 0


def test_a_smaller_budget_forgets_and_grows_back_to_what_it_was_at_most():
    index = PrefixIndex(1000)
    use(index, "abcdefgh")
    index.shrink(250)
    assert (index.tokens, index.depth(keys("abcdefgh"))) == (200, 2)
    index.shrink(500)
    assert index.budget_tokens == 250
    index.grow(10_000)
    assert index.budget_tokens == 1000
    index.clear()
    assert (index.tokens, len(index)) == (0, 0)


def test_messages_without_text_take_room_too():
    index = PrefixIndex(10 * ENTRY_TOKENS_MIN)
    index.use([str(number) for number in range(100)], [0] * 100)
    assert len(index) == 10


PATHS = st.text(alphabet="abc", min_size=1, max_size=5)


@given(paths=st.lists(PATHS, max_size=30), dropped=PATHS, budget=st.integers(1, 12))
def test_it_is_a_list_of_the_latest(paths, dropped, budget):
    index, latest = PrefixIndex(100 * budget), []
    for path in paths:
        use(index, path)
        deepest_first = keys(path)[::-1]
        latest = [key for key in latest if key not in deepest_first] + deepest_first
        latest = latest[-budget:]
    index.drop([dropped])
    latest = [key for key in latest if key != dropped]
    assert len(index) == len(latest)
    assert index.tokens == 100 * len(latest)
    for path in [*paths, dropped]:
        there = [key in latest for key in keys(path)]
        assert index.depth(keys(path)) == [*there, False].index(False)
