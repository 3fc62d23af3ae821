"""A tiny llama model with random weights: a real engine computes it, and it says syllables.

Nothing is downloaded and the same seed gives the same file. Any text can be a prompt (every byte
has a token); only syllables are ever sampled: no control token that would end an answer early, no
newline that would break a line format, no half of a UTF-8 character.
"""

import argparse
from pathlib import Path

import gguf
import numpy as np

HEADS = 4
CONTEXT = 32_768
SPACE = "\u2581"
TEMPLATE = (
    "{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)


def vocabulary() -> list[tuple[str, float, gguf.TokenType]]:
    """Every token with its score and type; longer pieces score higher, so they merge first."""
    kinds = gguf.TokenType
    tokens = [
        ("<unk>", 0.0, kinds.UNKNOWN),
        ("<s>", 0.0, kinds.CONTROL),
        ("</s>", 0.0, kinds.CONTROL),
    ]
    tokens += [(f"<0x{byte:02X}>", 0.0, kinds.BYTE) for byte in range(256)]
    characters = [SPACE, *map(chr, range(ord("!"), ord("~") + 1))]
    tokens += [(character, -1000.0 - at, kinds.NORMAL) for at, character in enumerate(characters)]
    tokens += [(piece, -500.0 - at, kinds.NORMAL) for at, piece in enumerate(syllables())]
    tokens += [(SPACE + piece, -100.0 - at, kinds.NORMAL) for at, piece in enumerate(syllables())]
    return tokens


def syllables() -> list[str]:
    """What the model can say, each also with a space before it."""
    return [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


def write_model(path: Path, *, width: int = 64, layers: int = 2, seed: int = 0) -> Path:
    """Write the GGUF file; `width` is a multiple of 8. Wider and deeper is slower."""
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny-random")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(2 * width)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(width // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text.encode() for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(True)
    writer.add_chat_template(TEMPLATE)
    for name, tensor in _tensors(len(tokens), width, layers, seed):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _tensors(words: int, width: int, layers: int, seed: int) -> list[tuple[str, np.ndarray]]:
    """The weights by their GGUF names."""
    random = np.random.default_rng(seed)

    def normal(rows: int, columns: int, scale: float) -> np.ndarray:
        return (random.standard_normal((rows, columns)) * scale).astype(np.float32)

    def ones() -> np.ndarray:
        return np.ones(width, np.float32)

    # A zero row is a logit of 0, far below the best of 140 syllables at this scale.
    said = normal(words, width, 3.0)
    said[: words - 2 * len(syllables())] = 0
    tensors = [
        ("token_embd.weight", normal(words, width, 0.1)),
        ("output_norm.weight", ones()),
        ("output.weight", said),
    ]
    for layer in range(layers):
        block = f"blk.{layer}."
        tensors += [(f"{block}{norm}_norm.weight", ones()) for norm in ("attn", "ffn")]
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            tensors.append((f"{block}{part}.weight", normal(width, width, 0.1)))
        for part, shape in {
            "ffn_gate": (2 * width, width),
            "ffn_up": (2 * width, width),
            "ffn_down": (width, 2 * width),
        }.items():
            tensors.append((f"{block}{part}.weight", normal(*shape, 0.1)))
    return tensors


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    given = parser.parse_args()
    write_model(given.path, width=given.width, layers=given.layers)
