"""The prefixes of a prompt as chained keyed hashes, one at each message boundary. No text is kept.

A key stands for everything before its boundary, so that equal keys mean equal prompts up to there.
Tools and system prompt come first, as chat templates put them first. Marks that only steer a
cache (`cache_control`) are left out: clients move them from turn to turn, and no token changes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from router.labels import Labels
from router.prefix_chain import Chain

CHUNK_CHARS = 4096  # a bare prompt has no messages; it is cut here
CHUNK_IDS = 1024

_CACHE_MARKS = frozenset({"cache_control", "prompt_cache_breakpoint"})
_SYSTEM = frozenset({"system", "developer"})
_FED = frozenset({"role", "content", "output", "images"})
# What engines put before a bare prompt, or in places that are theirs to choose.
_AROUND_PROMPT = ("system", "context", "suffix", "input_suffix", "input_extra")
_PROMPTS = ("prompt", "text", "input_ids", "input_prefix")
_ATTACHED = frozenset(
    {"image_url", "image", "input_image", "input_audio", "audio", "video_url", "video"}
    | {"input_file", "file", "document", "computer_screenshot"}
)


@dataclass(frozen=True, slots=True)
class Prefix:
    """`keys[i]` names the first `tokens[i]` tokens, estimated; the whole prompt comes last.

    The first `shared` keys cover nothing but tools and system prompt. `text_bytes` of the prompt
    are text and were counted at the tokens per byte of that moment. A batch of prompts and what is
    no prompt (embeddings) have no keys.
    """

    keys: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()
    shared: int = 0
    text_bytes: int = 0

    @property
    def input_tokens(self) -> int:
        """Tokens of the whole prompt, estimated; 0 where there are no keys."""
        return self.tokens[-1] if self.tokens else 0

    @property
    def shared_tokens(self) -> int:
        """Tokens of tools and system prompt, estimated."""
        return self.tokens[self.shared - 1] if self.shared else 0


NO_PREFIX = Prefix()


def prefix_of(
    body: Mapping[str, Any], operation: str, labels: Labels, tokens_per_byte: float
) -> Prefix:
    """The prefixes of a decoded request (OpenAI chat, completions, responses; Anthropic messages).

    `operation` as in the contract; `tokens_per_byte` of text, as learned. Bodies of another shape
    have no prefix; nothing is raised, whatever they hold.
    """
    if operation not in ("chat", "completion"):
        return NO_PREFIX
    chain = Chain(labels, tokens_per_byte, body.get("model"))
    try:
        if operation == "chat":
            _chat(chain, body)
        else:
            _prompt(chain, body)
    except (UnicodeError, TypeError, ValueError, RecursionError, OverflowError):
        return NO_PREFIX
    return Prefix(*chain.told())


def _chat(chain: Chain, body: Mapping[str, Any]) -> None:
    tools = body.get("tools") or body.get("functions")
    if tools:
        chain.mark("tools")
        chain.json([_bare(tool) for tool in tools])
        chain.shared_boundary()
    earlier = body.get("previous_response_id")
    if earlier:  # the engine keeps what came before; its id stands for it
        chain.mark("previous")
        chain.json(earlier)
    for content in _system(body):
        chain.mark("system")
        _content(chain, content)
        chain.shared_boundary()
    head = True
    for message in _messages(body):
        role = message.get("role") or message.get("type")
        head = head and role in _SYSTEM
        chain.mark("system" if head else str(role))
        _content(chain, message.get("content"))
        if "output" in message:  # what a tool answered, in Responses
            chain.mark("output")
            _content(chain, message["output"])
        for image in message.get("images") or ():  # Ollama has them beside the text
            chain.attachment(image)
        rest = {k: v for k, v in message.items() if k not in _FED and v is not None}
        if rest:
            chain.json(_bare(rest))
        if head:
            chain.shared_boundary()
        else:
            chain.boundary()


def _system(body: Mapping[str, Any]) -> Iterator[Any]:
    """The system prompt where it is no message: each of Anthropic's blocks, or instructions."""
    told = body.get("system") or body.get("instructions")
    if isinstance(told, list):
        yield from ([part] for part in told)
    elif told:
        yield told


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    told = body.get("messages")
    if told is None:
        told = body.get("input")  # responses
    if isinstance(told, str):
        told = [{"role": "user", "content": told}]
    for message in told or ():
        if isinstance(message, Mapping):
            yield message


def _content(chain: Chain, content: Any) -> None:
    """Text and a list with that one text are the same: clients turn the one into the other."""
    if isinstance(content, str):
        chain.text(content)
    elif isinstance(content, list):
        for part in content:
            _part(chain, part)
    elif isinstance(content, dict):
        _part(chain, content)
    elif content is not None:
        chain.json(content)


def _part(chain: Chain, part: Any) -> None:
    if not isinstance(part, dict):
        _content(chain, part)  # a text, or a list in a list
    elif isinstance(part.get("text"), str):
        chain.text(part["text"])
    elif part.get("type") in _ATTACHED:
        chain.attachment(_bare(part))
    else:
        inner = part.get("content")
        chain.json({k: v for k, v in _bare(part).items() if k != "content"})
        _content(chain, inner)  # a tool's result may hold images


def _bare(told: Any) -> Any:
    if isinstance(told, Mapping):
        return {name: value for name, value in told.items() if name not in _CACHE_MARKS}
    return told


def _prompt(chain: Chain, body: Mapping[str, Any]) -> None:
    """A bare prompt, text or token ids; one in a list of its own is no batch."""
    prompt = next((body[name] for name in _PROMPTS if name in body), None)
    for name in _AROUND_PROMPT:
        if body.get(name):
            chain.mark(name)
            chain.json(body[name])
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if isinstance(prompt, str):
        for place in range(0, len(prompt), CHUNK_CHARS):
            chain.text(prompt[place : place + CHUNK_CHARS])
            chain.boundary()
    elif isinstance(prompt, list) and prompt and all(type(each) is int for each in prompt):
        for place in range(0, len(prompt), CHUNK_IDS):
            chain.ids(prompt[place : place + CHUNK_IDS])
            chain.boundary()
