"""Other programs to measure against; they live in an environment of their own, `build/peers`."""

from collections.abc import Sequence
from pathlib import Path

PEERS = Path(__file__).parent.parent / "build" / "peers" / "bin" / "python"
# Two of them bring a script called `smg`; hence by module.
_MODULES = {
    "sglang-router": "sglang_router.launch_router",
    "SMG": "smg.launch_router",
    "vllm-router": "vllm_router.launch_router",
}
_PACKAGES = {"sglang-router": "sglang_router", "SMG": "smg", "vllm-router": "vllm_router"}
# What each is run with in a comparison of policies: as it comes, and tuned for a few cards.
POLICIES: dict[str, tuple[str, list[str]]] = {
    "round robin (sglang-router)": ("sglang-router", ["--policy", "round_robin"]),
    "sglang-router": ("sglang-router", ["--policy", "cache_aware"]),
    "sglang-router abs 0": (
        "sglang-router",
        ["--policy", "cache_aware", "--balance-abs-threshold", "0"],
    ),
    "SMG": ("SMG", ["--policy", "cache_aware"]),
    "SMG abs 0": ("SMG", ["--policy", "cache_aware", "--balance-abs-threshold", "0"]),
    "SMG least_load": ("SMG", ["--policy", "least_load"]),
    "vllm-router": ("vllm-router", ["--policy", "cache_aware"]),
}


def command(
    peer: str, listen: str, engines: Sequence[str], options: Sequence[str]
) -> list[str] | None:
    """The command of a peer in front of engines; None where it is not installed."""
    packages = PEERS.parent.parent.glob(f"lib/python*/site-packages/{_PACKAGES[peer]}")
    if not PEERS.exists() or not any(packages):
        return None
    host, _, port = listen.rpartition(":")
    start = [str(PEERS), "-m", _MODULES[peer], "--host", host, "--port", port]
    return [*start, "--worker-urls", *engines, *options, "--log-level", "error"]


def sglang_router(listen: str, engine: str) -> list[str] | None:
    """The command of sglang-router in front of one engine; None where it is not installed."""
    return command("sglang-router", listen, [engine], ["--policy", "round_robin"])
