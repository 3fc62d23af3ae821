"""One card as the driver tells of it: what is asked, what may be believed, what failed."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
import pynvml

from collector import clock
from collector.sources.nvml_wire import Counter, Reading

WORDS = {
    pynvml.NVML_ERROR_UNINITIALIZED: "NVML is not initialised",
    pynvml.NVML_ERROR_INVALID_ARGUMENT: "invalid argument",
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not supported by the card",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission",
    pynvml.NVML_ERROR_NOT_FOUND: "not found",
    pynvml.NVML_ERROR_INSUFFICIENT_POWER: "a power cable is missing",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    pynvml.NVML_ERROR_TIMEOUT: "timed out",
    pynvml.NVML_ERROR_IRQ_ISSUE: "the kernel gets no interrupts from the card",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "the library libnvidia-ml.so.1 is not installed",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "unknown to this driver",
    pynvml.NVML_ERROR_CORRUPTED_INFOROM: "the card's infoROM is corrupted",
    pynvml.NVML_ERROR_GPU_IS_LOST: "GPU is lost",
    pynvml.NVML_ERROR_RESET_REQUIRED: "the card needs a reset",
    pynvml.NVML_ERROR_OPERATING_SYSTEM: "blocked by the operating system",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "driver and library differ in version",
    pynvml.NVML_ERROR_IN_USE: "in use",
    pynvml.NVML_ERROR_MEMORY: "out of memory",
    pynvml.NVML_ERROR_NO_DATA: "no data",
    pynvml.NVML_ERROR_NOT_READY: "not ready",
    pynvml.NVML_ERROR_GPU_NOT_FOUND: "no such card",
    pynvml.NVML_ERROR_INVALID_STATE: "invalid state",
    pynvml.NVML_ERROR_UNKNOWN: "unknown driver error",
}
# After one of these nothing else that the card says can be believed.
LOST = {
    pynvml.NVML_ERROR_UNINITIALIZED,
    pynvml.NVML_ERROR_NOT_FOUND,
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED,
    pynvml.NVML_ERROR_GPU_IS_LOST,
    pynvml.NVML_ERROR_RESET_REQUIRED,
    pynvml.NVML_ERROR_GPU_NOT_FOUND,
}
ABSENT = {pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND}
ERROR_LENGTH = 256
INT64_MAX = 2**63 - 1
# No card draws more; a fifth is left for the counter's own jumps.
MOST_MW = 1_500_000 * 12 // 10
T = TypeVar("T")


class CardLostError(Exception):
    """The card does not answer any more; the message says which call told so."""


def words(code: int) -> str:
    """An NVML return code in words."""
    return WORDS.get(code, f"NVML error {code}")


def _power(handle: Any) -> int:
    return int(pynvml.nvmlDeviceGetPowerUsage(handle))


def _utilization(handle: Any) -> int:
    return int(pynvml.nvmlDeviceGetUtilizationRates(handle).gpu)


def _memory(handle: Any) -> int:
    return int(pynvml.nvmlDeviceGetMemoryInfo(handle).used)


def _clock(handle: Any) -> int:
    return int(pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM))


def _temperature(handle: Any) -> int:
    return int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU))


def _throttle(handle: Any) -> int:
    """Drivers before 535 know the call by its older name only."""
    try:
        return int(pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle))
    except pynvml.NVMLError_FunctionNotFound:
        return int(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle))


def _processes(handle: Any) -> set[int]:
    """The ids of the processes that compute or draw on the card."""
    compute = pynvml.nvmlDeviceGetComputeRunningProcesses(handle)
    graphics = pynvml.nvmlDeviceGetGraphicsRunningProcesses(handle)
    return {int(process.pid) for process in (*compute, *graphics)}


# A field of the reading, its name in an error, its call, and the values that can be true:
# a card that answers draws power, so 0 mW is a sensor that says nothing.
CALLS: list[tuple[str, str, Callable[[Any], int], int, int]] = [
    ("power_mw", "power", _power, 1, 10_000_000),
    ("util_pct", "utilization", _utilization, 0, 100),
    ("memory_used_b", "memory", _memory, 0, 2**50),
    ("sm_clock_mhz", "clock", _clock, 0, 100_000),
    ("temp_c", "temperature", _temperature, 0, 250),
    ("throttle_mask", "throttle", _throttle, 0, INT64_MAX),
]


class Card:
    """A card by its UUID: its handle (None: not reached) and where its energy counter stood.

    `counts_energy` is None until the counter was asked for once.
    """

    def __init__(self, uuid: str, counter: Counter, boot: str) -> None:
        self.uuid = uuid
        self.counter = counter
        self.boot = boot
        self.counts_energy: bool | None = None
        self.handle: Any = None

    def read(self) -> tuple[Reading, set[int] | None]:
        """The card now, and the ids of the processes on it (None: unknown).

        A lost card gives a reading with its error alone; every other failure leaves its field.
        """
        reading = Reading(device=self.uuid, at_ns=clock.boot_ns())
        failures: list[str] = []
        before = self.counter
        try:
            self._reach()
            self._read_energy(reading, failures)
            for field, name, call, low, high in CALLS:
                value = self._ask(name, call, failures)
                if value is not None and not low <= value <= high:
                    failures.append(f"{name}: the driver says {value}")
                elif value is not None:
                    setattr(reading, field, value)
            pids = self._ask("processes", _processes, failures)
        except CardLostError as lost:
            self._lose(before)
            error = str(lost)[:ERROR_LENGTH]
            return Reading(device=self.uuid, at_ns=reading.at_ns, lost=True, error=error), None
        reading.error = "; ".join(failures)[:ERROR_LENGTH] or None
        return reading, pids

    def _reach(self) -> None:
        """Have a handle. Cards are found by UUID: their order changes from boot to boot."""
        if self.handle is not None:
            return
        try:
            self.handle = pynvml.nvmlDeviceGetHandleByUUID(self.uuid)
        except pynvml.NVMLError as error:
            raise CardLostError(f"handle: {words(error.value)}") from None

    def _lose(self, before: Counter) -> None:
        """Forget the handle; a card that comes back may count its energy from 0 again."""
        self.handle = None
        self.counter = msgspec.structs.replace(before, lost=before.last_mj is not None)

    def _ask(self, name: str, call: Callable[[Any], T], failures: list[str]) -> T | None:
        """Make one call; its failure is noted and gives None. Raises CardLostError."""
        try:
            return call(self.handle)
        except pynvml.NVMLError as error:
            told = f"{name}: {words(error.value)}"
            if error.value in LOST:
                raise CardLostError(told) from None
            failures.append(told)
            return None

    def _read_energy(self, reading: Reading, failures: list[str]) -> None:
        """Read the energy counter, mJ, unless the card said once that it has none: it is not
        supported, or nothing has been counted at the first reading."""
        if self.counts_energy is False:
            return
        mj = self._ask("energy", self._probe, failures)
        if mj == 0 and self.counter.last_mj is None:
            # Whatever answers here has drawn something since the driver was loaded.
            self.counts_energy = False
        if not self.counts_energy or mj is None or not 0 <= mj <= INT64_MAX // 1000:
            return
        anew = self._began_anew(mj, reading.at_ns)
        resets = self.counter.resets + anew
        self.counter = Counter(resets=resets, last_mj=mj, read_ns=reading.at_ns)
        reading.energy_uj_total = mj * 1000
        reading.counter_epoch = f"{self.boot}-{self.counter.resets}"

    def _began_anew(self, mj: int, now_ns: int) -> bool:
        """Whether the counter may have started again since it was last read.

        After a loss it is believed only where it stands higher than a new one could by now.
        """
        last = self.counter
        if last.last_mj is None or mj < last.last_mj:
            return last.last_mj is not None
        if not last.lost or last.read_ns is None:
            return last.lost
        return mj * clock.SECOND_NS <= MOST_MW * (now_ns - last.read_ns)

    def _probe(self, handle: Any) -> int | None:
        """The energy counter, mJ; None, and never asked again, where the card has none."""
        try:
            mj = int(pynvml.nvmlDeviceGetTotalEnergyConsumption(handle))
        except pynvml.NVMLError as error:
            if self.counts_energy is None and error.value in ABSENT:
                self.counts_energy = False
                return None
            raise
        self.counts_energy = True
        return mj
