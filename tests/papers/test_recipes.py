"""All papers' recipes on a study of another game."""

from pathlib import Path

import pytest

from tests.papers.studies import play, report

EXPECTED = {
    "chips": "no game of chip_trading in this study has finished; the preset chip-trading has",
    "gama": "the preset gama",
    "glee": "the preset glee has",
    "metagame": "the preset item-bargaining-heuristics",
    "self-play": "no match of deal_or_no_deal has finished; the preset self-play has",
}
"""How to get the data of at least one part, by recipe."""


@pytest.mark.parametrize("recipe", EXPECTED)
def test_other_game_shows_only_played_tables(recipe: str, tmp_path: Path) -> None:
    game = "bargaining" if recipe == "self-play" else "deal_or_no_deal"
    study = {"name": "other", "games": [{"game": game}], "players": {"a": "random"}}
    results = report(play(tmp_path, study, pairing="self"), recipe)
    assert list(results.tables) == ["played", "played-by-player"]
    assert len(results.lacking) == len(results.parts) - 1
    assert any(EXPECTED[recipe] in reason for reason in results.lacking.values())
