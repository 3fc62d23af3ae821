"""Cards made of a text file: the fake driver library, built on the spot, and its values."""

import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("fake_nvml.c")
LIBRARY = "libnvidia-ml.so.1"
LOST = 15
READY = {
    "power": 25_000,
    "energy": 1_000,
    "utilization": 0,
    "memory": 1 << 30,
    "clock": 210,
    "temperature": 40,
    "throttle": 1,
}


def build_library(folder: Path) -> Path | None:
    """Compile the fake libnvidia-ml.so.1 into a folder; None without a C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        return None
    target = folder / LIBRARY
    flags = ["-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", f"-Wl,-soname,{LIBRARY}"]
    subprocess.run([compiler, *flags, "-o", target, SOURCE], check=True)
    return folder


class FakeCards:
    """The driver's answers; every change is in force at the next call.

    `environment` makes a child process load the fake library. Questions are the ones of
    `READY`, `compute` and `graphics` (process ids), each also as `<question>.error` (an NVML
    return code) and `<question>.hang` (seconds); `all.error` fails them all.
    """

    def __init__(self, library: Path, folder: Path) -> None:
        self.file = folder / "fake_nvml.txt"
        self.environment = {"LD_LIBRARY_PATH": str(library), "FAKE_NVML": str(self.file)}
        self.driver: dict[str, object] = {"driver": "580.65.06"}
        self.cards: dict[str, dict[str, object]] = {}
        self._save()

    def add(self, uuid: str, **answers: object) -> None:
        """Plug in a card that answers every question; an answer of None is not supported."""
        self.cards[uuid] = {**READY, **answers}
        self._save()

    def answer(self, uuid: str, **answers: object) -> None:
        """Change answers; `power_error=15` stands for `power.error`, None takes one away."""
        for name, value in answers.items():
            question, _, suffix = name.partition("_")
            self.cards[uuid][f"{question}.{suffix}" if suffix else question] = value
        self._save()

    def order(self, *uuids: str) -> None:
        """Enumerate the cards in this order from now on."""
        self.cards = {uuid: self.cards[uuid] for uuid in uuids}
        self._save()

    def fail_init(self, code: int | None) -> None:
        """Let nvmlInit fail with a return code, or work again."""
        self.driver["init"] = code
        self._save()

    def _save(self) -> None:
        """Write aside and rename: a call must never read half a file."""
        lines = [f"{key} {value}" for key, value in self.driver.items() if value is not None]
        lines.append(f"cards {' '.join(self.cards)}")
        for uuid, answers in self.cards.items():
            for question, value in answers.items():
                text = " ".join(map(str, value)) if isinstance(value, list) else value
                if value is not None:
                    lines.append(f"{uuid}.{question} {text}")
        aside = self.file.with_suffix(".new")
        aside.write_text("".join(f"{line}\n" for line in lines))
        aside.replace(self.file)
