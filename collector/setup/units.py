"""User units of systemd for the parts of rigledger and for a monthly report, or a line for cron."""

import shlex
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
ExecStart={command} report --format html --out reports
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


def cron(config: Path, python: Path) -> str:
    """A line for a crontab that keeps a report of every month. Both paths are absolute.

    Cron goes by the system's zone: only on the second has the month begun in every zone.
    """
    rig, program, settings = (shlex.quote(str(p)) for p in (config.parent, python, config))
    command = (
        f"cd {rig} && mkdir -p reports &&"
        f" {program} -P -m rigledger --config {settings} report --format html --out reports"
    )
    return f"0 6 2 * * {command}".replace("%", "\\%")  # a bare one ends cron's command


def _escaped(path: Path) -> str:
    """A path whose percent signs stand for themselves."""
    return str(path).replace("%", "%%")


def _quoted(path: Path) -> str:
    """A path as one word of a command line of systemd."""
    plain = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{plain}"'.replace("%", "%%")
