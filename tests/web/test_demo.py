"""The demo includes installed third-party games, and skips broken ones."""

import pytest

import cheaptalk as ct
from cheaptalk.studies.plans.plan import plan
from cheaptalk.web import demo
from tests.conftest import EXAMPLE_GAMES


@pytest.mark.parametrize("name", EXAMPLE_GAMES)
def test_installed_game_is_offered_with_bots_and_with_people(
    name: str, example_games: None
) -> None:
    matches = [match for match in plan(demo()).matches if match.configuration.game.name == name]
    tables = {tuple(sorted(player.label for player in match.seating)) for match in matches[:20_000]}
    assert any("bot" in table and "you" in table for table in tables)
    assert any(set(table) == {"you"} for table in tables)


def test_broken_game_is_excluded(
    example_games: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> dict[str, object]:
        raise ZeroDivisionError("a bug of the plug-in")

    monkeypatch.setattr("cheaptalk.web.rooms.demo._with_game", broken)
    assert "ultimatum" not in {game.game for game in demo().games}
    assert "game ultimatum is not included in the demo" in caplog.text
    assert set(ct.rules.games()) > {game.game for game in demo().games}
