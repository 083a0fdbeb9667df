"""Games of other systems are checked before they are stored."""

from collections.abc import Iterator, Mapping
from pathlib import Path

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


def test_game_with_illegal_move_is_named(tmp_path: Path) -> None:
    rules = ct.games.DivideTheDollar(players=2, rounds=1)

    def games() -> Iterator[ct.records.ImportedGame]:
        for name, bid in (("fine", 50), ("odd", -1)):
            table = ct.Table(rules, rules.draw_instance(ct.Chance(name)), name)
            for seat in rules.seats:
                table.answer(seat, ct.games.divide_the_dollar.rules.Bid(bid_amount=bid))
            yield ct.records.ImportedGame(name, table, dict.fromkeys(rules.seats, MODEL))

    collection = ct.records.GameCollection("ours", games())
    with pytest.raises(ct.CheaptalkError, match=r"^the game after fine: "):
        ct.import_matches(collection, tmp_path / "store.sqlite", "old")
