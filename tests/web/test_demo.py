"""The demo shows installed games of others, and survives those that are broken."""

import pytest

import cheaptalk as ct
from cheaptalk.studies.plans.plan import plan
from cheaptalk.web import demo
from tests.conftest import EXAMPLE_GAMES


@pytest.mark.parametrize("name", EXAMPLE_GAMES)
def test_an_installed_game_is_played_against_scripts_and_with_others(
    name: str, example_games: None
) -> None:
    matches = [match for match in plan(demo()).matches if match.configuration.game.name == name]
    tables = {tuple(sorted(who.label for who in match.seating)) for match in matches[:20_000]}
    assert any("bot" in table and "you" in table for table in tables)
    assert any(set(table) == {"you"} for table in tables)


def test_a_game_that_cannot_be_added_is_left_out(
    example_games: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("a bug of the plug-in")

    monkeypatch.setattr("cheaptalk.web.rooms.demo._with_game", broken)
    assert "ultimatum" not in {game.game for game in demo().games}
    assert "game ultimatum is not included in the demo" in caplog.text
    assert set(ct.rules.games()) > {game.game for game in demo().games}
