"""Games of other systems are checked before they are stored."""

from collections.abc import Mapping

import pytest

import cheaptalk as ct
from cheaptalk.players import ImportedSeat

MODEL = ImportedSeat(imported="ours", model="gpt-4o")


@pytest.mark.parametrize(
    ("answers", "seats", "problem"),
    [
        (0, {"alice": MODEL, "bob": MODEL}, "row 7: the table isn't over, but asks alice"),
        (2, {"alice": MODEL}, "row 7: seats names alice; expected .* for each of alice, bob"),
        (2, {}, "row 7: seats names no seat; expected"),
    ],
)
def test_incomplete_game_names_what_is_missing(
    answers: int, seats: Mapping[str, ImportedSeat], problem: str
) -> None:
    rules = ct.games.Bargaining(horizon=ct.rules.Horizon(rounds=1))
    instance = rules.draw_instance(ct.Chance("1"))
    players = dict.fromkeys(rules.seats, ct.get_game("bargaining").strategies["linear"])
    table = ct.Table(rules, instance, "1")
    for given in ct.play(rules, instance, "1", players).given[:answers]:
        table.answer(given.actor, given.action)
    with pytest.raises(ct.CheaptalkError, match=problem):
        ct.records.ImportedGame("game 1", table, seats, location="row 7")
