"""The pages by their names in the address, in their order."""

from typing import Final

PAGES: Final = ("overview", "cost", "utilization", "compare", "routing", "requests", "settings")
