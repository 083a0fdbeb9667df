"""Array games play what the rules play: the same moves, the same endings, the same knowledge."""

from typing import Any

import numpy as np
import pytest

from cheaptalk.arrays.games import ArrayGame, array_game
from cheaptalk.games.item_bargaining.rules import PRESETS
from cheaptalk.rules import Chance, Game, Table, game_box

FEW = 4
"""Matches of which all actions are looked at, legal or not."""
MANY = 2_000
"""Actions up to which all are looked at."""
GAMES: dict[str, Game] = {
    **{
        name: game_box("item_bargaining").rules.model_validate(parameters)
        for name, parameters in PRESETS.items()
    },
    **{
        f"BGL, zeros {zeros}": game_box("item_bargaining").rules.model_validate(
            {"quantities": {"kinds": 3, "mean": 1, "zeros": zeros}, "rounds": 2,
             "least_outside": 0, "below_total": True, "highest_value": 9}
        )
        for zeros in ("kept", "redrawn", "plus_one")
    },
    "bargaining": game_box("bargaining").rules.model_validate(
        {"money": 100, "discounts": (0.9, 0.8), "horizon": 6, "messages": False}
    ),
    "bargaining with words": game_box("bargaining").rules.model_validate(
        {"money": 0.3, "discounts": (1, 0.95), "horizon": {"rounds": 5, "hidden": True},
         "complete_information": False, "reminders": False}
    ),
    "negotiation": game_box("negotiation").rules.model_validate({"horizon": 4}),
    "negotiation without John": game_box("negotiation").rules.model_validate(
        {"horizon": 1, "outside_option": False, "messages": False, "scale": 100}
    ),
}  # fmt: skip


def walked(game: ArrayGame[Any, Any], state: Any, luck: np.random.Generator) -> None:
    """Play matches by arrays and by the rules at once, and hold them against each other."""
    deals = game.deals_of(state)
    tables = [Table(game.rules, deal, f"match {n}") for n, deal in enumerate(deals)]
    places = {seat.name: seat.place for seat in game.rules.seats}
    for _ in range(game.longest):
        turn, legal, over = game.turn(state), None, game.over(state)
        if game.actions <= MANY:
            legal = game.legal(state)
        seen = game.observe(state, turn)
        actions = game.drawn(state, luck.random(len(tables)))
        for at, table in enumerate(tables):
            assert bool(over[at]) is table.over
            if table.over:
                assert legal is None or not legal[at].any()
                continue
            seat = next(one for one in table.pending if places[one] == game.players[turn[at]])
            asked = table.asked(seat)
            np.testing.assert_array_equal(game.seen(asked), seen[at])
            if legal is not None and at < FEW:
                for number in range(game.actions):
                    action = game.action(asked, number)
                    refused = asked.ask.refuse(action)
                    assert (refused is None) == legal[at, number], (number, refused)
                    assert not legal[at, number] or game.number(asked, action) == number
            table.answer(seat, game.action(asked, int(actions[at])))
        state = game.step(state, actions)
    got = game.returns(state)
    for at, table in enumerate(tables):
        assert table.over
        assert game.over(state)[at]
        assert table.outcome is not None
        payoffs = game.rules.place_payoffs(table.outcome)
        assert [payoffs[place] for place in game.players] == got[at].tolist()


@pytest.mark.parametrize("name", list(GAMES))
def test_arrays_and_rules_play_alike(name: str) -> None:
    game, luck = array_game(GAMES[name]), np.random.default_rng(1)
    walked(game, game.deal(luck.random((60, game.luck))), luck)  # dealt by arrays
    dealt = [game.rules.deal(Chance("agreement", n)) for n in range(20)]
    state = game.of_deals(dealt)
    assert game.deals_of(state) == dealt
    walked(game, state, luck)  # dealt by the rules


@pytest.mark.parametrize("name", list(GAMES))
def test_deals_are_drawn_from_the_same_distribution(name: str) -> None:
    """The means of all that is dealt differ by less than luck would have it."""
    game, count = array_game(GAMES[name]), 3_000
    luck = np.random.default_rng(2).random((count, game.luck))
    one = game.observe(game.deal(luck), 0)
    dealt = game.of_deals([game.rules.deal(Chance("distribution", n)) for n in range(count)])
    other = game.observe(dealt, 0)
    error = np.sqrt((one.var(axis=0) + other.var(axis=0)) / count)
    assert (np.abs(one.mean(axis=0) - other.mean(axis=0)) <= 4.5 * error + 1e-6).all()


@pytest.mark.parametrize("name", list(GAMES))
def test_every_legal_action_is_drawn_as_often(name: str) -> None:
    game, luck = array_game(GAMES[name]), np.random.default_rng(3)
    if game.actions > MANY:
        pytest.skip("more actions than can be counted")
    state = game.deal(np.repeat(luck.random((1, game.luck)), 200 * game.actions, axis=0))
    for _ in range(min(3, game.longest)):
        actions = game.drawn(state, luck.random(200 * game.actions))
        counts = np.bincount(actions, minlength=game.actions)
        legal = game.legal(state)[0]
        assert not counts[~legal].any()
        wanted = counts.sum() / legal.sum()
        assert np.abs(counts[legal] - wanted).max() < 5.5 * np.sqrt(wanted)
        state = game.step(state, np.repeat(actions[-1:], len(actions)))
        if game.over(state).all():
            return


@pytest.mark.parametrize("name", ["BG5", "BG1", "bargaining", "negotiation"])
def test_jax_plays_the_same_functions(name: str) -> None:
    jax = pytest.importorskip("jax")
    game, luck = array_game(GAMES[name]), np.random.default_rng(4)
    first = luck.random((50, game.luck)).astype(np.float32)
    state, compiled = game.deal(first), jax.jit(game.deal)(first)
    for _ in range(game.longest):
        actions = game.drawn(state, luck.random(50))
        state, compiled = game.step(state, actions), jax.jit(game.step)(compiled, actions)
        for one, other in zip(state, compiled, strict=True):
            np.testing.assert_array_equal(one, np.asarray(other))
        np.testing.assert_allclose(
            game.observe(state, 1), jax.jit(game.observe)(compiled, 1), atol=1e-6
        )
    np.testing.assert_allclose(game.returns(state), jax.jit(game.returns)(compiled), rtol=1e-5)
