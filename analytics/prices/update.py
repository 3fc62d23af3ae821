"""The newest price lists of genai-prices, fetched only when asked for.

They are kept as they came, in one file among one's own sheets, and stand in for those of the
package from then on. Whatever fails on the way leaves the file that was there.
"""

from pathlib import Path

import requests
from genai_prices.update_prices import DEFAULT_UPDATE_URL

from analytics.prices.genai import GenaiPrices, providers_of
from analytics.prices.own import put
from analytics.prices.read import FETCHED

# Seconds to connect, and between two pieces of the answer.
TIMEOUT_S = (10, 30)
SIZE_MAX = 64 * 2**20


class CannotUpdate(ValueError):
    """Nothing was fetched, and what was there stays; the message says why and what to do."""


def update(folder: Path, url: str | None = None) -> str:
    """Fetch the lists into the folder. Returns what there is now. Raises CannotUpdate."""
    url = url or DEFAULT_UPDATE_URL
    content = _fetched(url)
    try:
        found = GenaiPrices(providers_of(content))
    except ValueError as error:
        raise CannotUpdate(f"{url}: {error}; the old price lists stay") from None
    put(folder / FETCHED, content)
    return f"{len(found.names())} sheets of genai-prices are in {folder / FETCHED}."


def _fetched(url: str) -> bytes:
    try:
        with requests.get(url, timeout=TIMEOUT_S, stream=True) as answer:
            answer.raise_for_status()
            content = bytearray()
            for piece in answer.iter_content(2**16):
                content += piece
                if len(content) > SIZE_MAX:
                    raise CannotUpdate(f"{url}: over 64 MiB is no price list; the old ones stay")
            return bytes(content)
    except requests.RequestException as error:
        reason = str(error).partition("(Caused by")[0].strip(" (") or type(error).__name__
        raise CannotUpdate(
            f"{url} cannot be fetched ({reason}); the old price lists stay, try again later"
        ) from None
