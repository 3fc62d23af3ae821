"""Other programs to measure against; they live in an environment of their own, `build/peers`."""

from pathlib import Path

PEERS = Path(__file__).parent.parent / "build" / "peers" / "bin" / "python"


def sglang_router(listen: str, engine: str) -> list[str] | None:
    """The command of sglang-router in front of one engine; None where it is not installed."""
    packages = PEERS.parent.parent.glob("lib/python*/site-packages/sglang_router/*.so")
    if not PEERS.exists() or not any(packages):
        return None
    host, _, port = listen.rpartition(":")
    command = [str(PEERS), "-m", "sglang_router.launch_router", "--host", host, "--port", port]
    return [*command, "--worker-urls", engine, "--policy", "round_robin", "--log-level", "error"]
