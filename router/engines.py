"""Which declaration of an engine is in force, for engines that moved between cards."""

from bisect import bisect_right

from collector.settings import EngineSettings, Settings, SettingsError


class Assignments:
    """The dated declarations of one engine."""

    def __init__(self, settings: Settings, engine: str) -> None:
        """Raises SettingsError when no `[[engines]]` entry has this name."""
        dated = sorted(
            ((settings.midnight_ns(e.from_), e) for e in settings.engines if e.name == engine),
            key=lambda pair: pair[0],
        )
        if not dated:
            raise SettingsError(
                f"[[taps]]: no engine is named {engine!r}; add it under [[engines]] or correct it"
            )
        self.name = engine
        self._starts = [start for start, _ in dated]
        self._engines = [declared for _, declared in dated]

    def at(self, instant_ns: int) -> EngineSettings:
        """The declaration in force at an instant; before the first one, the first."""
        return self._engines[max(0, bisect_right(self._starts, instant_ns) - 1)]
