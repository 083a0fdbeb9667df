"""Array games agree with the rules on moves, endings and observations."""

from functools import partial
from math import perm
from typing import Any

import numpy as np
import pytest
import yaml

from cheaptalk.arrays.chance import draw_distinct, uniform_count
from cheaptalk.arrays.games import ArrayGame, NoArrayGame, array_game
from cheaptalk.games.battle_royale.rules import Hits
from cheaptalk.games.item_bargaining.rules import PRESETS
from cheaptalk.rules import Chance, Game, Table, get_game

CHECKED_MATCHES = 2
"""Matches whose actions are all checked for legality."""
MAX_CHECKED_ACTIONS = 2_000
"""Number of actions up to which legality masks are checked."""
SETTINGS: dict[str, list[dict[str, Any]]] = yaml.safe_load("""
bargaining:
  - {money: 100, discounts: [0.9, 0.8], horizon: 6, messages: false}
  - money: 0.3
    discounts: [1, 0.95]
    horizon: {rounds: 5, hidden: true}
    complete_information: false
    reminders: false
battle_royale:
  - {horizon: 12, hit_rates: [0.3, 0.5, 0.5, 1.0], idle_rounds: 3}
  - horizon: {rounds: 15, hidden: true}
    hit_rates: [0.1, 0.2, 0.3]
    strict_targets: false
    idle_rounds: 2
chip_trading:
  - {}
  - {players: 3, colours: [green, red], chips: 2, rounds: 4}
  - {players: 2, chips: 1, values: [5, 60], common_value: 90}
  - {players: 5, colours: [green, red], chips: 3, rounds: 1}
diners_dilemma: [{players: 4, rounds: 3}]
divide_the_dollar: [{players: 3, rounds: 3, golds: 12}]
el_farol_bar:
  - {players: 5, rounds: 4}
  - {players: 4, rounds: 3, feedback: explicit, capacity: 0.5, home: 0.1}
guess_the_average:
  - {players: 3, rounds: 4, maximum: 10}
  - {players: 4, rounds: 2, minimum: 5, maximum: 9, ratio: 1.37}
negotiation:
  - {horizon: 4}
  - {horizon: 1, outside_option: false, messages: false, scale: 100}
pirate_game:
  - {players: 4, gold: 3}
  - {players: 3, gold: 5, majority: strict}
  - {players: 2, gold: 1, majority: strict}
public_goods: [{players: 3, rounds: 3, tokens: 6, factor: 1.7}]
sealed_bid_auction:
  - {players: 4, rounds: 3, high: 6, step: 2}
  - players: 3
    rounds: 2
    low: 2
    high: 5
    step: 1
    distinct: false
    price: second
    common_prior: true
  - {players: 3, rounds: 4, high: 30, draws: gama}
  - {players: 18, rounds: 1, high: 20, step: 1}
""")
"""Parameters by name of the game."""
SETTINGS["item_bargaining"] = [
    PRESETS["BG1"],
    PRESETS["BG5"],
    *(
        {
            "quantities": {"kinds": 3, "mean": 1, "zeros": zeros},
            "rounds": 2,
            "least_outside": 0,
            "below_total": True,
            "highest_value": 9,
        }
        for zeros in ("kept", "redrawn", "plus_one")
    ),
]
GAMES: dict[str, Game] = {
    f"{name}, {number}": get_game(name).rules.model_validate(parameters)
    for name, settings in SETTINGS.items()
    for number, parameters in enumerate(settings, 1)
}


