"""Bounds of the total payoff of all players."""

from itertools import product
from typing import Any

import pytest

from cheaptalk.games.battle_royale.rules import BattleRoyale
from cheaptalk.games.deal_or_no_deal.contexts import all_contexts
from cheaptalk.games.deal_or_no_deal.rules import DealOrNoDeal
from cheaptalk.games.diners_dilemma.rules import DinersDilemma
from cheaptalk.games.divide_the_dollar.rules import DivideTheDollar
from cheaptalk.games.el_farol_bar.rules import ElFarolBar
from cheaptalk.games.guess_the_average.rules import GuessTheAverage
from cheaptalk.games.pirate_game.rules import PirateGame
from cheaptalk.games.public_goods.rules import PublicGoods
from cheaptalk.rules import Chance


def test_total_bounds_of_rounds_match_enumeration() -> None:
    cases: list[tuple[Any, Any]] = [
        (DinersDilemma(players=3, rounds=1), ("cheap", "costly")),
        (ElFarolBar(players=4, rounds=1), ("go", "stay")),
        (ElFarolBar(players=4, rounds=1, capacity=1), ("go", "stay")),
        (DivideTheDollar(players=3, rounds=1, golds=3), range(4)),
        (GuessTheAverage(players=3, rounds=1, maximum=3), range(4)),
        (PublicGoods(players=3, rounds=1, tokens=3), range(4)),
        (PublicGoods(players=3, rounds=1, tokens=3, factor=0.5), range(4)),
    ]
    for game, choices in cases:
        instance = game.draw_instance(Chance("any"))
        totals = [
            sum(game.gains(1, row, instance)) for row in product(choices, repeat=game.players)
        ]
        assert game.total_bounds()["player"] == pytest.approx((min(totals), max(totals)))
        longer = game.model_copy(update={"rounds": 5})
        # Guess the average pays the share of rounds won.
        rounds = 1 if game.name == "guess_the_average" else 5
        assert longer.total_bounds()["player"] == pytest.approx(
            (rounds * min(totals), rounds * max(totals))
        )


def test_total_bounds_of_single_prizes() -> None:
    assert BattleRoyale().total_bounds() == {"player": (0.0, 1.0)}
    assert PirateGame(gold=70).total_bounds() == {"player": (70.0, 70.0)}


def test_total_bounds_of_deal_or_no_deal_match_best_context() -> None:
    for objective in (0.0, 0.5, 1.0, -1.0):
        best = max(
            sum(
                count * max(values)
                for count, values in zip(
                    context.counts, zip(*context.values, strict=True), strict=True
                )
            )
            for context in all_contexts()
        )
        totals = DealOrNoDeal(objective=objective).total_bounds()["player"]
        assert totals == (0.0, (1 + objective) * best)
