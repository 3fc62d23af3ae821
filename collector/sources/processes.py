"""Which processes an engine consists of, found by the socket that it listens on.

Reads Linux's process table only; no privilege is needed for one's own processes. What cannot be
seen (another user's engine, one behind a container's port forwarder) is None: unknown.
"""

from collections.abc import Iterable
from pathlib import Path

LISTEN = "0A"
# These hold the port for a process that lives elsewhere: in a container or on another host.
FORWARDERS = {"docker-proxy", "rootlessport", "slirp4netns", "pasta", "pasta.avx2", "ssh", "sshd"}


def _serves_loopback(address: str) -> bool:
    """Whether a hexadecimal socket address of /proc/net/tcp[6] takes loopback connections."""
    if len(address) == 8:
        return address == "00000000" or address.endswith("7F")
    v4_mapped = address.startswith("0000000000000000FFFF0000") and address.endswith("7F")
    return address in {"0" * 32, "0" * 24 + "01000000"} or v4_mapped


def listening_inodes(ports: Iterable[int], proc: Path = Path("/proc")) -> dict[int, set[int]]:
    """For each port the inodes of the sockets that listen on it for loopback clients."""
    found: dict[int, set[int]] = {port: set() for port in ports}
    for table in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            part = line.split()
            address, _, port = part[1].rpartition(":")
            number = int(port, 16)
            if part[3] == LISTEN and number in found and _serves_loopback(address):
                found[number].add(int(part[9]))
    return found


def _socket_inodes(process: Path) -> set[int]:
    """The inodes of a process's sockets; empty where it has ended or belongs to another user."""
    found = set()
    try:
        for link in (process / "fd").iterdir():
            try:
                target = str(link.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:
        return found
    return found


def _name_and_parent(process: Path) -> tuple[str, int] | None:
    """A process's name and its parent's id; the name may itself hold spaces and brackets."""
    try:
        head, _, tail = (process / "stat").read_text(errors="replace").rpartition(")")
    except OSError:
        return None
    return head.partition("(")[2], int(tail.split()[1])


def engine_processes(inodes: Iterable[set[int]], proc: Path = Path("/proc")) -> set[int] | None:
    """The ids of the processes that hold these sockets, and of their descendants.

    `inodes` has one set per engine, as `listening_inodes` gives them. None as soon as one
    engine's process cannot be told.
    """
    wanted = list(inodes)
    every = set().union(*wanted)
    owners: set[int] = set()
    held: set[int] = set()
    children: dict[int, list[int]] = {}
    for process in proc.iterdir():
        if not process.name.isdigit() or (told := _name_and_parent(process)) is None:
            continue
        name, parent = told
        children.setdefault(parent, []).append(int(process.name))
        mine = _socket_inodes(process) & every
        if mine and name not in FORWARDERS:
            owners.add(int(process.name))
            held |= mine
    if any(not sockets & held for sockets in wanted):
        return None
    return owners | _descendants(owners, children)


def _descendants(roots: set[int], children: dict[int, list[int]]) -> set[int]:
    """Every process below the roots."""
    found: set[int] = set()
    frontier = list(roots)
    while frontier:
        for child in children.get(frontier.pop(), []):
            if child not in found:
                found.add(child)
                frontier.append(child)
    return found