def play_both(game: ArrayGame[Any, Any], state: Any, rng: np.random.Generator) -> None:
    """Play matches with arrays and with the rules in parallel, and compare them."""
    instances = game.instances_of(state)
    tables = [Table(game.rules, instance, f"match {n}") for n, instance in enumerate(instances)]
    state = game.with_chances(state, [table.chance for table in tables])
    places = {seat.name: seat.seat for seat in game.rules.actors}
    for _ in range(game.longest):
        turn, legal, over = game.turn(state), None, game.over(state)
        if game.actions <= MAX_CHECKED_ACTIONS:
            legal = game.legal(state)
        seen = game.observe(state, turn)
        actions = game.random_action(state, rng.random(len(tables)))
        for index, table in enumerate(tables):
            assert bool(over[index]) is table.over
            if table.over:
                assert legal is None or not legal[index].any()
                continue
            seat = next(name for name in table.pending if places[name] == game.players[turn[index]])
            request = table.request(seat)
            np.testing.assert_array_equal(game.observe_request(request), seen[index])
            if legal is not None and index < CHECKED_MATCHES:
                np.testing.assert_array_equal(game.legal_for(request), legal[index])
                for number in range(game.actions):
                    action = game.action(request, number)
                    rejected = request.ask.refuse(action)
                    assert (rejected is None) == legal[index, number], (number, rejected)
                    assert not legal[index, number] or game.number(request, action) == number
            table.answer(seat, game.action(request, int(actions[index])))
        state = game.step(state, actions)
    returns = game.returns(state)
    for index, table in enumerate(tables):
        assert table.over
        assert game.over(state)[index]
        assert table.outcome is not None
        payoffs = game.rules.seat_payoffs(table.outcome)
        expected = [payoffs[place] for place in game.players]
        assert returns[index].tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)  # sum order


def arrays_and_rules_agree(game: ArrayGame[Any, Any]) -> None:
    rng = np.random.default_rng(1)
    play_both(game, game.draw_instance(rng.random((25, game.uniforms))), rng)  # draws by arrays
    draws = [game.rules.draw_instance(Chance("agreement", n)) for n in range(10)]
    state = game.from_instances(draws)
    assert game.instances_of(state) == draws
    play_both(game, state, rng)  # draws by the rules


def illegal_actions_have_no_effect(game: ArrayGame[Any, Any]) -> None:
    """Try the first illegal action, and numbers that aren't actions, in each step."""
    rng = np.random.default_rng(4)
    state = game.draw_instance(rng.random((20, game.uniforms)))
    for _ in range(game.longest):
        rejected = ~game.legal(state)
        illegal = np.where(rejected.any(axis=-1), rejected.argmax(axis=-1), -1)
        for actions in (illegal, np.full(20, -1), np.full(20, game.actions)):
            after = game.step(state, actions)
            for before, now in zip(state, after, strict=True):
                np.testing.assert_array_equal(now, before)
        state = game.step(state, game.random_action(state, rng.random(20)))
    assert game.over(state).all()


def instances_are_drawn_from_the_same_distribution(game: ArrayGame[Any, Any]) -> None:
    """The means of the observations differ by less than 4.5 standard errors."""
    count = 3_000
    rng = np.random.default_rng(2).random((count, game.uniforms))
    from_arrays = game.observe(game.draw_instance(rng), 0)
    draws = game.from_instances(
        [game.rules.draw_instance(Chance("distribution", n)) for n in range(count)]
    )
    from_rules = game.observe(draws, 0)
    error = np.sqrt((from_arrays.var(axis=0) + from_rules.var(axis=0)) / count)
    assert (np.abs(from_arrays.mean(axis=0) - from_rules.mean(axis=0)) <= 4.5 * error + 1e-6).all()


def legal_actions_are_drawn_uniformly(game: ArrayGame[Any, Any]) -> None:
    """Test the first three steps."""
    rng = np.random.default_rng(3)
    draws = 100 * game.actions
    state = game.draw_instance(np.repeat(rng.random((1, game.uniforms)), draws, axis=0))
    for _ in range(min(3, game.longest)):
        actions = game.random_action(state, rng.random(draws))
        counts = np.bincount(actions, minlength=game.actions)
        legal = game.legal(state)[0]
        assert not counts[~legal].any()
        expected = counts.sum() / legal.sum()
        assert np.abs(counts[legal] - expected).max() < 5.5 * np.sqrt(expected)
        state = game.step(state, np.repeat(actions[-1:], len(actions)))
        if game.over(state).all():
            return


@pytest.mark.parametrize("kind", sorted({rules.name for rules in GAMES.values()}))
def test_arrays_and_rules_agree(kind: str) -> None:
    for rules in GAMES.values():
        if rules.name == kind:
            game = array_game(rules)
            arrays_and_rules_agree(game)
            instances_are_drawn_from_the_same_distribution(game)
            if game.actions <= MAX_CHECKED_ACTIONS:
                illegal_actions_have_no_effect(game)
                legal_actions_are_drawn_uniformly(game)


