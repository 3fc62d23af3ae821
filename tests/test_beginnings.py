"""What several conversations begin with, told apart from what is one conversation's own."""

from router.beginnings import KEPT, Beginnings
from router.prefix import Prefix


def prompt(*names, shared=1):
    """Each name stands for a message; the first `shared` are tools and system prompt."""
    keys = tuple("/".join(names[: place + 1]) for place in range(len(names)))
    return Prefix(keys, tuple(100 * (place + 1) for place in range(len(names))), shared)


def test_a_system_prompt_is_common_once_a_second_conversation_begins_with_it():
    begun = Beginnings()
    assert begun.meet(prompt("system")) == 0
    assert begun.meet(prompt("system", "hello")) == 0
    assert begun.meet(prompt("system", "hello", "yes?", "what is")) == 0  # its second turn
    assert begun.meet(prompt("system", "good day")) == 1
    assert begun.meet(prompt("system", "hello", "yes?", "what is", "this")) == 1
    assert begun.meet(prompt("system")) == 1
    assert begun.meet(prompt("another system", "hello")) == 0


def test_of_tools_and_system_prompt_the_part_that_is_common():
    begun = Beginnings()
    assert begun.meet(prompt("tools", "agent", "folder one", "do", shared=3)) == 0
    assert begun.meet(prompt("tools", "agent", "folder two", "do", shared=3)) == 2
    assert begun.meet(prompt("tools", "agent", "folder two", "undo", shared=3)) == 3
    assert begun.meet(prompt("tools", "agent", "folder one", "do", shared=3)) == 2
    assert begun.meet(prompt("tools", "writer", shared=2)) == 1


def test_messages_of_the_conversation_itself_are_never_common():
    begun = Beginnings()
    assert begun.meet(prompt("system", "root", "branch one")) == 0
    assert begun.meet(prompt("system", "root", "branch two")) == 0
    assert begun.meet(prompt("root", "branch", shared=0)) == 0
    assert begun.meet(Prefix()) == 0


def test_what_was_met_longest_ago_is_forgotten():
    begun = Beginnings()
    for name in ("hello", "good day"):
        begun.meet(prompt("old", name))
    for number in range(KEPT - 1):
        begun.meet(prompt(f"system {number}", "hello"))
    assert begun.meet(prompt("old")) == 1  # only looked at
    begun.meet(prompt("one more", "hello"))
    assert begun.meet(prompt("old", "hello")) == 0
