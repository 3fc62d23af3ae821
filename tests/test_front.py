"""A front tap before another router: what that drops is joined to what the workers' taps saw."""

from rig.ledger import SECOND, START

from analytics.periods import Period
from collector.settings import EngineSettings

HOUR = Period("hour", START, START + 3_600 * SECOND)
LATER = START + 10**15
ENGINES = [
    EngineSettings(name=f"card{n}", url=f"http://10.0.0.{n}:80", gpus=[f"GPU-{n}"]) for n in (0, 1)
]