def begin(game: ArrayGame[Any, Any], uniforms: Any) -> tuple[Any, ...]:
    """Return drawn instances and their legal actions."""
    state = game.draw_instance(uniforms)
    return state, game.legal(state)


def advance(game: ArrayGame[Any, Any], state: Any, actions: Any) -> tuple[Any, ...]:
    """Return the states after actions, and their legal actions, observations and returns."""
    state = game.step(state, actions)
    return state, game.legal(state), game.observe(state, 1), game.returns(state)


def test_jax_agrees_with_numpy() -> None:
    jax = pytest.importorskip("jax")
    for name in (f"{game}, {min(2, len(settings))}" for game, settings in SETTINGS.items()):
        game, rng = array_game(GAMES[name]), np.random.default_rng(4)
        first = rng.random((50, game.uniforms)).astype(np.float32)
        state = game.draw_instance(first)
        compiled, legal = jax.jit(partial(begin, game))(first)
        step: Any = jax.jit(partial(advance, game))
        returns: Any = None
        for _ in range(game.longest):
            np.testing.assert_array_equal(game.legal(state), np.asarray(legal))
            actions = game.random_action(state, rng.random(50))
            state = game.step(state, actions)
            compiled, legal, seen, returns = step(compiled, actions)
            for array, from_rules in zip(state, compiled, strict=True):
                np.testing.assert_array_equal(array, np.asarray(from_rules))
            np.testing.assert_allclose(game.observe(state, 1), np.asarray(seen), atol=1e-6)
        np.testing.assert_allclose(game.returns(state), returns, rtol=1e-5)


def test_unsupported_parameters_are_rejected() -> None:
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("battle_royale", {}, "horizon: 30"),
        ("chip_trading", {"players": 20}, "use smaller parameters"),
        ("divide_the_dollar", {"limits": False}, "limits: true"),
        ("divide_the_dollar", {"golds": 10**9}, "1,000,000,001 actions"),
        ("guess_the_average", {"maximum": 10**6, "ratio": "999/1000"}, "smaller maximum"),
        ("pirate_game", {}, "4,263,421,511,273 actions"),
        ("public_goods", {"limits": False}, "limits: true"),
        ("sealed_bid_auction", {"limits": False}, "limits: true"),
    ]
    for name, parameters, error in cases:
        with pytest.raises(NoArrayGame, match=error):
            array_game(get_game(name).rules.model_validate(parameters))


def test_shots_follow_given_chances() -> None:
    game = array_game(GAMES["battle_royale, 1"])
    instances = [Hits(hits=(False, None, True)), Hits(hits=(True,)), Hits()]
    state = game.from_instances(instances)
    assert game.instances_of(state) == instances
    play_both(game, state, np.random.default_rng(5))


def test_distinct_numbers_are_drawn_uniformly() -> None:
    cases: list[tuple[int, int]] = [(3, 3), (5, 6), (17, 17)]
    for count, population in cases:
        rng = np.random.default_rng(7).random((20_000, uniform_count(count, population)))
        drawn = draw_distinct(rng, count, population)
        assert (np.diff(np.sort(drawn, axis=-1)) > 0).all()
        assert drawn.min() == 0
        assert drawn.max() == population - 1
        many = perm(population, 2)
        counts = np.unique(drawn[:, -2:] @ np.array([population, 1]), return_counts=True)[1]
        assert len(counts) == many
        expected = len(drawn) / many
        assert np.abs(counts - expected).max() < 6 * np.sqrt(expected)


def test_accepting_players_trade_equally_often() -> None:
    game, rng = array_game(GAMES["chip_trading, 4"]), np.random.default_rng(6)
    count = 4_000
    state = game.draw_instance(rng.random((count, game.uniforms)))
    for number in range(len(game.players)):
        legal = game.legal(state)
        actions = np.where(legal[:, 0], legal[:, 1] & (number != 2), legal.argmax(axis=1))
        state = game.step(state, actions)
    partner = np.where(
        state.partner[:, 0] > state.order[:, 0], state.partner[:, 0] - 1, state.partner[:, 0]
    )
    counts = np.bincount(partner, minlength=4)
    assert counts[1] == 0
    assert counts.sum() == count
    assert np.abs(counts[[0, 2, 3]] - count / 3).max() < 5 * np.sqrt(count / 3)
