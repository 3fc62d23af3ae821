"""User units of systemd for the parts of rigledger, and for a monthly report."""

from dataclasses import dataclass
from pathlib import Path

from collector.settings import Settings

# What a user's own service manager can enforce without namespaces, which would hide the
# engines' processes from the collector.
_HARDENING = """\
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
UMask=0077
"""

# Exit status 2 asks for a hand: starting again would fail the same way.
_SERVICE = """\
[Unit]
Description=rigledger: {what}
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
WorkingDirectory={folder}
ExecStart={command} {name}
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2
TimeoutStopSec=45
{hardening}
[Install]
WantedBy=default.target
"""

_REPORT = """\
[Unit]
Description=rigledger: the report of the last full month

[Service]
Type=oneshot
WorkingDirectory={folder}
ExecStartPre=mkdir -p reports
ExecStart={command} report --format md --out reports
{hardening}"""

_TIMER = """\
[Unit]
Description=rigledger: a report on the first of each month

[Timer]
OnCalendar=*-*-01 06:00:00 {zone}
Persistent=yes

[Install]
WantedBy=timers.target
"""

_PARTS = {
    "collect": "collector",
    "route": "taps",
    "dashboard": "pages",
}


@dataclass(frozen=True)
class Unit:
    """A unit file; `enable` tells whether it is started by itself."""

    name: str
    text: str
    enable: bool


def units(settings: Settings, config: Path, python: Path) -> list[Unit]:
    """The units for these settings. `config` and `python` are absolute paths."""
    command = f"{_quoted(python)} -P -m rigledger --config {_quoted(config)}"
    told = {
        "command": command,
        "folder": _escaped(config.parent),
        "hardening": _HARDENING,
    }
    found = [
        Unit(f"rigledger-{name}.service", _SERVICE.format(name=name, what=what, **told), True)
        for name, what in _PARTS.items()
        if name != "route" or settings.taps or settings.router.listen
    ]
    timer = _TIMER.format(zone=settings.rig.time_zone)
    return [
        *found,
        Unit("rigledger-report.service", _REPORT.format(**told), False),
        Unit("rigledger-report.timer", timer, True),
    ]


def enabling(found: list[Unit]) -> list[str]:
    """The commands that start the units, now and after each log-in."""
    names = " ".join(unit.name for unit in found if unit.enable)
    return ["systemctl --user daemon-reload", f"systemctl --user enable --now {names}"]


def _escaped(path: Path) -> str:
    """A path whose percent signs stand for themselves."""
    return str(path).replace("%", "%%")


def _quoted(path: Path) -> str:
    """A path as one word of a command line of systemd."""
    plain = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{plain}"'.replace("%", "%%")
