"""The demo shows installed games of others, and survives those that are broken."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import cheaptalk as ct
from cheaptalk.rules.registry import GAMES
from cheaptalk.studies.plans.plan import plan
from cheaptalk.web import demo

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = ("tender", "ultimatum")


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two games of other packages, registered."""
    for name in NAMES:
        monkeypatch.syspath_prepend(str(EXAMPLES / name))
        GAMES.add(name, __import__(name).BOX)
    yield
    for name in NAMES:
        GAMES.remove(name)


@pytest.mark.parametrize("name", NAMES)
def test_an_installed_game_is_played_against_scripts_and_with_others(
    name: str, examples: None
) -> None:
    matches = [one for one in plan(demo()).matches if one.configuration.game.name == name]
    tables = {tuple(sorted(who.label for who in one.seating)) for one in matches[:20_000]}
    assert any("bot" in table and "you" in table for table in tables)
    assert any(set(table) == {"you"} for table in tables)


def test_a_game_that_cannot_be_added_is_left_out(
    examples: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("a bug of the plug-in")

    monkeypatch.setattr("cheaptalk.web.rooms.demo._with_game", broken)
    assert "ultimatum" not in {one.game for one in demo().games}
    assert "the demo leaves out ultimatum" in caplog.text
    assert set(ct.rules.games()) > {one.game for one in demo().games}
