"""What stands over the pages of a month that was closed."""

import re
from pathlib import Path

import pytest
from rig import page
from rig.page import PATIENCE_S, forget_all
from streamlit.testing.v1 import AppTest

from analytics import publish
from collector.closed import FOLDER

pytestmark = pytest.mark.usefixtures("forget")

APP = Path(__file__).parent.parent / "dashboard" / "app.py"
CLOSED = "October 2026 was closed on"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rig once the page has built its days."""
    folder = tmp_path_factory.mktemp("built")
    config = page.write_settings(folder, page.HARDWARE, page.FREE_POWER, page.PRICES)
    page.write_ledger(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RIGLEDGER_CONFIG", str(config))
        opened()
    forget_all()
    return folder


@pytest.fixture
def config(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    config = page.copied(built, tmp_path)
    monkeypatch.setenv("RIGLEDGER_CONFIG", str(config))
    return config


def opened() -> AppTest:
    at = AppTest.from_file(str(APP), default_timeout=PATIENCE_S)
    at.query_params["month"] = page.MONTH
    at.run()
    assert not at.exception
    return at


def said(at: AppTest) -> list[str]:
    return [told.value for told in [*at.info, *at.warning, *at.error] if "closed" in told.value]


def test_an_open_month_says_nothing(config: Path) -> None:
    assert said(opened()) == []


def test_a_month_as_it_was_filed(config: Path) -> None:
    publish.close(config, page.MONTH, restate=False)
    (told,) = said(opened())
    assert told.startswith(CLOSED)
    assert told.endswith("its figures are as filed then.")


def test_a_month_whose_books_have_changed_since(config: Path) -> None:
    """The machine of 35,064 cost 744 in October; one of 70,128 costs twice as much."""
    publish.close(config, page.MONTH, restate=False)
    config.write_text(config.read_text().replace('price = "35064"', 'price = "70128"'))
    at = opened()
    (told,) = said(at)
    changed = r"Since it was last filed, \d+ figures and \d+ rows of its tables changed, "
    assert re.search(f"{changed}its cost from 744.00 to 1,488.00 USD", told)
    assert "this page shows the books as they stand now" in told
    assert "35064 → 70128" in told
    assert at.metric[0].value == "744"  # per million of two million output tokens: as they stand
    publish.close(config, page.MONTH, restate=True)
    forget_all()
    (told,) = said(opened())
    assert told.endswith("its figures are as in restatement 1.")


def test_a_closing_that_was_edited_is_told(config: Path) -> None:
    file = publish.close(config, page.MONTH, restate=False)
    file.chmod(0o600)
    file.write_text(file.read_text().replace("744", "745", 1))
    above, beside_the_button = said(opened())
    assert above.startswith("This closed month was changed:")
    assert FOLDER in above
    assert FOLDER in beside_the_button
