"""What a collector's answer to a batch means for the spool: status and body in, verdict out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

BATCH_ROWS = 1000
BATCH_BYTES = 4 * 1024 * 1024
ANSWER_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class Verdict:
    """`settled`: forget the batch, putting `refused` (seq → error) aside. `split`: the batch as a
    whole was not understood, try smaller ones. Neither: try again later, for `reason`."""

    settled: bool = False
    refused: dict[int, str] = field(default_factory=dict)
    split: bool = False
    reason: str = ""


def encode(batch: Sequence[tuple[int, bytes]]) -> bytes:
    """A batch of encoded events as the JSON array that the collector takes."""
    return b"[" + b",".join(body for _, body in batch) + b"]"


def judge(status: int, body: bytes, batch: Sequence[tuple[int, bytes]]) -> Verdict:
    """The collector's answer to a batch.

    202 is durable. 400 and 409 come only when nothing was committed: what they list is refused
    for good, the rest was there already. Everything else, also a 202 without a receipt, is to be
    tried again.
    """
    if status not in (202, 400, 409, 413):
        return Verdict(reason=f"it answered HTTP {status}")
    receipt = _receipt(body)
    rejected = _rejected(receipt, batch)
    if status == 202:
        if not isinstance(receipt.get("accepted"), int):
            return Verdict(reason="it answered 202 without a receipt")
        return Verdict(settled=True, refused=rejected)
    if rejected:
        return Verdict(settled=True, refused=rejected)
    if len(batch) > 1:
        return Verdict(split=True)
    return Verdict(settled=True, refused={batch[0][0]: f"refused with HTTP {status}"})


def _receipt(body: bytes) -> dict[str, Any]:
    try:
        receipt = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return {}
    return receipt if isinstance(receipt, dict) else {}


def _rejected(receipt: dict[str, Any], batch: Sequence[tuple[int, bytes]]) -> dict[int, str]:
    listed = receipt.get("rejected")
    refused: dict[int, str] = {}
    for entry in listed if isinstance(listed, list) else []:
        index = entry.get("index") if isinstance(entry, dict) else None
        if isinstance(index, int) and 0 <= index < len(batch):
            reason = f"{entry.get('field') or 'event'}: {entry.get('error') or 'refused'}"
            refused[batch[index][0]] = reason[:500]
    return refused
